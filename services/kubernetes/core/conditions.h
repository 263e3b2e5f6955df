#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/first_edition.h"
#include "services/kubernetes/core/status_facts.h"

// The conditions of a NodePool object, in the words of one edition of the CRD or of both.
namespace muster::kubernetes {

// A condition of the adapter's own. Its transition time stays as long as its status does.
Json OwnCondition(const StatusFacts& facts, const FirstEditionCondition& name,
                  const std::string& status, const std::string& message, int64_t generation,
                  absl::Time now);

// All conditions but the summaries of ready.h. `now` is the transition time of what changes here.
Json ConditionsOf(const StatusFacts& facts, absl::Time now);

}  // namespace muster::kubernetes
