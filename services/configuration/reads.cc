#include <string>
#include <utility>

#include "services/configuration/core/names.h"
#include "services/configuration/core/place.h"
#include "services/configuration/handlers.h"
#include "services/configuration/wire/configuration_wire.h"
#include "services/rpc/list.h"
#include "services/rpc/read.h"
#include "services/rpc/watch_stream.h"
#include "services/rpc/watch_wire.h"

namespace muster::configuration {
namespace {

constexpr auto kRender = [](const State&, const auto& row) { return ToProto(*row.row); };

int FieldOf(const storage::WatchItem& item) {
  using Response = v1::WatchConfigurationsResponse;
  if (item.kind == Release::kKind) return Response::kReleaseFieldNumber;
  if (item.kind == NodeProfile::kKind) return Response::kNodeProfileFieldNumber;
  return item.kind == PoolConfiguration::kKind ? Response::kConfigurationFieldNumber : 0;
}

v1::WatchConfigurationsResponse ToWatchResponse(const storage::WatchItem& item) {
  return rpc::ToWatchResponse<v1::WatchConfigurationsResponse>(item, &FieldOf);
}

}  // namespace

Handlers::Unary Handlers::GetRelease(Context context, const v1::GetReleaseRequest* request,
                                     v1::Release* response) {
  return rpc::GetRow<Release>(context, lane_, *request, response,
                              rpc::NameShape{&ParseReleaseName, kReleaseNameShape}, kRender);
}

Handlers::Unary Handlers::GetNodeProfile(Context context, const v1::GetNodeProfileRequest* request,
                                         v1::NodeProfile* response) {
  return rpc::GetRow<NodeProfile>(context, lane_, *request, response,
                                  rpc::NameShape{&ParseNodeProfileName, kNodeProfileNameShape},
                                  kRender);
}

Handlers::Unary Handlers::GetPoolConfiguration(Context context,
                                               const v1::GetPoolConfigurationRequest* request,
                                               v1::PoolConfiguration* response) {
  return rpc::GetRow<PoolConfiguration>(
      context, lane_, *request, response,
      rpc::NameShape{&ParsePoolConfigurationName, kPoolConfigurationNameShape}, kRender);
}

Handlers::Unary Handlers::ListReleases(Context context, const v1::ListReleasesRequest* request,
                                       v1::ListReleasesResponse* response) {
  return rpc::ListRows<Release>(
      context, lane_, *request, response, rpc::SelectAll<Release>(),
      [](auto& page) { return page.add_releases(); }, kRender);
}

Handlers::Unary Handlers::ListNodeProfiles(Context context,
                                           const v1::ListNodeProfilesRequest* request,
                                           v1::ListNodeProfilesResponse* response) {
  return rpc::ListRows<NodeProfile>(
      context, lane_, *request, response, rpc::SelectAll<NodeProfile>(),
      [](auto& page) { return page.add_node_profiles(); }, kRender);
}

Handlers::Unary Handlers::ListPoolConfigurations(Context context,
                                                 const v1::ListPoolConfigurationsRequest* request,
                                                 v1::ListPoolConfigurationsResponse* response) {
  return rpc::ListRows<PoolConfiguration>(
      context, lane_, *request, response, rpc::SelectAll<PoolConfiguration>(),
      [](auto& page) { return page.add_configurations(); }, kRender);
}

Handlers::Stream<v1::WatchConfigurationsResponse> Handlers::WatchConfigurations(
    Context context, const v1::WatchConfigurationsRequest* request) {
  const auto options =
      rpc::ToWatchOptions<storage::WatchOptions>(request->start(), rpc::TurnOf(*context));
  if (!options.ok()) {
    return rpc::FailStream<v1::WatchConfigurationsResponse>(context, options.status());
  }
  return rpc::WatchStream<v1::WatchConfigurationsResponse>(context, lane_.Watch(*options),
                                                           &ToWatchResponse, request->start());
}

}  // namespace muster::configuration
