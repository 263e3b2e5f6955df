#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/first_edition.h"
#include "services/kubernetes/core/status_facts.h"

// The conditions of a NodePool object, in the words of one edition of the CRD or of both.
namespace muster::kubernetes {

// Of an object's status; null: it has none of that type.
const Json* FindCondition(const Json& status, absl::string_view type);

// Our own condition: its transition time stays while its status does.
Json OwnCondition(const StatusFacts& facts, const FirstEditionCondition& name,
                  const std::string& status, const std::string& message, int64_t generation,
                  absl::Time now);

// All but those that sum up (ready.h). `now` is the transition time of what changes here.
Json ConditionsOf(const StatusFacts& facts, absl::Time now);

}  // namespace muster::kubernetes
