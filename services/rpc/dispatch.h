#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_interceptor.h>

#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/access/caller.h"
#include "services/rpc/call_info.h"
#include "services/rpc/call_table.h"
#include "services/rpc/caller_limits.h"
#include "services/rpc/guard.h"
#include "services/rpc/limits.h"
#include "services/rpc/open_count.h"
#include "services/rpc/server_metrics.h"
#include "services/rpc/standard_methods.h"
#include "services/rpc/stream_registry.h"

// How the helpers in unary.h and watch_stream.h learn which server and which method they serve. Not
// for handlers.
//
// A gRPC interceptor costs every call a further round trip through gRPC's core, so our own methods
// have none: the interceptor factory is asked once a call, notes the method for the handler that
// gRPC runs next on the same thread, and makes no interceptor. Only services that are not ours
// (health, reflection) are counted, and held against the policy, by a real one.
namespace muster::rpc::internal {

// What the calls of one server share.
struct ServerCore {
  explicit ServerCore(const Guard* who_may) : guard(*who_may) {}

  const Guard& guard;
  absl::Duration default_deadline = kDefaultDeadline;
  OpenCount open = {};  // calls and streams that gRPC has not finished with
  CallTable calls = {};
  StreamRegistry streams = {};
};

// A call's server and method; both null when the call does not come through rpc::Server.
struct Dispatch {
  ServerCore* core = nullptr;
  MethodMetrics* method = nullptr;
  const google::protobuf::Message* request = nullptr;    // gRPC's, until the call is answered
  std::shared_ptr<const access::Caller> caller = {};     // null: nobody asked who it is
  CallerLimits::Place place = {};                        // of the call, until it is over
  std::shared_ptr<const void> keeps = {};                // what else lives until then
  absl::Time arrived = absl::InfinitePast();             // where there is a method
  absl::Time default_deadline = absl::InfiniteFuture();  // likewise; both by NowForDeadlines
};

// Noted before the handler, on its thread: what is asked, and by whom.
struct Noted {
  const google::protobuf::Message* request = nullptr;
  std::shared_ptr<const access::Caller> caller = {};
  CallerLimits::Place place = {};
  std::shared_ptr<const void> keeps = {};  // what else is to live as long as the call
};
void Note(const grpc::ServerContextBase& context, Noted noted);
// Drops what was noted and not taken.
void Forget();
// To be called once, within the handler, on the thread that gRPC called it on.
Dispatch TakeDispatch(const grpc::ServerContextBase& context);
// Notes it for the handler of `context`, which this thread calls next.
void GiveDispatch(const grpc::ServerContextBase& context, Dispatch dispatch);
// The client's deadline, or the server's default from when the call came.
absl::Time DeadlineOf(const grpc::CallbackServerContext& context, const Dispatch& dispatch);

class InterceptorFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit InterceptorFactory(ServerCore* core) : core_(core) {}

  // A method that is implemented with unary.h or watch_stream.h, which count for themselves.
  void Add(MethodMetrics* method) { methods_[method->full_name()] = {method, nullptr}; }
  // One of gRPC's own, which must outlive this.
  void AddStandard(MethodMetrics* method, const StandardMethod& standard) {
    methods_[method->full_name()] = {method, &standard};
  }

  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override;

 private:
  struct Entry {
    MethodMetrics* method = nullptr;
    const StandardMethod* standard = nullptr;  // null: it is our own
  };
  ServerCore* const core_;
  absl::flat_hash_map<std::string, Entry> methods_;
};

// Counts, logs and traces one call from its start to its end.
class Accounting {
 public:
  // `context` must outlive it, until Handled.
  Accounting(grpc::ServerContextBase& context, const Dispatch& dispatch);

  const CallInfo& info() const { return info_; }
  // Null: not known.
  const std::shared_ptr<const access::Caller>& caller() const { return caller_; }
  void Received() {
    if (method_ != nullptr) method_->Received();
  }
  void Sent() {
    if (method_ != nullptr) method_->Sent();
  }
  // To be called once, before the call is answered. `cause`: an error's, for operators only
  // (error::CauseOf).
  void Handled(grpc::StatusCode code, absl::string_view message, absl::string_view cause = "");
  // The name for logs.
  absl::string_view method_name() const;

 private:
  std::string Principal() const;
  void Log(grpc::StatusCode code, absl::string_view message, absl::string_view cause,
           absl::Duration took) const;

  grpc::ServerContextBase& context_;
  MethodMetrics* const method_;
  const std::shared_ptr<const void> keeps_;  // the request among it, where no handler does
  const google::protobuf::Message* const request_;
  const std::shared_ptr<const access::Caller> caller_;
  const absl::Time start_;  // NowForDeadlines
  const CallInfo info_;
};

// INTERNAL with an id that the caller sees and the log explains.
absl::Status InternalError(absl::string_view error_id);
// Logs an exception and returns the InternalError for it.
absl::Status LogThrown(const Accounting& accounting, absl::string_view what);

}  // namespace muster::rpc::internal
