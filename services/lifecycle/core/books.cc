#include "services/lifecycle/core/books.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "services/common/count_text.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/node_machine.h"

namespace muster::lifecycle {
namespace {

// What the books say of one uid.
struct Page {
  const PoolEntry* pool = nullptr;
  std::vector<const HoldingEntry*> holdings = {};
  std::vector<const ClaimEntry*> claims = {};
  bool configured = false;

  int64_t Charged() const {
    int64_t charged = 0;
    for (const HoldingEntry* holding : holdings) charged += holding->nodes;
    return charged;
  }
  std::set<absl::string_view> Machines() const {
    std::set<absl::string_view> machines;
    for (const ClaimEntry* claim : claims)
      machines.insert(claim->machines.begin(), claim->machines.end());
    return machines;
  }
};

using Pages = std::map<absl::string_view, Page>;

Pages PagesOf(const Books& books) {
  Pages pages;
  for (const PoolEntry& pool : books.pools) pages[pool.uid].pool = &pool;
  for (const HoldingEntry& holding : books.holdings)
    pages[holding.pool_uid].holdings.push_back(&holding);
  for (const ClaimEntry& claim : books.claims) pages[claim.pool_uid].claims.push_back(&claim);
  for (const ConfigurationEntry& configuration : books.configurations)
    pages[configuration.pool_uid].configured = true;
  return pages;
}

// The organization that the claim names: itself, or, if it is older than that field, by the pool's
// name, which is for people and need not be one. Empty: neither.
std::string OrganizationOfClaim(const ClaimEntry& claim) {
  if (!claim.organization.empty()) return claim.organization;
  const auto id = ParsePoolName(claim.pool);
  return id ? id->cluster.organization : "";
}

// Gathers what differs.
class Comparison {
 public:
  void Orphan(absl::string_view uid, const Page& page) {
    for (const HoldingEntry* holding : page.holdings) {
      Add(DifferenceKind::kOrphanHolding, uid, holding->pool, holding->name,
          absl::StrCat(CountText(holding->nodes, "Node"),
                       " charged to a pool that does not exist."));
    }
    for (const ClaimEntry* claim : page.claims) {
      Add(DifferenceKind::kOrphanClaim, uid, claim->pool, absl::StrCat("claims/", uid),
          absl::StrCat(CountText(static_cast<int64_t>(claim->machines.size()), "machine"),
                       " held by a pool that does not exist."));
    }
    if (!page.configured) return;
    Add(DifferenceKind::kOrphanConfiguration, uid, "", absl::StrCat("poolConfigurations/", uid),
        "The configuration of a pool that does not exist.");
  }

  void Compare(const Page& page) {
    Keys(page);
    Charges(page);
    Machines(page);
    if (!page.configured && !page.pool->nodes.empty()) {
      Of(page, DifferenceKind::kNoConfiguration, "",
         absl::StrCat(CountText(static_cast<int64_t>(page.pool->nodes.size()), "Node"),
                      " and no configuration."),
         true);
    }
  }

  // A machine is a Node of one pool.
  void Twice(const Books& books) {
    absl::flat_hash_map<absl::string_view, const PoolEntry*> owners;
    for (const PoolEntry& pool : books.pools) {
      for (const NodeEntry& node : pool.nodes) {
        if (node.leaving) continue;
        const auto [owner, fresh] = owners.try_emplace(node.machine, &pool);
        if (fresh) continue;
        Add(DifferenceKind::kMachineTwice, pool.uid, pool.name, node.machine,
            absl::StrCat("Machine ", node.machine, " is a Node of ", owner->second->name,
                         " as well."));
      }
    }
  }

  std::vector<Difference> Take() {
    std::sort(all_.begin(), all_.end(), [](const Difference& a, const Difference& b) {
      return std::tie(a.kind, a.pool_uid, a.subject) < std::tie(b.kind, b.pool_uid, b.subject);
    });
    return std::move(all_);
  }

 private:
  void Add(DifferenceKind kind, absl::string_view uid, absl::string_view pool,
           absl::string_view subject, std::string message, bool passing = false) {
    all_.push_back({kind, std::string(uid), std::string(pool), std::string(subject),
                    std::move(message), passing});
  }
  void Of(const Page& page, DifferenceKind kind, absl::string_view subject, std::string message,
          bool passing) {
    Add(kind, page.pool->uid, page.pool->name, subject, std::move(message), passing);
  }

  void Keys(const Page& page) {
    const PoolEntry& pool = *page.pool;
    const auto own = std::tie(pool.zone, pool.instance_type, pool.compute_class);
    for (const HoldingEntry* holding : page.holdings) {
      if (holding->organization == pool.organization &&
          std::tie(holding->zone, holding->instance_type, holding->compute_class) == own)
        continue;
      Of(page, DifferenceKind::kForeignKey, holding->name,
         "A holding on another key than the pool's.", false);
    }
    for (const ClaimEntry* claim : page.claims) {
      if ((claim->organization.empty() || claim->organization == pool.organization) &&
          std::tie(claim->zone, claim->instance_type, claim->compute_class) == own)
        continue;
      Of(page, DifferenceKind::kForeignKey, absl::StrCat("claims/", pool.uid),
         "A claim of another zone, type or class than the pool's.", false);
    }
  }

  // machines held <= requested <= granted <= charged (demand.h)
  void Charges(const Page& page) {
    const PoolEntry& pool = *page.pool;
    const auto held = static_cast<int64_t>(page.Machines().size());
    const int64_t charged = page.Charged();
    const auto staying = static_cast<int64_t>(std::count_if(
        pool.nodes.begin(), pool.nodes.end(), [](const NodeEntry& node) { return !node.leaving; }));
    const auto nodes = static_cast<int64_t>(pool.nodes.size());
    const int64_t least = std::max({pool.granted, pool.requested, held, staying});
    const int64_t most = std::max({least, pool.wanted, nodes});
    const auto numbers = [&] {
      return absl::StrCat("Charged for ", charged, "; ", CountText(nodes, "Node"), ", ", held,
                          " held, ", pool.requested, " requested, ", pool.granted, " granted, ",
                          pool.wanted, " wanted.");
    };
    if (charged < least) Of(page, DifferenceKind::kUndercharged, "", numbers(), false);
    if (charged > most) Of(page, DifferenceKind::kOvercharged, "", numbers(), true);
    if (held > pool.requested) Of(page, DifferenceKind::kOverheld, "", numbers(), false);
  }

  void Machines(const Page& page) {
    const std::set<absl::string_view> held = page.Machines();
    std::set<absl::string_view> nodes;
    for (const NodeEntry& node : page.pool->nodes) {
      nodes.insert(node.machine);
      if (held.contains(node.machine)) continue;
      Of(page, DifferenceKind::kNodeWithoutMachine, node.machine,
         absl::StrCat("Node ", node.machine, " is a machine that the pool's claim does not hold."),
         node.leaving);
    }
    for (const absl::string_view machine : held) {
      if (nodes.contains(machine)) continue;
      Of(page, DifferenceKind::kMachineWithoutNode, machine,
         absl::StrCat("The claim holds machine ", machine, ", and it is no Node of the pool."),
         true);
    }
  }

  std::vector<Difference> all_;
};

}  // namespace

PoolEntry EntryOf(const Pool& pool, const std::vector<const Node*>& nodes) {
  PoolEntry entry;
  entry.uid = pool.uid;
  entry.name = pool.name;
  entry.organization = std::string(OrganizationOf(pool.name));
  entry.zone = pool.zone;
  entry.instance_type = pool.spec.instance_type;
  entry.compute_class = pool.spec.spot() ? "spot" : "default";
  entry.wanted = pool.wanted_nodes();
  entry.granted = pool.account.granted_nodes;
  entry.requested = pool.account.requested_nodes;
  entry.nodes.reserve(nodes.size());
  for (const Node* node : nodes) entry.nodes.push_back({node->machine, IsReturnable(node->state)});
  return entry;
}

absl::string_view DifferenceKindName(DifferenceKind kind) {
  switch (kind) {
    case DifferenceKind::kOrphanHolding:
      return "orphan_holding";
    case DifferenceKind::kOrphanClaim:
      return "orphan_claim";
    case DifferenceKind::kOrphanConfiguration:
      return "orphan_configuration";
    case DifferenceKind::kForeignKey:
      return "foreign_key";
    case DifferenceKind::kUndercharged:
      return "undercharged";
    case DifferenceKind::kOvercharged:
      return "overcharged";
    case DifferenceKind::kOverheld:
      return "overheld";
    case DifferenceKind::kMachineWithoutNode:
      return "machine_without_node";
    case DifferenceKind::kNodeWithoutMachine:
      return "node_without_machine";
    case DifferenceKind::kMachineTwice:
      return "machine_twice";
    case DifferenceKind::kNoConfiguration:
      return "no_configuration";
  }
  return "";
}

std::vector<Difference> Differences(const Books& books) {
  Comparison comparison;
  for (const auto& [uid, page] : PagesOf(books)) {
    if (page.pool == nullptr) {
      comparison.Orphan(uid, page);
    } else {
      comparison.Compare(page);
    }
  }
  comparison.Twice(books);
  return comparison.Take();
}

std::vector<BooksLine> SideBySide(const Books& books) {
  std::map<std::tuple<std::string, std::string, std::string, std::string>, BooksLine> lines;
  const auto line = [&](const std::string& organization, const auto& entry) -> BooksLine& {
    return lines[{organization, entry.zone, entry.instance_type, entry.compute_class}];
  };
  absl::flat_hash_map<absl::string_view, const PoolEntry*> pools;
  for (const PoolEntry& pool : books.pools) {
    pools[pool.uid] = &pool;
    BooksLine& of = line(pool.organization, pool);
    ++of.pools;
    of.nodes += static_cast<int64_t>(pool.nodes.size());
  }
  for (const HoldingEntry& holding : books.holdings)
    line(holding.organization, holding).charged += holding.nodes;
  for (const ClaimEntry& claim : books.claims) {
    const auto pool = pools.find(claim.pool_uid);
    const std::string organization =
        pool == pools.end() ? OrganizationOfClaim(claim) : pool->second->organization;
    line(organization, claim).machines += static_cast<int64_t>(claim.machines.size());
  }
  for (const ConfigurationEntry& configuration : books.configurations) {
    const auto pool = pools.find(configuration.pool_uid);
    BooksLine& of =
        pool == pools.end() ? lines[{}] : line(pool->second->organization, *pool->second);
    ++of.configurations;
  }
  std::vector<BooksLine> all;
  all.reserve(lines.size());
  for (auto& [key, of] : lines) {
    std::tie(of.organization, of.zone, of.instance_type, of.compute_class) = key;
    all.push_back(std::move(of));
  }
  return all;
}

}  // namespace muster::lifecycle
