#include "services/page/questions.h"

#include <google/protobuf/util/json_util.h>
#include <grpcpp/client_context.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <muster/history/v1/history_service.grpc.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>

#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "services/common/timestamp.h"
#include "services/page/core/documents.h"
#include "services/page/limits.h"
#include "services/rpc/client/calls.h"
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

// What became of a question instead of its answer; `told`: FromPeer's.
Questions::Answer Refused(const grpc::Status& status, const absl::Status& told) {
  Questions::Answer answer;
  answer.status = status.error_code() == grpc::StatusCode::NOT_FOUND          ? 404
                  : status.error_code() == grpc::StatusCode::INVALID_ARGUMENT ? 400
                  : status.error_code() == grpc::StatusCode::OUT_OF_RANGE     ? 410
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

// The newest ones.
grpc::Status ListEvents(rpc::Calls& calls, lifecycle::v1::LifecycleService::Stub& stub,
                        const lifecycle::v1::NodePool& pool,
                        lifecycle::v1::ListEventsResponse& events) {
  rpc::Calls::Context context(calls);
  rpc::PrepareCall(*context, kQuestionTimeout);
  lifecycle::v1::ListEventsRequest request;
  request.set_parent(ClusterOf(pool.name()));
  request.set_pool_uid(pool.uid());
  request.set_page_size(kMaxEventsShown);
  return stub.ListEvents(&*context, request, &events);
}

// Tells `take` of each of a collection's resources, of all organizations, as they were.
template <class Row, class Take>
grpc::Status ListPast(rpc::Calls& calls, history::v1::HistoryService::Stub& stub,
                      const char* collection, absl::Time then, absl::Time deadline, Take take) {
  history::v1::ListPastRequest request;
  request.set_parent("organizations/-");
  request.set_collection(collection);
  SetTimestamp(then, request.mutable_time());
  request.set_page_size(1000);
  do {
    rpc::Calls::Context context(calls);
    rpc::PrepareCall(*context, deadline);
    history::v1::ListPastResponse response;
    const grpc::Status status = stub.ListPast(&*context, request, &response);
    if (!status.ok()) return status;
    Row row;
    for (const auto& past : response.resources()) {
      if (past.resource().UnpackTo(&row)) take(row);
    }
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  return grpc::Status::OK;
}

// `key` of a watch's message.
template <class Message, class Row, class Set>
auto Telling(Board& board, Set set) {
  return [&board, set](Row& row) {
    Message message;
    message.set_key(row.name());
    (message.*set)()->Swap(&row);
    board.Take(message);
  };
}

grpc::Status ReadLifecycle(rpc::Calls& calls, const std::shared_ptr<grpc::Channel>& channel,
                           absl::Time then, absl::Time deadline, Board& board) {
  using Message = lifecycle::v1::WatchLifecycleResponse;
  using lifecycle::v1::Node;
  using lifecycle::v1::NodePool;
  const auto stub = history::v1::HistoryService::NewStub(channel);
  const grpc::Status status =
      ListPast<NodePool>(calls, *stub, "nodePools", then, deadline,
                         Telling<Message, NodePool>(board, &Message::mutable_node_pool));
  if (!status.ok()) return status;
  return ListPast<Node>(calls, *stub, "nodes", then, deadline,
                        Telling<Message, Node>(board, &Message::mutable_node));
}

grpc::Status ReadQuota(rpc::Calls& calls, const std::shared_ptr<grpc::Channel>& channel,
                       absl::Time then, absl::Time deadline, Board& board) {
  using Message = quota::v1::WatchQuotasResponse;
  const auto stub = history::v1::HistoryService::NewStub(channel);
  const grpc::Status status = ListPast<quota::v1::Quota>(
      calls, *stub, "quotas", then, deadline,
      Telling<Message, quota::v1::Quota>(board, &Message::mutable_quota));
  if (!status.ok()) return status;
  return ListPast<quota::v1::Holding>(
      calls, *stub, "holdings", then, deadline,
      Telling<Message, quota::v1::Holding>(board, &Message::mutable_holding));
}

}  // namespace

Questions::Questions(const Channels& channels) : channels_(channels) {}

Questions::~Questions() = default;

Questions::Answer Questions::Refusal(absl::string_view service, const grpc::Status& status) const {
  const absl::Status told = error::FromPeer(rpc::FromGrpcStatus(status), service);
  silence_.Note(absl::AsciiStrToLower(service), told);
  return Refused(status, told);
}

Questions::Answer Questions::Pool(const std::string& name) const {
  if (channels_.lifecycle == nullptr) return NotServed("lifecycle");
  const auto stub = lifecycle::v1::LifecycleService::NewStub(channels_.lifecycle);
  rpc::Calls::Context context(calls_);
  rpc::PrepareCall(*context, kQuestionTimeout);
  lifecycle::v1::ExplainNodePoolRequest request;
  request.set_name(name);
  lifecycle::v1::ExplainNodePoolResponse explained;
  grpc::Status status = stub->ExplainNodePool(&*context, request, &explained);
  if (!status.ok()) return Refusal("Lifecycle", status);
  lifecycle::v1::ListEventsResponse events;
  status = ListEvents(calls_, *stub, explained.node_pool(), events);
  if (!status.ok()) return Refusal("Lifecycle", status);
  const std::string list = absl::StrJoin(
      events.events(), ",", [](std::string* out, const auto& event) { out->append(Json(event)); });
  return {200, absl::StrCat("{\"explained\":", Json(explained), ",\"events\":[", list, "]}")};
}

Questions::Answer Questions::Claim(absl::string_view pool_uid) const {
  if (channels_.capacity == nullptr) return NotServed("capacity");
  rpc::Calls::Context context(calls_);
  rpc::PrepareCall(*context, kQuestionTimeout);
  capacity::v1::ExplainClaimRequest request;
  request.set_name(absl::StrCat("claims/", pool_uid));
  capacity::v1::ExplainClaimResponse explained;
  const auto stub = capacity::v1::CapacityService::NewStub(channels_.capacity);
  const grpc::Status status = stub->ExplainClaim(&*context, request, &explained);
  return status.ok() ? Answer{200, Json(explained)} : Refusal("Capacity", status);
}

Questions::Answer Questions::Past(absl::Time then, Board board) const {
  if (channels_.lifecycle == nullptr) return NotServed("lifecycle");
  const absl::Time deadline = absl::Now() + kPastTimeout;
  grpc::Status status = ReadLifecycle(calls_, channels_.lifecycle, then, deadline, board);
  if (!status.ok()) return Refusal("Lifecycle", status);
  if (channels_.quota != nullptr) {
    status = ReadQuota(calls_, channels_.quota, then, deadline, board);
    if (!status.ok()) return Refusal("Quota", status);
  }
  const Board::Frame frame = board.TellAfter(Place(), std::numeric_limits<size_t>::max());
  return {200, absl::StrCat("{\"at\":", absl::ToUnixMillis(then), ",\"frame\":", frame.json, "}")};
}

}  // namespace muster::page
