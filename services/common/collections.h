#pragma once

#include "absl/strings/string_view.h"

namespace muster {

// The collection that a resource name is in: `quotas` of `organizations/acme/quotas/q`; empty: it
// is in none.
absl::string_view CollectionOf(absl::string_view name);

// The service that keeps the resources of a collection: `capacity`, `configuration`, `lifecycle` or
// `quota`; empty: none.
absl::string_view ServiceOfCollection(absl::string_view collection);

}  // namespace muster
