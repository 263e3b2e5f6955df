#include "services/rpc/dispatch.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/deadline.h"
#include "services/common/error.h"
#include "services/common/log.h"
#include "services/rpc/call_line.h"
#include "services/rpc/limits.h"
#include "services/rpc/line_pace.h"
#include "services/rpc/status.h"
#include "services/trace/rpc_span.h"

namespace muster::rpc::internal {
namespace {

// The call that this thread serves next.
struct Next {
  const grpc::ServerContextBase* context = nullptr;
  Dispatch dispatch = {};
};
thread_local Next t_next;

// Of the lines that tell of failed calls; other calls' lines have no bound.
LinePace& FailureLines() {
  static LinePace pace(kMaxFailureLinesPerSecond);
  return pace;
}

// A refusal in the form of reflection's own error message: gRPC does not let us end the calls of
// its services.
std::unique_ptr<google::protobuf::Message> ErrorIn(const google::protobuf::Message& answer,
                                                   const absl::Status& refusal) {
  std::unique_ptr<google::protobuf::Message> made(answer.New());
  const auto* field = made->GetDescriptor()->FindFieldByName("error_response");
  if (field == nullptr) return made;
  auto* error = made->GetReflection()->MutableMessage(made.get(), field);
  const auto* type = error->GetDescriptor();
  const auto* reflection = error->GetReflection();
  reflection->SetInt32(error, type->FindFieldByName("error_code"),
                       static_cast<int>(refusal.code()));
  reflection->SetString(error, type->FindFieldByName("error_message"),
                        std::string(refusal.message()));
  return made;
}

// Counts a call of a service that is not ours, and withholds its answers from callers that the
// policy does not let in.
class StandardInterceptor final : public grpc::experimental::Interceptor {
 public:
  StandardInterceptor(const Guard& guard, const grpc::ServerContextBase& context,
                      MethodMetrics* method, const StandardMethod& standard)
      : guard_(guard),
        context_(context),
        method_(method),
        standard_(standard),
        start_(NowForDeadlines()) {
    method_->Started();
  }

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using Point = grpc::experimental::InterceptionHookPoints;
    // Only from here on the context knows who calls.
    if (methods->QueryInterceptionHookPoint(Point::POST_RECV_INITIAL_METADATA)) Enter();
    if (methods->QueryInterceptionHookPoint(Point::POST_RECV_MESSAGE)) method_->Received();
    if (methods->QueryInterceptionHookPoint(Point::PRE_SEND_MESSAGE)) {
      method_->Sent();
      if (!refusal_.ok()) {
        instead_ = ErrorIn(
            *static_cast<const google::protobuf::Message*>(methods->GetSendMessage()), refusal_);
        methods->ModifySendMessage(instead_.get());
      }
    }
    if (methods->QueryInterceptionHookPoint(Point::PRE_SEND_STATUS)) {
      if (!refusal_.ok()) methods->ModifySendStatus(ToGrpcStatus(refusal_));
      method_->Handled(methods->GetSendStatus().error_code(), NowForDeadlines() - start_);
    }
    methods->Proceed();
  }

 private:
  void Enter() {
    if (standard_.open_to_all) return;
    const std::shared_ptr<access::Caller> caller = guard_.CallerOf(context_);
    absl::StatusOr<CallerLimits::Place> place = guard_.Enter(*caller, CallerLimits::Kind::kWatch);
    refusal_ = place.ok() ? guard_.AdmitWithAnyRole(*caller, standard_.name) : place.status();
    if (place.ok()) place_ = *std::move(place);
    if (refusal_.ok()) return;
    if (const auto silent = FailureLines().Admit()) {
      log::Info("call refused", {{"method", standard_.name},
                                 {"principal", caller->principal},
                                 {"error", refusal_.message()},
                                 {"lines_left_out", *silent}});
    }
  }

  const Guard& guard_;
  const grpc::ServerContextBase& context_;
  MethodMetrics* const method_;
  const StandardMethod& standard_;
  const absl::Time start_;
  absl::Status refusal_ = {};
  CallerLimits::Place place_ = {};
  std::unique_ptr<google::protobuf::Message> instead_ = {};  // of what is sent
};

}  // namespace

void Note(const grpc::ServerContextBase& context, Noted noted) {
  if (t_next.context != &context) t_next = {&context, {}};
  t_next.dispatch.request = noted.request;
  t_next.dispatch.caller = std::move(noted.caller);
  t_next.dispatch.place = std::move(noted.place);
  t_next.dispatch.keeps = std::move(noted.keeps);
}

void Forget() { t_next = Next{}; }

Dispatch TakeDispatch(const grpc::ServerContextBase& context) {
  Next next = std::exchange(t_next, Next{});
  return next.context == &context ? std::move(next.dispatch) : Dispatch{};
}

void GiveDispatch(const grpc::ServerContextBase& context, Dispatch dispatch) {
  t_next = {&context, std::move(dispatch)};
}

absl::Time DeadlineOf(const grpc::CallbackServerContext& context, const Dispatch& dispatch) {
  // Not context.deadline(), which overflows with a client's "never" in 300 years.
  constexpr int64_t kMostSeconds = 10LL * 365 * 24 * 3'600;
  const gpr_timespec raw = context.raw_deadline();
  if (gpr_time_cmp(raw, gpr_inf_future(raw.clock_type)) < 0) {
    const gpr_timespec left = gpr_time_sub(raw, gpr_now(raw.clock_type));
    return NowForDeadlines() + absl::Seconds(std::min<int64_t>(left.tv_sec, kMostSeconds)) +
           absl::Nanoseconds(left.tv_nsec);
  }
  return dispatch.method != nullptr ? dispatch.default_deadline
                                    : NowForDeadlines() + kDefaultDeadline;
}

grpc::experimental::Interceptor* InterceptorFactory::CreateServerInterceptor(
    grpc::experimental::ServerRpcInfo* info) {
  const auto it = methods_.find(absl::string_view(info->method()));
  if (it == methods_.end()) return nullptr;
  const auto& [method, standard] = it->second;
  if (standard != nullptr)
    return new StandardInterceptor(core_->guard, *info->server_context(), method, *standard);
  const absl::Time now = NowForDeadlines();
  t_next = {info->server_context(),
            {.core = core_,
             .method = method,
             .arrived = now,
             .default_deadline = now + core_->default_deadline}};
  return nullptr;
}

Accounting::Accounting(grpc::ServerContextBase& context, const Dispatch& dispatch)
    : context_(context),
      method_(dispatch.method),
      keeps_(dispatch.keeps),
      request_(dispatch.request),
      caller_(dispatch.caller),
      start_(dispatch.method != nullptr ? dispatch.arrived : NowForDeadlines()),
      info_(ReadCallInfo(context)) {
  if (method_ == nullptr) return;
  method_->Started();
  method_->Received();
}

void Accounting::Handled(grpc::StatusCode code, absl::string_view message,
                         absl::string_view cause) {
  const absl::Duration took = NowForDeadlines() - start_;
  if (method_ != nullptr) method_->Handled(code, took);
  if (trace::Recording(info_.trace)) {
    const absl::Time now = absl::Now();
    trace::Span span = trace::RpcSpan(trace::SpanKind::kServer, info_.trace, info_.parent_span_id,
                                      method_name(), now - took);
    const std::string peer = context_.peer();
    span.attributes.push_back({"client.address", peer});
    span.attributes.push_back({"muster.principal", Principal()});
    span.attributes.push_back({"muster.request_id", info_.request_id});
    trace::EndRpcSpan(span, code, message, now);
    trace::Record(std::move(span));
  }
  Log(code, message, cause, took);
}

std::string Accounting::Principal() const {
  return caller_ != nullptr ? caller_->principal : PrincipalOf(PeerOf(context_));
}

void Accounting::Log(grpc::StatusCode code, absl::string_view message, absl::string_view cause,
                     absl::Duration took) const {
  CallKind kind = KindOf(method_name());
  // NOT_FOUND with a cause: the policy hides the resource. Operators are to see who asked for it.
  const bool hidden = code == grpc::StatusCode::NOT_FOUND && !cause.empty();
  if (!hidden && !log::Enabled(LevelOf(kind, code))) return;
  if (request_ != nullptr && IsOnlyTried(*request_)) kind = CallKind::kRead;
  const log::Level level = hidden ? log::Level::kInfo : LevelOf(kind, code);
  if (!log::Enabled(level)) return;
  const std::optional<int64_t> silent = code == grpc::StatusCode::OK ? 0 : FailureLines().Admit();
  if (!silent) return;
  std::vector<log::Field> fields = {{"method", method_name()},
                                    {"code", CodeName(code)},
                                    {"duration_ms", absl::ToDoubleMilliseconds(took)},
                                    {"request_id", info_.request_id}};
  const Subjects subjects = request_ != nullptr ? SubjectsOf(*request_) : Subjects();
  if (subjects.count == 1) fields.push_back({"resource", subjects.first.front()});
  if (subjects.count > 1) {
    fields.push_back({"resources", subjects.first});
    fields.push_back({"resource_count", subjects.count});
  }
  const std::string peer = context_.peer();
  const std::string principal = Principal();
  // Calls within the process have none.
  const absl::string_view user_agent = ReadHeader(context_, "user-agent");
  if (!user_agent.empty()) fields.push_back({"user_agent", user_agent});
  fields.push_back({"principal", principal});
  fields.push_back({"peer", peer});
  if (code != grpc::StatusCode::OK) fields.push_back({"error", message});
  if (!cause.empty()) fields.push_back({"cause", cause});
  if (*silent > 0) fields.push_back({"lines_left_out", *silent});
  const CurrentTrace scope(info_.trace);
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

namespace muster::rpc {

namespace {

// Null: none is known.
const access::Caller* CallerOf(const grpc::ServerContextBase& context) {
  return internal::t_next.context == &context ? internal::t_next.dispatch.caller.get() : nullptr;
}

}  // namespace

std::shared_ptr<const access::Scope> NarrowedTo(const grpc::ServerContextBase& context) {
  const access::Caller* caller = CallerOf(context);
  return caller != nullptr ? caller->narrowed_to : nullptr;
}

std::shared_ptr<const access::Scope> ScopeOf(const grpc::ServerContextBase& context,
                                             access::Verb verb) {
  const access::Caller* caller = CallerOf(context);
  return caller != nullptr ? caller->ScopeOf(verb) : nullptr;
}

uint64_t TurnOf(const grpc::ServerContextBase& context) {
  const access::Caller* caller = CallerOf(context);
  return caller != nullptr ? access::TurnOf(*caller) : 0;
}

}  // namespace muster::rpc
