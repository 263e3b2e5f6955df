#include "services/rpc/admission.h"

#include <functional>
#include <utility>

#include "absl/algorithm/container.h"
#include "services/common/status_macros.h"

namespace muster::rpc::internal {
namespace {

bool IsByPlace(const absl::Status& refusal) {
  return absl::IsNotFound(refusal) || absl::IsPermissionDenied(refusal);
}

}  // namespace

Admission::Admission(const google::protobuf::MethodDescriptor& method, const Guard& guard,
                     const access::PlaceOf& place_of, const access::CatchUp& catch_up,
                     const access::Answered& answered)
    : stream_(method.server_streaming()),
      access_(access::MethodAccess::Of(method)),
      is_debug_(access_.ok() && absl::c_linear_search(access_->verbs(), access::Verb::kDebug)),
      guard_(guard),
      place_of_(place_of),
      catch_up_(catch_up),
      answered_(answered) {}

absl::Status Admission::LetIn(access::Caller& caller, const google::protobuf::Message& request,
                              int64_t bytes, CallerLimits::Place& place, bool& unsure) const {
  const auto kind = stream_ ? CallerLimits::Kind::kWatch : CallerLimits::Kind::kCall;
  ASSIGN_OR_RETURN(place, guard_.Enter(caller, kind, bytes));
  // The same way for resources that exist and that do not, so that the time of an answer tells
  // nothing.
  access::NotingState noting(place_of_, caller);
  absl::Status status = guard_.Admit(access_, caller, request, std::ref(noting));
  if (status.ok()) return status;
  unsure = noting.by_state() && IsByPlace(status) && !stream_ && catch_up_ != nullptr;
  return unsure ? status : guard_.Refused(caller, std::move(status));
}

absl::StatusOr<std::shared_ptr<access::Caller>> Admission::LetInAnew(
    const grpc::ServerContextBase& context, const google::protobuf::Message& request,
    const access::Caller* before) const {
  auto caller = guard_.CallerOf(context, true);
  if (before != nullptr && caller->unproven.ok() && *caller->rights == *before->rights)
    return nullptr;
  absl::Status status = guard_.Admit(access_, *caller, request, place_of_);
  if (!status.ok() && !IsRepeated(*caller, request, status))
    return guard_.Refused(*caller, std::move(status));
  caller->unless_repeated = std::move(status);
  return caller;
}

bool Admission::IsRepeated(const access::Caller& caller, const google::protobuf::Message& request,
                           const absl::Status& refusal) const {
  return answered_ != nullptr && IsByPlace(refusal) && access_.ok() &&
         access_->HoldsSomewhere(caller) && answered_(caller, request);
}

}  // namespace muster::rpc::internal
