#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "services/musterctl/manifest/kinds.h"

namespace muster::musterctl {

// A resource as an object with apiVersion, kind, metadata, spec and status: what `-o json` and `-o
// yaml` print and, where a manifest of that kind exists, what `apply` reads again. A NodePool is
// the CRD's object, with the CRD's defaults filled in. With several cells `metadata.cell` names the
// item's.
nlohmann::json ToObject(const Item& item);

// Several objects as one, `kind: List`.
nlohmann::json ToList(const std::vector<nlohmann::json>& objects);

// JSON as block-style YAML. Strings that YAML would read as something else are quoted.
std::string ToYaml(const nlohmann::json& json);

}  // namespace muster::musterctl
