#include "services/rpc/unary.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/cause.h"
#include "services/common/log.h"
#include "services/rpc/dispatch.h"
#include "services/rpc/revision.h"
#include "services/rpc/status.h"

namespace muster::rpc {
namespace internal {

// The reactor and the state of one call. Held by gRPC until it is done, and by the Responder,
// perhaps longer. Once answered_ is set, only the one who set it may touch the gRPC call, and
// nobody after Finish.
class UnaryCall final : public OpenCall, public grpc::ServerUnaryReactor {
 public:
  UnaryCall(grpc::CallbackServerContext& context, Dispatch dispatch)
      : core_(dispatch.core),
        place_(std::move(dispatch.place)),
        context_(context),
        accounting_(context, dispatch),
        deadline_(DeadlineOf(context, dispatch)) {}

  void Open(std::shared_ptr<UnaryCall> self) {
    self_ = std::move(self);
    if (core_ == nullptr) return;
    core_->open.Enter();
    core_->calls.Add(this, deadline_);
  }

  // True at the first call only: that caller may answer.
  bool Claim() { return !answered_.exchange(true, std::memory_order_acq_rel); }

  // After Claim.
  void Answer(const absl::Status& status) {
    if (core_ != nullptr) core_->calls.Remove(this);
    if (status.ok()) {
      const int64_t revision = revision_.load(std::memory_order_relaxed);
      if (revision >= 0) context_.AddTrailingMetadata(kRevisionHeader, absl::StrCat(revision));
      accounting_.Sent();
      accounting_.Handled(grpc::StatusCode::OK, "");
      grpc::ServerUnaryReactor::Finish(grpc::Status());
    } else {
      grpc::Status converted = ToGrpcStatus(status);
      accounting_.Handled(converted.error_code(), converted.error_message(),
                          error::CauseOf(status));
      grpc::ServerUnaryReactor::Finish(std::move(converted));
    }
  }

  void ShowRevision(int64_t revision) { revision_.store(revision, std::memory_order_relaxed); }

  void Expire(const absl::Status& status) override {
    if (Claim()) Answer(status);
  }

  // gRPC has sent the answer.
  void OnDone() override {
    place_ = CallerLimits::Place();
    if (core_ != nullptr) core_->open.Leave();
    self_.reset();
  }
  void OnCancel() override { cancelled_ = true; }
  // Our reactions neither block nor take long: gRPC need not hand them to another thread.
  bool InternalInlineable() override { return true; }

  // The last Responder is destroyed, and nobody answered.
  void Dropped() {
    if (!Claim()) return;
    // While an exception passes, HandlerThrew tells what happened.
    if (std::uncaught_exceptions() == 0) LogError("call dropped without an answer", "");
    Answer(InternalError(error_id_));
  }

  void LogError(absl::string_view msg, absl::string_view what) const {
    log::Error(msg, {{"method", accounting_.method_name()},
                     {"error_id", error_id_},
                     {"request_id", accounting_.info().request_id},
                     {"error", what}});
  }
  const std::string& error_id() const { return error_id_; }

  // Set when the server takes no more calls.
  std::optional<absl::Status> refusal() const {
    return core_ != nullptr ? core_->open.refusal() : std::nullopt;
  }
  absl::Time deadline() const { return deadline_; }
  bool gone() const { return cancelled_ || answered_.load(std::memory_order_acquire); }
  const CallInfo& info() const { return accounting_.info(); }
  absl::string_view method_name() const { return accounting_.method_name(); }
  const std::shared_ptr<const access::Caller>& caller() const { return accounting_.caller(); }

 private:
  ServerCore* const core_;
  CallerLimits::Place place_;
  grpc::CallbackServerContext& context_;
  Accounting accounting_;
  const absl::Time deadline_;
  const std::string error_id_ = NewId();
  std::atomic<int64_t> revision_ = -1;  // negative: the answer shows none
  std::atomic<bool> answered_ = false;
  std::atomic<bool> cancelled_ = false;
  std::shared_ptr<UnaryCall> self_;
};

std::shared_ptr<UnaryCall> StartUnary(grpc::CallbackServerContext* context) {
  auto call = std::make_shared<UnaryCall>(*context, TakeDispatch(*context));
  call->Open(call);
  return call;
}

grpc::ServerUnaryReactor* ReactorOf(UnaryCall& call) { return &call; }

std::optional<absl::Status> Refusal(const UnaryCall& call) { return call.refusal(); }

uint64_t TurnOf(const UnaryCall& call) {
  return call.caller() == nullptr ? 0 : access::TurnOf(*call.caller());
}

bool GoesFirst(const UnaryCall& call) {
  return call.caller() != nullptr && call.caller()->goes_first;
}

Author AuthorOf(const UnaryCall& call) {
  const CallInfo& info = call.info();
  return {.principal = call.caller() == nullptr ? "" : call.caller()->principal,
          .method = std::string(call.method_name()),
          .request_id = info.request_id,
          .reason = info.reason};
}

void HandlerThrew(UnaryCall& call, const char* what) {
  call.LogError("handler threw an exception", what);
  call.Expire(InternalError(call.error_id()));
}

}  // namespace internal

Responder::Responder(std::shared_ptr<internal::UnaryCall> call) : call_(std::move(call)) {}

Responder& Responder::operator=(Responder&& other) noexcept {
  if (this != &other) {
    if (call_ != nullptr) call_->Dropped();
    call_ = std::move(other.call_);
  }
  return *this;
}

Responder::~Responder() {
  if (call_ != nullptr) call_->Dropped();
}

void Responder::Finish(const absl::Status& status) { call_->Expire(status); }

void Responder::ReplyWith(absl::FunctionRef<absl::Status()> fill) {
  if (!call_->Claim()) return;
  absl::Status status;
  try {
    status = fill();
  } catch (const std::exception& e) {
    call_->LogError("reply threw an exception", e.what());
    status = internal::InternalError(call_->error_id());
  }
  call_->Answer(status);
}

void Responder::ShowRevision(int64_t revision) { call_->ShowRevision(revision); }
bool Responder::gone() const { return call_->gone(); }
absl::Time Responder::deadline() const { return call_->deadline(); }
const CallInfo& Responder::info() const { return call_->info(); }
std::shared_ptr<const access::Caller> Responder::caller() const { return call_->caller(); }

}  // namespace muster::rpc
