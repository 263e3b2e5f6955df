#include "services/rpc/deferred_call.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "services/common/current_caller.h"
#include "services/common/deadline.h"
#include "services/common/mutex.h"
#include "services/common/status_macros.h"
#include "services/rpc/limits.h"

namespace muster::rpc::internal {

void DeferredCall::Wait(Dispatch dispatch) {
  core_ = dispatch.core;
  deadline_ = DeadlineOf(context(), dispatch);
  dispatch_ = std::move(dispatch);
  core_->open.Enter();
  core_->open.Enter();  // for what is done here: the call may be over before it is
  Begin();
  core_->open.Leave();
}

absl::Status DeferredCall::AdmitAnew(bool was_let_in) {
  try {
    const auto& request = *static_cast<const google::protobuf::Message*>(param_.request);
    ASSIGN_OR_RETURN(auto anew,
                     method_.admission.LetInAnew(context(), request,
                                                 was_let_in ? dispatch_.caller.get() : nullptr));
    if (anew != nullptr) dispatch_.caller = std::move(anew);
    return absl::OkStatus();
  } catch (const std::bad_alloc&) {
    return NoMemoryForRequest();
  }
}

template <class Handle>
void DeferredCall::Proceed(const Handle& handle) {
  GiveDispatch(context(), std::move(dispatch_));
  handle();
  Forget();
  core_->open.Leave();
}

void DeferredCall::End(const absl::Status& refusal) {
  if (refusal.ok()) return Proceed([this] { method_.handler.Run(param_, inner_); });
  dispatch_.keeps = method_.handler.Keep(param_, inner_);
  Proceed([&] { method_.handler.Refuse(param_, refusal); });
}

namespace {

// When a call in line looks whether others have been at work for so long that it may begin; the
// pauses grow, as many calls may be in line.
constexpr absl::Duration kLookAgain = absl::Milliseconds(250);
constexpr absl::Duration kMostPause = absl::Seconds(4);

class InLine final : public CallerLimits::CallInLine, public DeferredCall {
 public:
  using DeferredCall::DeferredCall;

  void Start() override {
    core_->calls.Remove(this);
    EndWith(AdmitAnew(true));
  }
  // Called when it is time to look again, at the call's deadline, or at the end of the server.
  void Expire(const absl::Status& status) override {
    CallerLimits& limits = method_.limits;
    if (absl::IsDeadlineExceeded(status) && NowForDeadlines() < deadline_) {
      if (limits.Nudge(*this)) LookAgain();
      return;
    }
    if (limits.GiveUp(*this)) EndWith(status);
  }

 private:
  void Begin() override {
    place = std::move(dispatch_.place);
    method_.limits.Wait(std::static_pointer_cast<InLine>(shared_from_this()));
    LookAgain();
  }
  void LookAgain() {
    const absl::Time again = std::min(deadline_, NowForDeadlines() + pause_);
    // Before it is in `calls`, whose thread may come back here.
    pause_ = std::min(2 * pause_, kMostPause);
    core_->calls.Add(this, again);
    // A thread that starts it later finds it in `calls`, and removes it; one that started it
    // before may not have.
    if (!method_.limits.IsWaiting(*this)) core_->calls.Remove(this);
  }
  void EndWith(const absl::Status& refusal) {
    dispatch_.place = std::move(place);
    End(refusal);
  }

  absl::Duration pause_ = kLookAgain;
};

class Unsure final : public DeferredCall {
 public:
  using DeferredCall::DeferredCall;

  // Called when the state has caught up, at the call's deadline, or at the end of the server.
  void Expire(const absl::Status& status) override {
    std::optional<absl::Status> caught_up;
    std::shared_ptr<DeferredCall> self;
    {
      MutexLock lock(mutex_);
      if (over_) return;
      over_ = true;
      core_->calls.Remove(this);
      caught_up = caught_up_;
      self = std::move(self_);
    }
    if (!caught_up) return End(status);
    if (!caught_up->ok()) return End(*caught_up);
    const absl::Status refusal = AdmitAnew(false);
    if (refusal.ok() && !method_.admission.Begins(dispatch_.place)) return StandInLine();
    End(refusal);
  }

 private:
  void Begin() override {
    const auto self = std::static_pointer_cast<Unsure>(shared_from_this());
    const auto asks = dispatch_.caller;  // a copy, as the call may be over before it is used
    {
      MutexLock lock(mutex_);
      self_ = self;
      core_->calls.Add(this, deadline_);
    }
    const auto author = [] { return Author(); };
    const CurrentCaller caller(access::TurnOf(*asks), author);
    try {
      method_.admission.catch_up()([self](const absl::Status& status) { self->GoOn(status); },
                                   deadline_);
    } catch (const std::bad_alloc&) {
      GoOn(NoMemoryForRequest());
    }
  }
  // Waits in line, as any other call of the caller that is let in.
  void StandInLine() {
    std::shared_ptr<InLine> in_line;
    try {
      in_line = std::make_shared<InLine>(method_, param_, inner_);
    } catch (const std::bad_alloc&) {
      return End(NoMemoryForRequest());
    }
    in_line->Wait(std::move(dispatch_));
    core_->open.Leave();
  }
  // Goes on, on the thread of `calls`: what comes next may take locks that are held here.
  void GoOn(const absl::Status& status) {
    MutexLock lock(mutex_);
    if (over_) return;
    caught_up_ = status;
    core_->calls.Remove(this);
    core_->calls.Add(this, NowForDeadlines() - kDeadlineTick);
  }

  Mutex mutex_;
  bool over_ MUSTER_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> caught_up_ MUSTER_GUARDED_BY(mutex_);
  std::shared_ptr<DeferredCall> self_ MUSTER_GUARDED_BY(mutex_);
};

class KeptBack final : public DeferredCall {
 public:
  KeptBack(const DeferredMethod& method, const InnerHandler::Parameter& param, void* inner,
           absl::Status refusal, absl::Duration wait, RefusalPace& pace)
      : DeferredCall(method, param, inner),
        refusal_(std::move(refusal)),
        wait_(wait),
        pace_(pace) {}

  // Called when it has waited, at the call's deadline, or at the end of the server, by the thread
  // of `calls`, which has taken it out.
  void Expire(const absl::Status&) override {
    const std::shared_ptr<DeferredCall> self = std::move(self_);
    pace_.Answered();
    End(refusal_);
  }

 private:
  void Begin() override {
    self_ = std::static_pointer_cast<KeptBack>(shared_from_this());
    core_->calls.Add(this, std::min(deadline_, NowForDeadlines() + wait_));
  }

  const absl::Status refusal_;
  const absl::Duration wait_;
  RefusalPace& pace_;
  std::shared_ptr<DeferredCall> self_;
};

}  // namespace

std::shared_ptr<DeferredCall> MakeCallInLine(const DeferredMethod& method,
                                             const InnerHandler::Parameter& param, void* inner) {
  return std::make_shared<InLine>(method, param, inner);
}

std::shared_ptr<DeferredCall> MakeUnsureCall(const DeferredMethod& method,
                                             const InnerHandler::Parameter& param, void* inner) {
  return std::make_shared<Unsure>(method, param, inner);
}

std::shared_ptr<DeferredCall> MakeRefusedCall(const DeferredMethod& method,
                                              const InnerHandler::Parameter& param, void* inner,
                                              absl::Status refusal, absl::Duration wait,
                                              RefusalPace& pace) {
  return std::make_shared<KeptBack>(method, param, inner, std::move(refusal), wait, pace);
}

}  // namespace muster::rpc::internal
