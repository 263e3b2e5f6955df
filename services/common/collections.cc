#include "services/common/collections.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"

namespace muster {
namespace {

struct Collection {
  absl::string_view id;
  absl::string_view service;
};
constexpr Collection kCollections[] = {{"quotas", "quota"},
                                       {"holdings", "quota"},
                                       {"zones", "capacity"},
                                       {"instanceTypes", "capacity"},
                                       {"machines", "capacity"},
                                       {"claims", "capacity"},
                                       {"releases", "configuration"},
                                       {"nodeProfiles", "configuration"},
                                       {"poolConfigurations", "configuration"},
                                       {"clusters", "lifecycle"},
                                       {"nodePools", "lifecycle"},
                                       {"nodes", "lifecycle"},
                                       {"events", "lifecycle"},
                                       {"leases", "lifecycle"}};

}  // namespace

absl::string_view CollectionOf(absl::string_view name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '/');
  return parts.size() < 2 ? "" : parts[parts.size() - 2];
}

absl::string_view ServiceOfCollection(absl::string_view collection) {
  const auto* found = std::find_if(std::begin(kCollections), std::end(kCollections),
                                   [&](const Collection& known) { return known.id == collection; });
  return found == std::end(kCollections) ? "" : found->service;
}

}  // namespace muster
