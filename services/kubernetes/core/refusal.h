#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"

namespace muster::kubernetes {

// Every fault that an INVALID_ARGUMENT of Muster names, by the CRD's field paths, for a condition's
// message: `spec.image.kernel: must be empty with a name; spec.minNodes: ...`. Without such: its
// message.
std::string FaultsOf(const absl::Status& status);

// Which limit of the organization stands in the way and what to do, for a condition's message; nullopt: none does, or it passes by
// itself (such come with a time to wait).
std::optional<std::string> LimitOf(const absl::Status& status);

// Its reason, e.g. `UID_MISMATCH`; empty without.
std::string ReasonOf(const absl::Status& status);

}  // namespace muster::kubernetes
