#pragma once

#include <string>

#include "nlohmann/json.hpp"
#include "tests/kubernetes/fake_api_server/resources.h"

namespace muster::testing {

// What the server holds objects to, as far as the adapter can run into it. Throws Refusal (422).
// `before` is null for a new object.
void Validate(const Resource& resource, const std::string& name, const nlohmann::json& before,
              const nlohmann::json& after);

}  // namespace muster::testing
