#pragma once

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "muster/access/v1/access_service.grpc.pb.h"
#include "muster/capacity/v1/capacity_service.grpc.pb.h"
#include "muster/configuration/v1/configuration_service.grpc.pb.h"
#include "muster/debug/v1/debug_service.grpc.pb.h"
#include "muster/history/v1/history_service.grpc.pb.h"
#include "muster/lifecycle/v1/lifecycle_service.grpc.pb.h"
#include "muster/quota/v1/quota_service.grpc.pb.h"
#include "services/client/asked_service.h"
#include "services/client/options.h"
#include "services/client/watch.h"
#include "services/common/request_id.h"
#include "services/rpc/client/calls.h"
#include "services/rpc/client/channel.h"

// Muster for C++ programs.
//
//   ASSIGN_OR_RETURN(client::Options options, client::OptionsFromContext());
//   client::Client muster(options);
//   ASSIGN_OR_RETURN(NodePool pool, muster.Call(&LifecycleService::Stub::ApplyNodePool, request));
//   auto watch = muster.Watch(&LifecycleService::Stub::WatchLifecycle, watch_request);
//   for (const WatchLifecycleResponse& change : watch) { ... }
namespace muster::client {

// All services of Muster over one channel, with deadlines and retries: those of
// proto/muster/service_config.json, and of mutations also under a request_id, so that they are
// carried out once. Errors are the server's, with their details (services/common/error.h).
// Thread-safe.
class Client {
 public:
  explicit Client(Options options)
      : options_(std::move(options)),
        channel_(rpc::MakeChannel(options_.server, options_.credentials, kLongestReconnect)) {}

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  const Options& options() const { return options_; }

  // The mutations from here on are those of the `number`th order of several, from 1. Their
  // request_ids are `ID.NUMBER` (of the first order `ID`), `ID.NUMBER.2`, ..., whatever the orders
  // before it came to ask: one that is given once more has the same. Not beside other calls.
  void BeginOrder(int number) {
    order_ = number;
    requests_ = 0;
  }

  // The calls from here on end in `left`, for one who waits no longer; a call that is made then is
  // given two seconds, so that its answer tells how things are. Not beside other calls.
  void EndWithin(absl::Duration left) { end_ = absl::Now() + left; }

  // One call. A mutation without a request_id gets one. `revision`, unless null, is set to the
  // revision that the answer shows, if the server tells it: a watch after that revision tells of
  // all later changes.
  template <class Stub, class Request, class Response>
  absl::StatusOr<Response> Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                             Response*),
                                const Request& request, int64_t* revision = nullptr) {
    const absl::Time deadline = Deadline(absl::Now());
    const auto call = [&](const Request& sent) -> absl::StatusOr<Response> {
      grpc::ClientContext context;
      rpc::PrepareCall(context, deadline);
      if (!options_.reason.empty()) context.AddMetadata("x-muster-reason", options_.reason);
      const absl::string_view service = AskedService(sent);
      if (!service.empty()) context.AddMetadata(kServiceHeader, std::string(service));
      absl::StatusOr<Response> answer = rpc::Call(context, Of<Stub>(), method, sent);
      if (answer.ok() && revision != nullptr) ReadRevision(context, *revision);
      return answer;
    };
    if constexpr (requires(Request & r) { r.set_request_id(""); }) {
      return CallOnce(call, request, deadline);
    }
    return call(request);
  }

  // The answer of a Get by name; nullopt when there is none.
  template <class Stub, class Request, class Response>
  absl::StatusOr<std::optional<Response>> Find(grpc::Status (Stub::*get)(grpc::ClientContext*,
                                                                         const Request&, Response*),
                                               const std::string& name) {
    Request request;
    request.set_name(name);
    absl::StatusOr<Response> answer = Call(get, request);
    if (answer.ok()) return std::optional<Response>(*std::move(answer));
    if (absl::IsNotFound(answer.status())) return std::optional<Response>();
    return answer.status();
  }

  // The pages of a list, one after the other, until `receive(Response&)` returns false.
  template <class Stub, class Request, class Response, class Receive>
  absl::Status Pages(grpc::Status (Stub::*list)(grpc::ClientContext*, const Request&, Response*),
                     Request request, Receive receive) {
    if (request.page_size() == 0) request.set_page_size(kPageSize);
    do {
      absl::StatusOr<Response> page = Call(list, request);
      if (!page.ok()) return page.status();
      request.set_page_token(page->next_page_token());
      if (!receive(*page)) return absl::OkStatus();
    } while (!request.page_token().empty());
    return absl::OkStatus();
  }

  // A watch that goes on when its stream breaks (watch.h). The client outlives it.
  template <class Stub, class Request, class Response>
  client::Watch<Response> Watch(std::unique_ptr<grpc::ClientReader<Response>> (Stub::*method)(
                                    grpc::ClientContext*, const Request&),
                                const Request& request, WatchOptions options = {}) {
    if (options.begins_within == absl::ZeroDuration()) options.begins_within = options_.timeout;
    return client::Watch<Response>(
        request.start(),
        [this, method, request](grpc::ClientContext& context, const type::v1::WatchStart& start) {
          Request from = request;
          *from.mutable_start() = start;
          return (Of<Stub>().*method)(&context, from);
        },
        std::move(options));
  }

 private:
  static void ReadRevision(const grpc::ClientContext& context, int64_t& revision) {
    const auto found = context.GetServerTrailingMetadata().find("x-muster-revision");
    if (found == context.GetServerTrailingMetadata().end()) return;
    const absl::string_view text(found->second.data(), found->second.size());
    if (int64_t told = 0; absl::SimpleAtoi(text, &told)) revision = told;
  }

  static constexpr int kPageSize = 1000;
  static constexpr absl::Duration kLeastCall = absl::Seconds(2);
  static constexpr absl::Duration kLongestReconnect = absl::Seconds(1);
  // How long to wait before each repetition of a call whose outcome is unknown.
  static constexpr absl::Duration kPauses[] = {absl::Milliseconds(200), absl::Milliseconds(400),
                                               absl::Milliseconds(800)};

  absl::Time Deadline(absl::Time now) const {
    return std::min(now + options_.timeout, std::max(end_, now + kLeastCall));
  }

  template <class Stub>
  Stub& Of() {
    return *std::get<std::unique_ptr<Stub>>(stubs_);
  }

  static bool IsOnlyTried(const auto& request) {
    if constexpr (requires { request.validate_only(); }) return request.validate_only();
    return false;
  }
  // Under an id, so that it is done once however often it arrives.
  template <class F, class Request>
  auto CallOnce(F call, Request request, absl::Time deadline) -> decltype(call(request)) {
    if (IsOnlyTried(request)) return call(request);
    if (request.request_id().empty()) {
      request.set_request_id(NumberedId(request_id_, order_, ++requests_));
    }
    auto answer = call(request);
    for (const absl::Duration pause : kPauses) {
      const absl::StatusCode code = answer.status().code();
      const bool is_unknown =
          code == absl::StatusCode::kUnavailable || code == absl::StatusCode::kUnknown;
      if (!is_unknown || absl::Now() + pause >= deadline) break;
      options_.sleep ? options_.sleep(pause) : absl::SleepFor(pause);
      answer = call(request);
    }
    return answer;
  }

  const Options options_;
  const std::string request_id_ =
      options_.request_id.empty() ? NewRequestId() : options_.request_id;
  absl::Time end_ = absl::InfiniteFuture();
  int order_ = 0;                  // 0: orders are not told apart
  std::atomic<int> requests_ = 0;  // of the order, that bore an id
  const std::shared_ptr<grpc::Channel> channel_;
  const std::tuple<std::unique_ptr<access::v1::AccessService::Stub>,
                   std::unique_ptr<capacity::v1::CapacityService::Stub>,
                   std::unique_ptr<configuration::v1::ConfigurationService::Stub>,
                   std::unique_ptr<debug::v1::DebugService::Stub>,
                   std::unique_ptr<history::v1::HistoryService::Stub>,
                   std::unique_ptr<lifecycle::v1::LifecycleService::Stub>,
                   std::unique_ptr<quota::v1::QuotaService::Stub>>
      stubs_{access::v1::AccessService::NewStub(channel_),
             capacity::v1::CapacityService::NewStub(channel_),
             configuration::v1::ConfigurationService::NewStub(channel_),
             debug::v1::DebugService::NewStub(channel_),
             history::v1::HistoryService::NewStub(channel_),
             lifecycle::v1::LifecycleService::NewStub(channel_),
             quota::v1::QuotaService::NewStub(channel_)};
};

}  // namespace muster::client
