#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/handlers.h"
#include "services/lifecycle/submit_inl.h"

namespace muster::lifecycle {
namespace {

absl::StatusOr<lifecycle::ReconfigureNodePool> Parse(
    const v1::ReconfigureNodePoolRequest& request) {
  if (!ParsePoolName(request.name())) return muster::error::InvalidField("name", kPoolNameShape);
  if (request.machines_size() > static_cast<int>(kMaxNamedMachines)) {
    return muster::error::InvalidField(
        "machines", absl::StrCat("must have at most ", kMaxNamedMachines, " entries"));
  }
  return lifecycle::ReconfigureNodePool{request.name(),
                                        request.etag(),
                                        {request.machines().begin(), request.machines().end()},
                                        request.evict_active(),
                                        request.max_unavailable(),
                                        request.allowed_failures(),
                                        request.validate_only()};
}

template <class Request>
absl::StatusOr<ControlReconfiguration> Parse(const Request& request,
                                             ControlReconfiguration::Verb verb) {
  if (!ParsePoolName(request.name())) return muster::error::InvalidField("name", kPoolNameShape);
  return ControlReconfiguration{request.name(), request.etag(), verb, request.validate_only()};
}

}  // namespace

Handlers::Unary Handlers::ReconfigureNodePool(Context context,
                                              const v1::ReconfigureNodePoolRequest* request,
                                              v1::NodePool* response) {
  return SubmitPool(context, Parse(*request), response);
}

Handlers::Unary Handlers::PauseReconfiguration(Context context,
                                               const v1::PauseReconfigurationRequest* request,
                                               v1::NodePool* response) {
  return Submit(context, Parse(*request, ControlReconfiguration::Verb::kPause), response);
}

Handlers::Unary Handlers::ResumeReconfiguration(Context context,
                                                const v1::ResumeReconfigurationRequest* request,
                                                v1::NodePool* response) {
  return Submit(context, Parse(*request, ControlReconfiguration::Verb::kResume), response);
}

Handlers::Unary Handlers::CancelReconfiguration(Context context,
                                                const v1::CancelReconfigurationRequest* request,
                                                v1::NodePool* response) {
  return Submit(context, Parse(*request, ControlReconfiguration::Verb::kCancel), response);
}

}  // namespace muster::lifecycle
