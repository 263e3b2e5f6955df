#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/resource_name.h"
#include "services/common/status_macros.h"
#include "services/quota/core/decide.h"
#include "services/quota/core/validate.h"
#include "services/quota/handlers.h"
#include "services/quota/wire/quota_wire.h"
#include "services/rpc/field_mask.h"
#include "services/rpc/write.h"

namespace muster::quota {
namespace {

constexpr auto kParseCreate = [](const v1::CreateQuotaRequest& request, error::Faults& faults) {
  CreateQuota command;
  const auto parent = MatchName("organizations/*", request.parent());
  const std::string name = absl::StrCat(request.parent(), "/quotas/", request.quota_id());
  const auto key = ParseQuotaName(name);
  if (!parent || !IsDnsLabel(parent->front())) {
    faults.Add("parent", "must be `organizations/{organization}`.");
  } else if (!key) {
    faults.Add("quota_id", kQuotaIdShape);
  } else {
    command.key = *key;
  }
  faults.Require(request.quota().name().empty() || request.quota().name() == name, "quota.name",
                 "must be empty, or that of `parent` and `quota_id`.");
  command.limit = request.quota().limit();
  command.overrides = OverridesOf(request.quota(), "quota", faults);
  if (faults.empty()) Validate(command, "quota", faults);
  return command;
};

constexpr auto kParseUpdate = [](const v1::UpdateQuotaRequest& request, error::Faults& faults) {
  rpc::CheckUpdateMask(request.update_mask(), {"limit", "overrides"}, faults);
  const auto key = ParseQuotaName(request.quota().name());
  faults.Require(key.has_value(), "quota.name", kQuotaNameShape);
  const auto named = [&](absl::string_view path) {
    return rpc::InUpdateMask(request.update_mask(), path);
  };
  UpdateQuota command{
      key.value_or(QuotaKey()), {}, request.quota().etag(), request.allow_missing(), {}};
  if (named("limit")) command.limit = request.quota().limit();
  // Who does not know of overrides leaves mask and field empty: it must not take them away.
  const bool unsaid = request.update_mask().paths().empty() && request.quota().overrides().empty();
  if (named("overrides") && !unsaid) {
    command.overrides = OverridesOf(request.quota(), "quota", faults);
  }
  // "A Quota that is created gets both."
  if (command.allow_missing) {
    command.first_limit = request.quota().limit();
    if (!command.overrides) command.first_overrides = OverridesOf(request.quota(), "quota", faults);
  }
  if (faults.empty()) Validate(command, "quota", faults);
  return command;
};

constexpr auto kParseDelete = [](const v1::DeleteQuotaRequest& request, error::Faults& faults) {
  faults.Require(ParseQuotaName(request.name()).has_value(), "name", kQuotaNameShape);
  return DeleteQuota{request.name(), request.etag(), request.allow_missing()};
};

// Answers with the Quota as the command leaves it. If it is only tried (`tries`), the change is
// taken back, and the answer has the etag of the Quota that is there (empty: there is none).
struct DecideQuota {
  bool tries = false;

  template <class Command>
  absl::StatusOr<v1::Quota> operator()(StagedState<State>& staged, const Command& command,
                                       absl::Time now) const {
    const size_t mark = staged.Mark();
    RETURN_IF_ERROR(Decide(staged, command, now));
    const std::string name = QuotaName(command.key);
    const State& state = staged.state();
    v1::Quota quota = ToProto(*state.table<Quota>().FindVersioned(name), state.Held(name));
    if (!tries) return quota;
    const Quota* there = rpc::TakeBack<Quota>(staged, mark, name);
    quota.set_etag(there == nullptr ? "" : EtagOf(*there));
    return quota;
  }
};
constexpr auto kRender = [](const v1::Quota& quota, v1::Quota& response) { response = quota; };

constexpr auto kDecideDelete = [](StagedState<State>& staged, const DeleteQuota& command,
                                  absl::Time now) { return Decide(staged, command, now); };
constexpr auto kRenderNothing = [](const auto&, google::protobuf::Empty&) {};

}  // namespace

Handlers::Unary Handlers::CreateQuota(Context context, const v1::CreateQuotaRequest* request,
                                      v1::Quota* response) {
  return rpc::Write(context, writer_, *request, response, kParseCreate,
                    DecideQuota{request->validate_only()}, kRender);
}

Handlers::Unary Handlers::UpdateQuota(Context context, const v1::UpdateQuotaRequest* request,
                                      v1::Quota* response) {
  return rpc::Write(context, writer_, *request, response, kParseUpdate,
                    DecideQuota{request->validate_only()}, kRender);
}

Handlers::Unary Handlers::DeleteQuota(Context context, const v1::DeleteQuotaRequest* request,
                                      google::protobuf::Empty* response) {
  return rpc::Write(context, writer_, *request, response, kParseDelete, kDecideDelete,
                    kRenderNothing);
}

}  // namespace muster::quota
