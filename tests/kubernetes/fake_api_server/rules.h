#pragma once

#include <string>

#include "nlohmann/json.hpp"
#include "tests/kubernetes/fake_api_server/resources.h"

namespace muster::testing {

// Throws Refusal (422) if the object breaks a rule of the server's; has only the rules that the
// adapter can run into. `before` is null for a new object.
void Validate(const Resource& resource, const std::string& name, const nlohmann::json& before,
              const nlohmann::json& after);

}  // namespace muster::testing
