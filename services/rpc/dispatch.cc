#include "services/rpc/dispatch.h"

#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/error.h"
#include "services/common/log.h"
#include "services/rpc/status.h"

namespace muster::rpc::internal {
namespace {

struct Noted {
  const grpc::ServerContextBase* context = nullptr;
  Dispatch dispatch = {};
};
thread_local Noted t_noted;

// Counts the calls of services that are not ours.
class CountingInterceptor final : public grpc::experimental::Interceptor {
 public:
  explicit CountingInterceptor(MethodMetrics* method) : method_(method), start_(absl::Now()) {
    method_->Started();
  }

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using Point = grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(Point::POST_RECV_MESSAGE)) method_->Received();
    if (methods->QueryInterceptionHookPoint(Point::PRE_SEND_MESSAGE)) method_->Sent();
    if (methods->QueryInterceptionHookPoint(Point::PRE_SEND_STATUS)) {
      method_->Handled(methods->GetSendStatus().error_code(), absl::Now() - start_);
    }
    methods->Proceed();
  }

 private:
  MethodMetrics* const method_;
  const absl::Time start_;
};

// What a failed call's log line is worth. A server's fault is a warning, a caller's is news.
log::Level LevelOf(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::OK:
      return log::Level::kDebug;
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::NOT_FOUND:
    case grpc::StatusCode::ALREADY_EXISTS:
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::OUT_OF_RANGE:
      return log::Level::kInfo;
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::UNIMPLEMENTED:
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DATA_LOSS:
    case grpc::StatusCode::DO_NOT_USE:
      return log::Level::kWarn;
  }
  return log::Level::kWarn;
}

// Lets kMaxFailureLinesPerSecond through each second and counts the rest. nullopt: be silent; else
// how many were silent before.
std::optional<int64_t> AdmitFailureLine(absl::Time now) {
  static std::atomic<int64_t> second = 0;
  static std::atomic<int> lines = 0;
  static std::atomic<int64_t> silent = 0;
  const int64_t this_second = absl::ToUnixSeconds(now);
  if (second.exchange(this_second) != this_second) lines = 0;
  if (lines.fetch_add(1) < kMaxFailureLinesPerSecond) return silent.exchange(0);
  silent.fetch_add(1);
  return std::nullopt;
}

}  // namespace

Dispatch TakeDispatch(const grpc::ServerContextBase& context) {
  const Noted noted = std::exchange(t_noted, Noted{});
  return noted.context == &context ? noted.dispatch : Dispatch{};
}

grpc::experimental::Interceptor* InterceptorFactory::CreateServerInterceptor(
    grpc::experimental::ServerRpcInfo* info) {
  const auto it = methods_.find(absl::string_view(info->method()));
  if (it == methods_.end()) return nullptr;
  const auto& [method, own] = it->second;
  if (!own) return new CountingInterceptor(method);
  t_noted = {info->server_context(), {core_, method}};
  return nullptr;
}

Accounting::Accounting(grpc::ServerContextBase& context, MethodMetrics* method)
    : method_(method), start_(absl::Now()), info_(ReadCallInfo(context)) {
  if (method_ == nullptr) return;
  method_->Started();
  method_->Received();
}

void Accounting::Handled(grpc::StatusCode code, absl::string_view message,
                         absl::string_view cause) {
  const absl::Time now = absl::Now();
  const absl::Duration took = now - start_;
  if (method_ != nullptr) method_->Handled(code, took);
  const log::Level level = LevelOf(code);
  if (!log::Enabled(level)) return;
  std::vector<log::Field> fields = {{"method", method_name()},
                                    {"code", CodeName(code)},
                                    {"duration_ms", absl::ToDoubleMilliseconds(took)},
                                    {"request_id", info_.request_id}};
  if (info_.trace) {
    fields.push_back({"trace_id", info_.trace->trace_id});
    fields.push_back({"span_id", info_.trace->span_id});
  }
  if (code != grpc::StatusCode::OK) {
    const auto silent = AdmitFailureLine(now);
    if (!silent) return;
    fields.push_back({"error", message});
    if (!cause.empty()) fields.push_back({"cause", cause});
    if (*silent > 0) fields.push_back({"lines_left_out", *silent});
  }
  log::Write(level, "call handled", fields);
}

absl::string_view Accounting::method_name() const {
  return method_ != nullptr ? absl::string_view(method_->full_name()) : "unknown";
}

absl::Status InternalError(absl::string_view error_id) {
  return error::Make(absl::StatusCode::kInternal,
                     absl::StrCat("Internal error; its id is ", error_id, "."),
                     {.reason = "INTERNAL", .metadata = {{"error_id", std::string(error_id)}}});
}

absl::Status LogThrown(const Accounting& accounting, absl::string_view what) {
  const std::string error_id = NewId();
  log::Error("stream threw an exception", {{"method", accounting.method_name()},
                                           {"error_id", error_id},
                                           {"request_id", accounting.info().request_id},
                                           {"error", what}});
  return InternalError(error_id);
}

}  // namespace muster::rpc::internal
