#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/resource_name.h"
#include "services/common/status_macros.h"
#include "services/quota/core/decide.h"
#include "services/quota/core/validate.h"
#include "services/quota/handlers.h"
#include "services/quota/wire/quota_wire.h"
#include "services/rpc/field_mask.h"
#include "services/rpc/unary.h"

namespace muster::quota {
namespace {

absl::StatusOr<CreateQuota> ParseCreate(const v1::CreateQuotaRequest& request) {
  const auto parent = MatchName("organizations/*", request.parent());
  if (!parent || !IsDnsLabel(parent->front()))
    return error::InvalidField("parent", "must be `organizations/{organization}`.");
  const std::string name = absl::StrCat(request.parent(), "/quotas/", request.quota_id());
  const auto key = ParseQuotaName(name);
  if (!key) return error::InvalidField("quota_id", kQuotaIdShape);
  if (!request.quota().name().empty() && request.quota().name() != name)
    return error::InvalidField("quota.name", absl::StrCat("must be empty or `", name, "`."));
  CreateQuota command{*key, request.quota().limit(), {}};
  ASSIGN_OR_RETURN(command.overrides, OverridesOf(request.quota(), "quota."));
  if (auto faults = Validate(command, "quota."); !faults.empty())
    return error::InvalidFields(std::move(faults));
  return command;
}

absl::StatusOr<UpdateQuota> ParseUpdate(const v1::UpdateQuotaRequest& request) {
  RETURN_IF_ERROR(rpc::CheckUpdateMask(request.update_mask(), {"limit", "overrides"}));
  const auto key = ParseQuotaName(request.quota().name());
  if (!key) return error::InvalidField("quota.name", kQuotaNameShape);
  const auto named = [&](absl::string_view path) {
    return rpc::InUpdateMask(request.update_mask(), path);
  };
  UpdateQuota command{*key, {}, request.quota().etag(), request.allow_missing(), {}};
  if (named("limit")) command.limit = request.quota().limit();
  // Who does not know of overrides leaves mask and field empty: it must not take them away.
  const bool unsaid = request.update_mask().paths().empty() && request.quota().overrides().empty();
  if (named("overrides") && !unsaid) {
    ASSIGN_OR_RETURN(command.overrides, OverridesOf(request.quota(), "quota."));
  }
  if (auto faults = Validate(command, "quota."); !faults.empty())
    return error::InvalidFields(std::move(faults));
  return command;
}

// Answers with the Quota that a CreateQuota or UpdateQuota leaves.
template <class Command>
void ChangeQuota(Lane& lane, rpc::Responder responder, absl::StatusOr<Command> command,
                 bool validate_only, v1::Quota* response) {
  if (!command.ok()) return responder.Finish(command.status());
  auto answer = std::make_shared<v1::Quota>();
  const absl::Time deadline = responder.deadline();
  lane.Submit(
      [command = *std::move(command), validate_only, answer](Overlay<State>& overlay,
                                                             absl::Time now) -> absl::Status {
        const size_t mark = overlay.Mark();
        RETURN_IF_ERROR(Decide(overlay, command, now));
        const std::string name = QuotaName(command.key);
        *answer = ToProto(*overlay.state().table<Quota>().FindVersioned(name),
                          overlay.state().Held(name));
        if (validate_only) overlay.RollBack(mark);
        return absl::OkStatus();
      },
      [answer, response, responder = std::move(responder)](const absl::Status& status,
                                                           int64_t) mutable {
        responder.Reply([&] {
          if (status.ok()) *response = std::move(*answer);
          return status;
        });
      },
      deadline);
}

}  // namespace

Handlers::Unary Handlers::CreateQuota(Context context, const v1::CreateQuotaRequest* request,
                                      v1::Quota* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    ChangeQuota(lane_, std::move(responder), ParseCreate(*request), request->validate_only(),
                response);
  });
}

Handlers::Unary Handlers::UpdateQuota(Context context, const v1::UpdateQuotaRequest* request,
                                      v1::Quota* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    ChangeQuota(lane_, std::move(responder), ParseUpdate(*request), request->validate_only(),
                response);
  });
}

Handlers::Unary Handlers::DeleteQuota(Context context, const v1::DeleteQuotaRequest* request,
                                      google::protobuf::Empty*) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    if (!ParseQuotaName(request->name())) {
      return void(responder.Finish(error::InvalidField("name", kQuotaNameShape)));
    }
    const absl::Time deadline = responder.deadline();
    lane_.Submit(
        [command = quota::DeleteQuota{request->name(), request->etag(), request->allow_missing()}](
            Overlay<State>& overlay, absl::Time now) { return Decide(overlay, command, now); },
        [responder = std::move(responder)](const absl::Status& status, int64_t) mutable {
          responder.Finish(status);
        },
        deadline);
  });
}

}  // namespace muster::quota
