#pragma once

#include <array>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "muster/capacity/v1/capacity.pb.h"
#include "muster/configuration/v1/configuration.pb.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"
#include "muster/quota/v1/quota.pb.h"

// The kinds of resources that can be shown.
namespace muster::musterctl {

enum class Kind {
  kNodePool,
  kNode,
  kEvent,
  kCluster,
  kHolding,
  kQuota,
  kZone,
  kInstanceType,
  kMachine,
  kClaim,
  kRelease,
  kConfiguration,
  kNodeProfile,
};

// A resource of any kind; the alternatives are in the order of Kind.
using AnyKind = std::variant<lifecycle::v1::NodePool, lifecycle::v1::Node, lifecycle::v1::Event,
                             lifecycle::v1::Cluster, quota::v1::Holding, quota::v1::Quota,
                             capacity::v1::Zone, capacity::v1::InstanceType, capacity::v1::Machine,
                             capacity::v1::Claim, configuration::v1::Release,
                             configuration::v1::PoolConfiguration, configuration::v1::NodeProfile>;

// One resource, and where it was read.
struct Item : AnyKind {
  using AnyKind::AnyKind;

  // The name (of the context) of the cell that it is in; empty: there is one server.
  std::string cell = {};
};

// The kind that a word such as `nodepools`, `nodepool` or `np` means, in upper or lower case;
// nullopt: none.
std::optional<Kind> ParseKind(absl::string_view word);
// Singular, as printed: `nodepool`.
absl::string_view KindWord(Kind kind);
// Every word that ParseKind knows.
std::vector<std::string> AllKindWords();
// Every kind, in the order of Kind.
const std::vector<Kind>& AllKinds();
// Plural and short word; empty: it has none.
absl::string_view KindPlural(Kind kind);
absl::string_view KindBrief(Kind kind);
// Every kind in plural, for messages.
std::string KindWords();

inline Kind KindOf(const Item& item) { return static_cast<Kind>(item.index()); }
// The resource name, e.g. `organizations/acme/clusters/example/nodePools/train`.
const std::string& NameOf(const Item& item);
// The id that people use: the last part of the name; of a release `channel~component~version`, of a
// configuration its pool's uid, of a holding QUOTA/UID.
std::string IdOf(const Item& item);
std::string IdOfName(Kind kind, absl::string_view name);
// The name of the cluster that a NodePool or Node of that whole name is in.
inline std::string ClusterOf(const std::string& name) {
  return name.substr(0, name.find("/nodePools/"));
}
// The resource name of a release, from its parts or its id; nullopt: the id has not the form of
// one.
std::string ReleaseName(absl::string_view channel, absl::string_view component,
                        absl::string_view version);
std::optional<std::string> ReleaseName(absl::string_view id);

}  // namespace muster::musterctl
