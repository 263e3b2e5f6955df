#pragma once

#include <grpcpp/server_context.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/rpc/admission.h"
#include "services/rpc/call_table.h"
#include "services/rpc/caller_limits.h"
#include "services/rpc/dispatch.h"
#include "services/rpc/inner_handler.h"
#include "services/rpc/refusal_pace.h"

namespace muster::rpc::internal {

// Of the method of a call that goes on later. All must outlive the call.
struct DeferredMethod {
  const Admission& admission;
  CallerLimits& limits;
  const InnerHandler& handler;
};

// A call that goes on later, held by what it waits for.
class DeferredCall : public OpenCall {
 public:
  DeferredCall(const DeferredMethod& method, const InnerHandler::Parameter& param, void* inner)
      : method_(method), param_(param), inner_(inner) {}

  // To be called once. The call may be over when this returns.
  void Wait(Dispatch dispatch);

 protected:
  virtual void Begin() = 0;
  // Checks the policy once more: the caller's rights may have changed while the call waited.
  absl::Status AdmitAnew(bool was_let_in);
  // Hands the call to its handler, or refuses it. The call may be gone afterwards; this object is
  // not, as the caller of this function holds it.
  void End(const absl::Status& refusal);
  grpc::CallbackServerContext& context() const {
    return *static_cast<grpc::CallbackServerContext*>(param_.server_context);
  }

  const DeferredMethod method_;
  const InnerHandler::Parameter param_;
  void* const inner_;
  ServerCore* core_ = nullptr;
  absl::Time deadline_ = absl::InfiniteFuture();
  Dispatch dispatch_ = {};

 private:
  template <class Handle>
  void Proceed(const Handle& handle);
};

// A call that is let in, and waits for its turn among its caller's (CallerLimits), or until its
// deadline.
std::shared_ptr<DeferredCall> MakeCallInLine(const DeferredMethod& method,
                                             const InnerHandler::Parameter& param, void* inner);
// A call that was refused by a state that may be old: it is judged once more when the state has
// caught up.
std::shared_ptr<DeferredCall> MakeUnsureCall(const DeferredMethod& method,
                                             const InnerHandler::Parameter& param, void* inner);
// A call that was refused, and is told so after `wait`, or at its deadline; then `pace` is, too.
// That must outlive the call.
std::shared_ptr<DeferredCall> MakeRefusedCall(const DeferredMethod& method,
                                              const InnerHandler::Parameter& param, void* inner,
                                              absl::Status refusal, absl::Duration wait,
                                              RefusalPace& pace);

}  // namespace muster::rpc::internal
