#include "services/lifecycle/core/names.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "services/common/fnv.h"
#include "services/common/resource_name.h"
#include "services/lifecycle/core/limits.h"

namespace muster::lifecycle {
namespace {

// The part of `name` before its `slashes`-th slash.
absl::string_view Before(absl::string_view name, int slashes) {
  size_t at = 0;
  for (; at < name.size(); ++at) {
    if (name[at] == '/' && --slashes == 0) break;
  }
  return name.substr(0, at);
}

bool IsPoolId(absl::string_view text) { return IsDnsSubdomain(text, kMaxPoolIdBytes); }

}  // namespace

std::string ClusterName(const ClusterId& id) {
  return absl::StrCat("organizations/", id.organization, "/clusters/", id.cluster);
}

std::string PoolName(const PoolId& id) {
  return absl::StrCat(ClusterName(id.cluster), "/nodePools/", id.pool);
}

std::string NodeName(absl::string_view pool_name, absl::string_view machine) {
  return absl::StrCat(pool_name, "/nodes/", machine);
}

std::string EventName(absl::string_view cluster_name, absl::string_view id) {
  return absl::StrCat(cluster_name, "/events/", id);
}

// '0' comes right after '/'.
NameRange PoolNamesOf(absl::string_view cluster_name) {
  return {absl::StrCat(cluster_name, "/nodePools/"), absl::StrCat(cluster_name, "/nodePools0")};
}

NameRange NodeNamesOf(absl::string_view pool_name) {
  return {NodeName(pool_name, ""), absl::StrCat(pool_name, "/nodes0")};
}

std::optional<ClusterId> ParseClusterName(absl::string_view name) {
  const auto parts = MatchName("organizations/*/clusters/*", name);
  if (!parts || !IsDnsLabel((*parts)[0]) || !IsDnsLabel((*parts)[1])) return std::nullopt;
  return ClusterId{(*parts)[0], (*parts)[1]};
}

std::optional<PoolId> ParsePoolName(absl::string_view name) {
  const auto parts = MatchName("organizations/*/clusters/*/nodePools/*", name);
  if (!parts || !IsDnsLabel((*parts)[0]) || !IsDnsLabel((*parts)[1]) || !IsPoolId((*parts)[2])) {
    return std::nullopt;
  }
  return PoolId{{(*parts)[0], (*parts)[1]}, (*parts)[2]};
}

std::optional<NodeId> ParseNodeName(absl::string_view name) {
  const auto parts = MatchName("organizations/*/clusters/*/nodePools/*/nodes/*", name);
  if (!parts || !IsDnsLabel((*parts)[0]) || !IsDnsLabel((*parts)[1]) || !IsPoolId((*parts)[2]) ||
      !IsDnsSubdomain((*parts)[3])) {
    return std::nullopt;
  }
  return NodeId{{{(*parts)[0], (*parts)[1]}, (*parts)[2]}, (*parts)[3]};
}

absl::string_view ClusterNameOf(absl::string_view name) { return Before(name, 4); }

absl::string_view PoolNameOf(absl::string_view node_name) { return Before(node_name, 6); }

absl::string_view OrganizationOf(absl::string_view name) { return LastIdOf(Before(name, 2)); }

std::string EventId(absl::string_view pool_uid, absl::string_view object, absl::string_view reason,
                    absl::string_view message) {
  uint64_t high = Fnv1a("");
  uint64_t low = 0x6d75737465722121ULL;
  for (const absl::string_view part : {pool_uid, object, reason, message}) {
    for (uint64_t* hash : {&high, &low})  // 0xff stands in no UTF-8 text: it ends a part
      *hash = Fnv1a("\xff", Fnv1a(part, *hash));
  }
  return absl::StrFormat("%016x%016x", high, low);
}

}  // namespace muster::lifecycle
