#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/access/caller.h"
#include "services/common/author.h"
#include "services/common/current_caller.h"
#include "services/rpc/call_info.h"

// Unary RPCs on gRPC's callback API.
//
//   grpc::ServerUnaryReactor* GetQuota(grpc::CallbackServerContext* context, const GetQuotaRequest*
//   request,
//                                      Quota* response) override {
//     return rpc::Unary(context, [&](rpc::Responder responder) {
//       auto name = ParseName(request->name());
//       if (!name.ok()) return responder.Finish(name.status());
//       lane_.Read([name = *name, response, responder = std::move(responder)](...) mutable {
//         responder.Reply([&] { *response = ToProto(...); });
//       }, deadline);
//     });
//   }
//
// gRPC runs all handlers on a few threads: a handler never blocks, it hands over and returns.
//
// `request` and `response` belong to gRPC and are gone once the call is answered, and a deadline
// may answer it at any moment. So outside the handler touch them only within Reply, which runs its
// function only when the call was not answered yet and keeps the deadline away meanwhile.
namespace muster::rpc {
namespace internal {
class UnaryCall;
}  // namespace internal

// The right to answer one unary call, once, from any thread. Move-only. When it is destroyed
// unused, the call is answered INTERNAL and the loss is logged. All other functions may be called
// until the answer is given.
class Responder {
 public:
  explicit Responder(std::shared_ptr<internal::UnaryCall> call);
  Responder(Responder&&) noexcept = default;
  Responder& operator=(Responder&& other) noexcept;
  ~Responder();

  // Answers. With OK `response` is sent as it is: only from within the handler, else use Reply.
  // Nothing happens when the call was answered before, by its deadline or the end of the server.
  void Finish(const absl::Status& status);
  // Calls `fill`, which may write to `response`, then answers with what it returns.
  void Reply(absl::FunctionRef<absl::Status()> fill) { ReplyWith(fill); }
  // The same with a function that returns nothing: answers OK.
  template <class Fill>
  requires std::is_void_v<std::invoke_result_t<Fill&>>
  void Reply(Fill fill) {
    ReplyWith([&fill] {
      fill();
      return absl::OkStatus();
    });
  }

  // The revision that the answer shows (muster.type.v1.WatchStart): an OK bears it as metadata, so
  // that a watch after it misses nothing.
  void ShowRevision(int64_t revision);

  // The client's deadline, or the server's default from the start of the call, by NowForDeadlines:
  // pass it on to whatever the answer waits for. Once it passes the call is answered
  // DEADLINE_EXCEEDED.
  absl::Time deadline() const;
  // Whether nobody waits for the answer any more: it was given, or the caller has gone. To be asked
  // before expensive work.
  bool gone() const;
  // Request id and trace: for logs, and for calls to other services (channel.h).
  const CallInfo& info() const;
  absl::string_view request_id() const { return info().request_id; }
  // Null: the call did not come through rpc::Server.
  std::shared_ptr<const access::Caller> caller() const;

 private:
  void ReplyWith(absl::FunctionRef<absl::Status()> fill);

  std::shared_ptr<internal::UnaryCall> call_;
};

// What the answer is to be narrowed to (access::Caller::narrowed_to). To be called within the
// handler, before Unary or WatchStream.
std::shared_ptr<const access::Scope> NarrowedTo(const grpc::ServerContextBase& context);
// Where the caller has the verb; null: the call did not come through rpc::Server. To be called
// likewise.
std::shared_ptr<const access::Scope> ScopeOf(const grpc::ServerContextBase& context,
                                             access::Verb verb);
// The number of the caller, by which calls take turns (access::TurnOf). To be called likewise.
uint64_t TurnOf(const grpc::ServerContextBase& context);

namespace internal {
std::shared_ptr<UnaryCall> StartUnary(grpc::CallbackServerContext* context);
grpc::ServerUnaryReactor* ReactorOf(UnaryCall& call);
// What to answer without the handler: the server is stopping.
std::optional<absl::Status> Refusal(const UnaryCall& call);
// The number of the caller, by which its commands take turns.
uint64_t TurnOf(const UnaryCall& call);
// Whether its commands go before those of others.
bool GoesFirst(const UnaryCall& call);
// The author of the changes that it makes.
Author AuthorOf(const UnaryCall& call);
// The handler let an exception out: logs it and answers INTERNAL if nobody did.
void HandlerThrew(UnaryCall& call, const char* what);
}  // namespace internal

// Runs `handle(Responder)` and returns what gRPC wants. An exception is answered INTERNAL with an
// error id, and logged.
template <class F>
grpc::ServerUnaryReactor* Unary(grpc::CallbackServerContext* context, F&& handle) {
  const std::shared_ptr<internal::UnaryCall> call = internal::StartUnary(context);
  Responder responder(call);
  try {
    if (const auto refusal = internal::Refusal(*call)) {
      responder.Finish(*refusal);
    } else {
      const CurrentTrace scope(responder.info().trace);
      const auto author = [&] { return internal::AuthorOf(*call); };
      const CurrentCaller caller(internal::TurnOf(*call), author, internal::GoesFirst(*call));
      std::forward<F>(handle)(std::move(responder));
    }
  } catch (const std::exception& e) {
    internal::HandlerThrew(*call, e.what());
  } catch (...) {
    internal::HandlerThrew(*call, "not a std::exception");
  }
  return internal::ReactorOf(*call);
}

}  // namespace muster::rpc
