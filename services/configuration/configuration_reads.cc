#include <string>
#include <utility>

#include "services/common/error.h"
#include "services/configuration/core/names.h"
#include "services/configuration/handlers.h"
#include "services/configuration/wire/configuration_wire.h"
#include "services/rpc/list.h"
#include "services/rpc/read.h"
#include "services/rpc/unary.h"
#include "services/rpc/watch_stream.h"
#include "services/rpc/watch_wire.h"

namespace muster::configuration {
namespace {

// The row called `name`, which was parsed before.
template <class Row, class Message>
Handlers::Unary Get(Handlers::Context context, Lane& lane, const std::string& name,
                    bool well_formed, absl::string_view shape, Message* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    if (!well_formed) return void(responder.Finish(error::InvalidField("name", shape)));
    rpc::AnswerFrom(lane, std::move(responder),
                    [name, response](const State& state, int64_t) -> absl::Status {
                      const Row* row = state.table<Row>().Find(name);
                      if (row == nullptr) return error::NotFound(name);
                      *response = ToProto(*row);
                      return absl::OkStatus();
                    });
  });
}

// One page of all rows of a kind. `add(response)`: a new item of the answer.
template <class Row, class Request, class Response, class Add>
Handlers::Unary List(Handlers::Context context, Lane& lane, const Request& request,
                     Response* response, Add add) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    const absl::StatusOr<rpc::Page> page = rpc::ReadPage(request);
    if (!page.ok()) return void(responder.Finish(page.status()));
    rpc::AnswerFrom(
        lane, std::move(responder),
        [request, page = *page, response, add](const State& state, int64_t) {
          response->set_next_page_token(rpc::ListPage(
              state.table<Row>().rows(), request, page, "", [](const auto&) { return true; },
              [&](const auto& row) { *add(response) = ToProto(*row.second.row); }));
          return absl::OkStatus();
        });
  });
}

bool ParseResource(const storage::WatchItem& item, v1::WatchConfigurationsResponse& response) {
  if (item.kind == Release::kKind) return response.mutable_release()->ParseFromString(*item.bytes);
  if (item.kind == NodeProfile::kKind) {
    return response.mutable_node_profile()->ParseFromString(*item.bytes);
  }
  return response.mutable_configuration()->ParseFromString(*item.bytes);
}

v1::WatchConfigurationsResponse ToWatchResponse(const storage::WatchItem& item) {
  return rpc::ToWatchResponse<v1::WatchConfigurationsResponse>(item, &ParseResource);
}

}  // namespace

Handlers::Unary Handlers::GetRelease(Context context, const v1::GetReleaseRequest* request,
                                     v1::Release* response) {
  return Get<Release>(context, lane_, request->name(),
                      ParseReleaseName(request->name()).has_value(), kReleaseNameShape, response);
}

Handlers::Unary Handlers::GetNodeProfile(Context context, const v1::GetNodeProfileRequest* request,
                                         v1::NodeProfile* response) {
  return Get<NodeProfile>(context, lane_, request->name(),
                          ParseNodeProfileName(request->name()).has_value(), kNodeProfileNameShape,
                          response);
}

Handlers::Unary Handlers::GetPoolConfiguration(Context context,
                                               const v1::GetPoolConfigurationRequest* request,
                                               v1::PoolConfiguration* response) {
  return Get<PoolConfiguration>(context, lane_, request->name(),
                                ParsePoolConfigurationName(request->name()).has_value(),
                                kPoolConfigurationNameShape, response);
}

Handlers::Unary Handlers::ListReleases(Context context, const v1::ListReleasesRequest* request,
                                       v1::ListReleasesResponse* response) {
  return List<Release>(context, lane_, *request, response,
                       [](v1::ListReleasesResponse* page) { return page->add_releases(); });
}

Handlers::Unary Handlers::ListNodeProfiles(Context context,
                                           const v1::ListNodeProfilesRequest* request,
                                           v1::ListNodeProfilesResponse* response) {
  return List<NodeProfile>(
      context, lane_, *request, response,
      [](v1::ListNodeProfilesResponse* page) { return page->add_node_profiles(); });
}

Handlers::Unary Handlers::ListPoolConfigurations(Context context,
                                                 const v1::ListPoolConfigurationsRequest* request,
                                                 v1::ListPoolConfigurationsResponse* response) {
  return List<PoolConfiguration>(
      context, lane_, *request, response,
      [](v1::ListPoolConfigurationsResponse* page) { return page->add_configurations(); });
}

Handlers::Stream<v1::WatchConfigurationsResponse> Handlers::WatchConfigurations(
    Context context, const v1::WatchConfigurationsRequest* request) {
  const auto options = rpc::ToWatchOptions<storage::WatchOptions>(request->start());
  if (!options.ok()) {
    return rpc::FailStream<v1::WatchConfigurationsResponse>(context, options.status());
  }
  return rpc::WatchStream<v1::WatchConfigurationsResponse>(
      context, lane_.Watch(*options), &ToWatchResponse, request->start().bundle());
}

}  // namespace muster::configuration
