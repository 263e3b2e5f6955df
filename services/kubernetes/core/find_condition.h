#pragma once

#include "absl/strings/string_view.h"
#include "services/kubernetes/api/json.h"

namespace muster::kubernetes {

// The condition of that type in an array of them; null: there is none.
const Json* FindIn(const Json& conditions, absl::string_view type);
Json* FindIn(Json& conditions, absl::string_view type);
// Likewise in an object's status.
const Json* FindCondition(const Json& status, absl::string_view type);

}  // namespace muster::kubernetes
