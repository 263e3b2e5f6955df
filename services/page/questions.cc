#include "services/page/questions.h"

#include <google/protobuf/util/json_util.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <muster/history/v1/history_service.grpc.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>

#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/common/steady_clock.h"
#include "services/common/timestamp.h"
#include "services/page/core/documents.h"
#include "services/page/limits.h"
#include "services/rpc/client/calls.h"

namespace muster::page {
namespace {

std::string Json(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  return status.ok() ? json : "null";
}

// `,"oldest":MILLISECONDS`: the first that is not before the moment from which on a service tells
// of the past; empty: the status does not say it.
std::string OldestOf(const absl::Status& status) {
  const auto detail = error::DetailOf(status);
  if (!detail || !detail->metadata.contains("oldest_time")) return "";
  absl::Time oldest;
  if (!absl::ParseTime(absl::RFC3339_full, detail->metadata.at("oldest_time"), &oldest, nullptr))
    return "";
  const absl::Time first = oldest + absl::Milliseconds(1) - absl::Nanoseconds(1);
  return absl::StrCat(",\"oldest\":", absl::ToUnixMillis(first));
}

// The answer to a question that failed with `status`; `told`: FromPeer of it, which the reader may
// see.
Questions::Answer Refused(const absl::Status& status, const absl::Status& told) {
  Questions::Answer answer;
  answer.status = absl::IsNotFound(status)          ? 404
                  : absl::IsInvalidArgument(status) ? 400
                  : absl::IsOutOfRange(status)      ? 410
                                                    : 503;
  answer.json = absl::StrCat("{\"error\":", Quoted(told.message()), OldestOf(status), "}");
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

// The newest kMaxEventsShown events of the pool.
absl::StatusOr<lifecycle::v1::ListEventsResponse> ListEvents(
    rpc::Calls& calls, lifecycle::v1::LifecycleService::Stub& stub,
    const lifecycle::v1::NodePool& pool) {
  lifecycle::v1::ListEventsRequest request;
  request.set_parent(ClusterOf(pool.name()));
  request.set_pool_uid(pool.uid());
  request.set_page_size(kMaxEventsShown);
  return calls.Call(kQuestionTimeout, stub, &lifecycle::v1::LifecycleService::Stub::ListEvents,
                    request);
}

// Calls `take` with each resource of a collection, of all organizations, as it was then.
// `deadline`: by TheSteadyClock.
template <class Row, class Take>
absl::Status ListPast(rpc::Calls& calls, history::v1::HistoryService::Stub& stub,
                      const char* collection, absl::Time then, absl::Duration deadline, Take take) {
  history::v1::ListPastRequest request;
  request.set_parent("organizations/-");
  request.set_collection(collection);
  SetTimestamp(then, request.mutable_time());
  request.set_page_size(1000);
  do {
    ASSIGN_OR_RETURN(const auto response,
                     calls.Call(deadline - TheSteadyClock()->Now(), stub,
                                &history::v1::HistoryService::Stub::ListPast, request));
    Row row;
    for (const auto& past : response.resources()) {
      if (past.resource().UnpackTo(&row)) take(row);
    }
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  return absl::OkStatus();
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

absl::Status ReadLifecycle(rpc::Calls& calls, const std::shared_ptr<grpc::Channel>& channel,
                           absl::Time then, absl::Duration deadline, Board& board) {
  using Message = lifecycle::v1::WatchLifecycleResponse;
  using lifecycle::v1::Node;
  using lifecycle::v1::NodePool;
  const auto stub = history::v1::HistoryService::NewStub(channel);
  RETURN_IF_ERROR(
      ListPast<NodePool>(calls, *stub, "nodePools", then, deadline,
                         Telling<Message, NodePool>(board, &Message::mutable_node_pool)));
  return ListPast<Node>(calls, *stub, "nodes", then, deadline,
                        Telling<Message, Node>(board, &Message::mutable_node));
}

absl::Status ReadQuota(rpc::Calls& calls, const std::shared_ptr<grpc::Channel>& channel,
                       absl::Time then, absl::Duration deadline, Board& board) {
  using Message = quota::v1::WatchQuotasResponse;
  const auto stub = history::v1::HistoryService::NewStub(channel);
  RETURN_IF_ERROR(ListPast<quota::v1::Quota>(
      calls, *stub, "quotas", then, deadline,
      Telling<Message, quota::v1::Quota>(board, &Message::mutable_quota)));
  return ListPast<quota::v1::Holding>(
      calls, *stub, "holdings", then, deadline,
      Telling<Message, quota::v1::Holding>(board, &Message::mutable_holding));
}

}  // namespace

Questions::Questions(const Channels& channels) : channels_(channels) {}

Questions::~Questions() = default;

Questions::Answer Questions::Refusal(absl::string_view service, const absl::Status& status) const {
  const absl::Status told = error::FromPeer(status, service);
  silence_.Note(absl::AsciiStrToLower(service), told);
  return Refused(status, told);
}

Questions::Answer Questions::Pool(const std::string& name) const {
  using Stub = lifecycle::v1::LifecycleService::Stub;
  if (channels_.lifecycle == nullptr) return NotServed("lifecycle");
  const auto stub = lifecycle::v1::LifecycleService::NewStub(channels_.lifecycle);
  lifecycle::v1::ExplainNodePoolRequest request;
  request.set_name(name);
  const auto explained = calls_.Call(kQuestionTimeout, *stub, &Stub::ExplainNodePool, request);
  if (!explained.ok()) return Refusal("Lifecycle", explained.status());
  const auto events = ListEvents(calls_, *stub, explained->node_pool());
  if (!events.ok()) return Refusal("Lifecycle", events.status());
  const std::string list = absl::StrJoin(
      events->events(), ",", [](std::string* out, const auto& event) { out->append(Json(event)); });
  return {200, absl::StrCat("{\"explained\":", Json(*explained), ",\"events\":[", list, "]}")};
}

Questions::Answer Questions::Claim(absl::string_view pool_uid) const {
  using Stub = capacity::v1::CapacityService::Stub;
  if (channels_.capacity == nullptr) return NotServed("capacity");
  capacity::v1::ExplainClaimRequest request;
  request.set_name(absl::StrCat("claims/", pool_uid));
  const auto stub = capacity::v1::CapacityService::NewStub(channels_.capacity);
  const auto explained = calls_.Call(kQuestionTimeout, *stub, &Stub::ExplainClaim, request);
  return explained.ok() ? Answer{200, Json(*explained)} : Refusal("Capacity", explained.status());
}

Questions::Answer Questions::Past(absl::Time then, Board board) const {
  if (channels_.lifecycle == nullptr) return NotServed("lifecycle");
  const absl::Duration deadline = TheSteadyClock()->Now() + kPastTimeout;
  absl::Status status = ReadLifecycle(calls_, channels_.lifecycle, then, deadline, board);
  if (!status.ok()) return Refusal("Lifecycle", status);
  if (channels_.quota != nullptr) {
    status = ReadQuota(calls_, channels_.quota, then, deadline, board);
    if (!status.ok()) return Refusal("Quota", status);
  }
  const Board::Frame frame = board.TellAfter(Place(), std::numeric_limits<size_t>::max());
  return {200, absl::StrCat("{\"at\":", absl::ToUnixMillis(then), ",\"frame\":", frame.json, "}")};
}

}  // namespace muster::page
