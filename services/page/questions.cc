#include "services/page/questions.h"

#include <google/protobuf/util/json_util.h>
#include <grpcpp/client_context.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/from_peer.h"
#include "services/page/core/documents.h"
#include "services/page/limits.h"
#include "services/rpc/client/channel.h"
#include "services/rpc/status.h"

namespace muster::page {
namespace {

std::string Json(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  return status.ok() ? json : "null";
}

// What `service` ("Capacity") answered instead.
Questions::Answer Refusal(absl::string_view service, const grpc::Status& status) {
  const absl::Status told = error::FromPeer(rpc::FromGrpcStatus(status), service);
  error::LogSilence(absl::AsciiStrToLower(service), told);
  Questions::Answer answer;
  answer.status = status.error_code() == grpc::StatusCode::NOT_FOUND          ? 404
                  : status.error_code() == grpc::StatusCode::INVALID_ARGUMENT ? 400
                                                                              : 503;
  answer.json = absl::StrCat("{\"error\":", Quoted(told.message()), "}");
  return answer;
}

Questions::Answer NotServed(absl::string_view service) {
  return {503,
          absl::StrCat("{\"error\":", Quoted(absl::StrCat("No address of ", service, ".")), "}")};
}

// `organizations/o/clusters/c` of a pool's name.
std::string ClusterOf(absl::string_view pool) {
  return std::string(pool.substr(0, pool.find("/nodePools/")));
}

grpc::Status ListEvents(lifecycle::v1::LifecycleService::Stub& stub,
                        const lifecycle::v1::NodePool& pool,
                        std::vector<lifecycle::v1::Event>& events) {
  lifecycle::v1::ListEventsRequest request;
  request.set_parent(ClusterOf(pool.name()));
  request.set_pool_uid(pool.uid());
  request.set_page_size(1000);
  do {
    grpc::ClientContext context;
    rpc::PrepareCall(context, kQuestionTimeout);
    lifecycle::v1::ListEventsResponse response;
    const grpc::Status status = stub.ListEvents(&context, request, &response);
    if (!status.ok()) return status;
    events.insert(events.end(), response.events().begin(), response.events().end());
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty() && events.size() < kMaxEventsRead);
  return grpc::Status::OK;
}

}  // namespace

Questions::Questions(const Channels& channels) : channels_(channels) {}

Questions::~Questions() = default;

Questions::Answer Questions::Pool(const std::string& name) const {
  if (channels_.lifecycle == nullptr) return NotServed("lifecycle");
  const auto stub = lifecycle::v1::LifecycleService::NewStub(channels_.lifecycle);
  grpc::ClientContext context;
  rpc::PrepareCall(context, kQuestionTimeout);
  lifecycle::v1::ExplainNodePoolRequest request;
  request.set_name(name);
  lifecycle::v1::ExplainNodePoolResponse explained;
  grpc::Status status = stub->ExplainNodePool(&context, request, &explained);
  if (!status.ok()) return Refusal("Lifecycle", status);
  std::vector<lifecycle::v1::Event> events;
  status = ListEvents(*stub, explained.node_pool(), events);
  if (!status.ok()) return Refusal("Lifecycle", status);
  std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) {
    return Milliseconds(a.last_time()) > Milliseconds(b.last_time());
  });
  const size_t shown = std::min(events.size(), kMaxEventsShown);
  const std::string list =
      absl::StrJoin(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(shown), ",",
                    [](std::string* out, const auto& event) { out->append(Json(event)); });
  return {200, absl::StrCat("{\"explained\":", Json(explained), ",\"events\":[", list, "]}")};
}

Questions::Answer Questions::Claim(absl::string_view pool_uid) const {
  if (channels_.capacity == nullptr) return NotServed("capacity");
  grpc::ClientContext context;
  rpc::PrepareCall(context, kQuestionTimeout);
  capacity::v1::ExplainClaimRequest request;
  request.set_name(absl::StrCat("claims/", pool_uid));
  capacity::v1::ExplainClaimResponse explained;
  const auto stub = capacity::v1::CapacityService::NewStub(channels_.capacity);
  const grpc::Status status = stub->ExplainClaim(&context, request, &explained);
  return status.ok() ? Answer{200, Json(explained)} : Refusal("Capacity", status);
}

}  // namespace muster::page
