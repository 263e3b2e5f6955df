#pragma once

#include <muster/quota/v1/quota_service.pb.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/common/faults.h"
#include "services/quota/core/decide.h"
#include "services/quota/core/state.h"

// Core ↔ proto, both ways, nothing else.
namespace muster::quota {

// A Quota with what is output only, such as `held` and the etag.
v1::Quota ToProto(const Versioned<Quota>& quota, int64_t held);
v1::Holding ToProto(const Holding& holding);
v1::HoldingAnswer ToProto(const HoldingOutcome& answer);

// Back from the journal. INTERNAL: a name that is not valid; INVALID_ARGUMENT: overrides that are
// not.
absl::StatusOr<Quota> FromProto(const v1::Quota& quota);
absl::StatusOr<Holding> FromProto(const v1::Holding& holding);

// A caller's request as a command; `path` is the request's. A name that is not valid is added to
// `faults`; nothing else is checked: see core/validate.h.
SyncHolding FromProto(const v1::HoldingRequest& request, absl::string_view path,
                      error::Faults& faults);

// The filter of a list request: its zone, instance_type and compute_class, all checked.
KeyFilter FilterOf(const v1::ListQuotasRequest& request, error::Faults& faults);
KeyFilter FilterOf(const v1::ListHoldingsRequest& request, error::Faults& faults);

// The overrides of a caller's Quota; empty if there are more than kMaxOverrides. Adds to `faults`
// that there are too many, and times that are missing or out of range. The rest: see
// core/validate.h.
std::vector<LimitOverride> OverridesOf(const v1::Quota& quota, absl::string_view path,
                                       error::Faults& faults);

// What a malformed name is answered with.
inline constexpr char kQuotaNameShape[] =
    "must be `organizations/{organization}/quotas/{zone}~{instance_type}~{default|spot}`.";
inline constexpr char kQuotaIdShape[] = "must be `{zone}~{instance_type}~{default|spot}`.";
inline constexpr char kHoldingNameShape[] =
    "must be "
    "`organizations/{organization}/quotas/{zone}~{instance_type}~{default|spot}/holdings/"
    "{pool_uid}`.";

}  // namespace muster::quota
