#pragma once

#include <optional>
#include <string>

#include "nlohmann/json.hpp"

namespace muster::testing {

using Json = nlohmann::json;

// Who writes, as `metadata.managedFields` names it.
struct Writer {
  std::string manager = {};
  std::string subresource = {};
  std::string api_version = {};
  std::string now = {};  // RFC 3339
};

// The managedFields after an edit that is not an apply: the writer now owns what the edit touched.
Json OwnershipAfter(const Json& before, const Json& after, const Writer& writer);

// The object after a server-side apply; nullopt: nothing changes. `live` is null for a new object.
// A field that the writer applied before and does not apply now is removed, unless another manager
// owns it. Throws Refusal (409) if, without `force`, another manager's field would change.
std::optional<Json> Apply(const Json& live, const Json& config, const Writer& writer, bool force);

}  // namespace muster::testing
