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

// The managedFields after an edit that was no apply: what it touched is the writer's now.
Json OwnershipAfter(const Json& before, const Json& after, const Writer& writer);

// Server-side apply. `live` is null for a new object. Nullopt: nothing changes. What the writer
// applied before and does not now goes, unless somebody else owns it. Throws Refusal (409) when
// `force` is not set and a field that another manager owns would change.
std::optional<Json> Apply(const Json& live, const Json& config, const Writer& writer, bool force);

}  // namespace muster::testing
