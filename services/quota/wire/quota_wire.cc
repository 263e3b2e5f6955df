#include "services/quota/wire/quota_wire.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/resource_name.h"
#include "services/common/status_macros.h"
#include "services/common/timestamp.h"
#include "services/quota/core/limits.h"
#include "services/quota/core/names.h"

namespace muster::quota {
namespace {

constexpr char kTimeShape[] = "is required, a time in the years 0001 to 9999.";
bool IsTime(const google::protobuf::Timestamp& time) {
  return IsTimestamp(time.seconds(), time.nanos());
}

// As Postgres keeps it, so that a time read back equals the time written.
absl::Time ToMicros(absl::Time time) { return absl::FromUnixMicros(absl::ToUnixMicros(time)); }

v1::HoldingAnswer::Verdict ToProto(Verdict verdict) {
  switch (verdict) {
    case Verdict::kUnder:
      return v1::HoldingAnswer::VERDICT_UNDER;
    case Verdict::kOver:
      return v1::HoldingAnswer::VERDICT_OVER;
    case Verdict::kNotSet:
      return v1::HoldingAnswer::VERDICT_NOT_SET;
  }
  return v1::HoldingAnswer::VERDICT_UNSPECIFIED;
}

template <class Request>
KeyFilter KeyFilterOf(const Request& request, error::Faults& faults) {
  KeyFilter filter{request.zone(), request.instance_type(), {}};
  faults.Require(filter.zone.empty() || IsZoneId(filter.zone), "zone",
                 "must be a zone such as `US-EAST-04A`, or empty.");
  faults.Require(filter.instance_type.empty() || IsInstanceTypeId(filter.instance_type),
                 "instance_type", "must be an instance type such as `gd-8xh100ib-i128`, or empty.");
  switch (static_cast<int>(request.compute_class())) {
    case type::v1::COMPUTE_CLASS_UNSPECIFIED:
      break;
    case type::v1::COMPUTE_CLASS_DEFAULT:
      filter.compute_class = ComputeClass::kDefault;
      break;
    case type::v1::COMPUTE_CLASS_SPOT:
      filter.compute_class = ComputeClass::kSpot;
      break;
    default:  // a number that this build does not know
      faults.Add("compute_class",
                 "must be COMPUTE_CLASS_DEFAULT or COMPUTE_CLASS_SPOT, or unspecified.");
  }
  return filter;
}

}  // namespace

v1::Quota ToProto(const Versioned<Quota>& quota, int64_t held) {
  v1::Quota out;
  out.set_name(quota.row->Key());
  out.set_limit(quota.row->limit);
  out.set_held(held);
  out.set_etag(EtagOf(*quota.row));
  SetTimestamp(quota.row->create_time, out.mutable_create_time());
  SetTimestamp(quota.row->update_time, out.mutable_update_time());
  for (const LimitOverride& override : quota.row->overrides) {
    v1::LimitOverride* added = out.add_overrides();
    added->set_limit(override.limit);
    SetTimestamp(override.effective_time, added->mutable_effective_time());
    SetTimestamp(override.expire_time, added->mutable_expire_time());
    added->set_reason(override.reason);
  }
  out.set_limit_in_force(LimitInForce(*quota.row));
  return out;
}

v1::Holding ToProto(const Holding& holding) {
  v1::Holding out;
  out.set_name(holding.Key());
  out.set_nodes(holding.nodes);
  out.set_generation(holding.generation);
  out.set_pool(holding.pool);
  SetTimestamp(holding.update_time, out.mutable_update_time());
  return out;
}

v1::HoldingAnswer ToProto(const HoldingOutcome& answer) {
  v1::HoldingAnswer out;
  out.set_verdict(ToProto(answer.verdict));
  out.set_nodes(answer.nodes);
  out.set_limit(answer.limit);
  out.set_held(answer.held);
  out.set_remaining(std::max<int64_t>(0, answer.limit - answer.held));
  out.set_revision(answer.revision);
  for (const Holder& holder : answer.holders.largest) {
    v1::Holder* listed = out.add_holders();
    listed->set_pool_uid(holder.pool_uid);
    listed->set_pool(holder.pool);
    listed->set_nodes(holder.nodes);
  }
  out.set_other_holders(answer.holders.others);
  out.set_other_nodes(answer.holders.other_nodes);
  return out;
}

absl::StatusOr<Quota> FromProto(const v1::Quota& quota) {
  const auto key = ParseQuotaName(quota.name());
  if (!key) return absl::InternalError(absl::StrCat("Not a quota's name: ", quota.name()));
  Quota row{*key,
            quota.limit(),
            FromTimestamp(quota.create_time()),
            FromTimestamp(quota.update_time()),
            {}};
  error::Faults faults;
  row.overrides = OverridesOf(quota, "", faults);
  RETURN_IF_ERROR(faults.status());
  return row;
}

absl::StatusOr<Holding> FromProto(const v1::Holding& holding) {
  const auto name = ParseHoldingName(holding.name());
  if (!name) return absl::InternalError(absl::StrCat("Not a holding's name: ", holding.name()));
  return Holding{name->quota,          name->pool_uid, holding.nodes(),
                 holding.generation(), holding.pool(), FromTimestamp(holding.update_time())};
}

SyncHolding FromProto(const v1::HoldingRequest& request, absl::string_view path,
                      error::Faults& faults) {
  auto name = ParseHoldingName(request.name());
  if (!name) {
    faults.Add(error::Below(path, "name"), kHoldingNameShape);
    name.emplace();
  }
  return SyncHolding{name->quota,    name->pool_uid,    request.nodes(),    request.generation(),
                     request.pool(), request.release(), request.must_fit(), request.at_least()};
}

std::vector<LimitOverride> OverridesOf(const v1::Quota& quota, absl::string_view path,
                                       error::Faults& faults) {
  std::vector<LimitOverride> overrides;
  if (static_cast<size_t>(quota.overrides_size()) > kMaxOverrides) {
    faults.Add(
        error::Below(path, "overrides"),
        absl::StrCat("has ", quota.overrides_size(), " entries; at most ", kMaxOverrides, "."));
    return overrides;
  }
  for (const v1::LimitOverride& given : quota.overrides()) {
    const std::string at = error::At(error::Below(path, "overrides"), overrides.size());
    faults.Require(given.has_effective_time() && IsTime(given.effective_time()),
                   error::Below(at, "effective_time"), kTimeShape);
    faults.Require(given.has_expire_time() && IsTime(given.expire_time()),
                   error::Below(at, "expire_time"), kTimeShape);
    overrides.push_back({given.limit(), ToMicros(FromTimestamp(given.effective_time())),
                         ToMicros(FromTimestamp(given.expire_time())), given.reason()});
  }
  return overrides;
}

KeyFilter FilterOf(const v1::ListQuotasRequest& request, error::Faults& faults) {
  return KeyFilterOf(request, faults);
}
KeyFilter FilterOf(const v1::ListHoldingsRequest& request, error::Faults& faults) {
  return KeyFilterOf(request, faults);
}

}  // namespace muster::quota
