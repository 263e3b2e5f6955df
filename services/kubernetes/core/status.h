#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"
#include "services/kubernetes/core/status_facts.h"

namespace muster::kubernetes {

// The CRD's spec as Muster's. What Muster does not know is left out; INVALID_ARGUMENT, with the
// field, when one is of another type.
absl::StatusOr<lifecycle::v1::NodePoolSpec> SpecOf(const Json& spec);

// What `object.status` should be, in the CRD's words. Nullopt: nothing is known to say, it stays as
// it is. `now` is the transition time of what changes here.
std::optional<Json> DesiredStatus(const StatusFacts& facts, absl::Time now);

// What the annotation kGrantable should say; nullopt: it should not be there.
std::optional<std::string> GrantableText(const lifecycle::v1::NodePool& pool);

// Whether the status that is there already says so. Fields and conditions of others do not count.
bool StatusMatches(const Json& status, const Json& desired);

// What the status says of removals that are held; nullopt: nothing.
std::optional<std::string> SaysHeld(const Json& status);

// Whether the status tells of that refusal already.
bool SaysRefusal(const Json& status, const Refusal& refusal);

}  // namespace muster::kubernetes
