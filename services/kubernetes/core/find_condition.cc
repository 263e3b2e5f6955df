#include "services/kubernetes/core/find_condition.h"

#include <algorithm>
#include <utility>

namespace muster::kubernetes {

const Json* FindIn(const Json& conditions, absl::string_view type) {
  const auto found = std::find_if(conditions.begin(), conditions.end(), [&](const Json& condition) {
    return TextOf(MemberOf(condition, "type")) == type;
  });
  return found == conditions.end() ? nullptr : &*found;
}

Json* FindIn(Json& conditions, absl::string_view type) {
  return const_cast<Json*>(FindIn(std::as_const(conditions), type));
}

const Json* FindCondition(const Json& status, absl::string_view type) {
  const Json& conditions = MemberOf(status, "conditions");
  return conditions.is_array() ? FindIn(conditions, type) : nullptr;
}

}  // namespace muster::kubernetes
