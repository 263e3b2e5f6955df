#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace muster::testing {

// The documents of a YAML file. Throws std::runtime_error when it cannot be read.
std::vector<nlohmann::json> ReadManifests(absl::string_view file);
// Of a file below deploy/, e.g. `kubernetes/crd/crd.yaml`.
std::vector<nlohmann::json> ReadDeployed(absl::string_view file);

}  // namespace muster::testing
