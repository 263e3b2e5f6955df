#pragma once

#include "nlohmann/json.hpp"
#include "tests/kubernetes/fake_api_server/resources.h"

namespace muster::testing {

// The document after a patch other than an apply. Throws Refusal: 422 for a JSON patch that does
// not fit (a failed `test` included), 415 for a type of patch that the resource does not take.
nlohmann::json Patched(const Resource& resource, const Call& call, nlohmann::json document);

}  // namespace muster::testing
