#pragma once

#include <string>
#include <vector>

#include "services/configuration/core/types.h"

namespace muster::configuration {

// `np-` and the first 12 hex digits of the SHA-256 of the content. Equal content has equal ids, for
// ever and on every machine: the order and the spelling of what is hashed must never change.
std::string ProfileId(const NodeProfile& profile);

// One fact a line: `GPU driver 570.86.15 → 570.124.06` where it differs from
// `before`, else `Kubernetes 1.33`. `before`: what is active; null when nothing is. Order: image,
// kernel, release train, GPU driver, Kubernetes.
std::vector<std::string> Summary(const NodeProfile* before, const NodeProfile& after);

}  // namespace muster::configuration
