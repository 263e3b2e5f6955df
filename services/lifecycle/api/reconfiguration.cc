#include <utility>

#include "services/lifecycle/api/handlers.h"
#include "services/lifecycle/api/write_inl.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/validate_command.h"

namespace muster::lifecycle {
namespace {

constexpr auto kParse = [](const v1::ReconfigureNodePoolRequest& request, Faults& faults) {
  const auto& machines = request.machines();
  faults.Require(ParsePoolName(request.name()).has_value(), "name", kPoolNameShape);
  ReconfigureNodePool command{request.name(),
                              request.etag(),
                              {machines.begin(), machines.end()},
                              request.evict_active(),
                              request.max_unavailable(),
                              request.allowed_failures()};
  Validate(command, faults);
  return command;
};

template <ControlReconfiguration::Verb kVerb>
constexpr auto kControl = [](const auto& request, Faults& faults) {
  faults.Require(ParsePoolName(request.name()).has_value(), "name", kPoolNameShape);
  return ControlReconfiguration{request.name(), request.etag(), kVerb};
};

}  // namespace

Handlers::Unary Handlers::ReconfigureNodePool(Context context,
                                              const v1::ReconfigureNodePoolRequest* request,
                                              v1::NodePool* response) {
  return WritePool(context, *request, response, kParse);
}

Handlers::Unary Handlers::PauseReconfiguration(Context context,
                                               const v1::PauseReconfigurationRequest* request,
                                               v1::NodePool* response) {
  return rpc::Write(context, writer_, *request, response,
                    kControl<ControlReconfiguration::Verb::kPause>, kDecide, RenderOutcome());
}

Handlers::Unary Handlers::ResumeReconfiguration(Context context,
                                                const v1::ResumeReconfigurationRequest* request,
                                                v1::NodePool* response) {
  return rpc::Write(context, writer_, *request, response,
                    kControl<ControlReconfiguration::Verb::kResume>, kDecide, RenderOutcome());
}

Handlers::Unary Handlers::CancelReconfiguration(Context context,
                                                const v1::CancelReconfigurationRequest* request,
                                                v1::NodePool* response) {
  return rpc::Write(context, writer_, *request, response,
                    kControl<ControlReconfiguration::Verb::kCancel>, kDecide, RenderOutcome());
}

}  // namespace muster::lifecycle
