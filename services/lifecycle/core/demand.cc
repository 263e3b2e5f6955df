#include "services/lifecycle/core/demand.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/condition_names.h"
#include "services/lifecycle/core/boot_failures.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/node_machine.h"

namespace muster::lifecycle {
namespace {

int64_t Size(const std::vector<const Node*>& nodes) { return static_cast<int64_t>(nodes.size()); }

MachineReturn::Reason ReturnReason(const Node& node) {
  using Reason = MachineReturn::Reason;
  const bool broken = node.state == NodeState::kDeliveryFailed ||
                      node.removal_cause == RemovalCause::kRepair || node.observed.unhealthy ||
                      !node.reserved_desired.empty();
  if (broken) return Reason::kBroken;
  return node.preempt_time != kNever ? Reason::kPreempted : Reason::kReleased;
}

// A broken machine may be mended and granted anew before this pool learns that it was taken back:
// by which grant the Node had it tells that return from the new Node's.
MachineReturn ReturnOf(const Node& node) {
  return {node.machine, ReturnReason(node), node.grant_time};
}

// Collects profiles, only those that are revisions of the pool: an agent may report anything. Most
// Nodes have the same, so that a profile that repeats is not looked up again.
class KnownProfiles {
 public:
  explicit KnownProfiles(const Pool& pool) : pool_(pool) {}

  void Add(const std::string& profile) {
    if (last_ != nullptr && *last_ == profile) return;
    last_ = &profile;
    if (FindRevision(pool_, profile) != nullptr) known_.insert(profile);
  }
  const std::set<std::string>& known() const { return known_; }

 private:
  const Pool& pool_;
  const std::string* last_ = nullptr;
  std::set<std::string> known_;
};

// What a demand is made of, gathered in one walk.
struct Gathered {
  Gathered(const Pool& pool, const std::vector<const Node*>& nodes);

  int64_t kept = 0;         // Nodes whose machine is not on its way back
  bool released = false;    // a machine that is on its way back is not to be replaced
  int64_t scaled_down = 0;  // of scale-downs, on their way back
  bool delivering = false;
  std::vector<MachineReturn> returns = {};
  std::vector<std::string> running_profiles = {};  // that Nodes run or are to boot, sorted
};

Gathered::Gathered(const Pool& pool, const std::vector<const Node*>& nodes) {
  KnownProfiles observed(pool);
  KnownProfiles desired(pool);
  for (const Node* node : nodes) {
    observed.Add(node->observed.node_profile);
    desired.Add(node->desired.node_profile);
    delivering |= IsInProgress(node->state) && node->desired.phase == Phase::kRunning;
    if (!IsReturnable(node->state)) {
      ++kept;
      continue;
    }
    MachineReturn back = ReturnOf(*node);
    released |= back.reason != MachineReturn::Reason::kBroken ||
                node->removal_cause == RemovalCause::kScaleDown;
    scaled_down += node->removal_cause == RemovalCause::kScaleDown ? 1 : 0;
    if (returns.size() < kMaxReturns) returns.push_back(std::move(back));
  }
  std::set<std::string> profiles = observed.known();
  profiles.insert(desired.known().begin(), desired.known().end());
  running_profiles.assign(profiles.begin(), profiles.end());
}

ClaimAsk ClaimOf(const Pool& pool, Gathered& gathered) {
  ClaimAsk ask;
  ask.generation = pool.account.generation;
  int64_t wanted = std::min(pool.wanted_nodes(), pool.account.requested_nodes);
  if (AsksForNoMore(pool)) wanted = std::min(wanted, gathered.kept);
  ask.nodes = std::clamp<int64_t>(pool.wanted_nodes() - pool.account.deferred_nodes, 0, wanted);
  // One request must not give a machine back and get it again: nobody could tell whether it still
  // is the old Node's, and a late copy of the request would take it away from the new one. A broken
  // machine goes to repair instead; but if it leaves by a scale-down, nobody has to come for it, or
  // was asked for early (CountBeyondTarget).
  if (gathered.released) ask.nodes = std::min(ask.nodes, gathered.kept);
  // What the pool waits for keeps its place in the queue.
  if (ask.nodes < wanted) ask.wanted_nodes = wanted;
  // In a zone that the pool holds itself what comes early waits for these.
  if (!pool.deleting())
    ask.leaving_nodes = std::max<int64_t>(0, pool.account.prefill_nodes - gathered.scaled_down);
  ask.returns = std::move(gathered.returns);
  return ask;
}

std::string ForWholeRacks(const TypeFacts& type) {
  return absl::StrCat(" for ", type.id, ", which is granted in whole racks.");
}

// What the pool asks for that its type, granted in whole racks, does not allow, and that a change
// of its spec mends. The API refuses it, unless the catalogue did not know the type yet or said
// otherwise.
void AddFaultsOfRacks(const Spec& spec, const TypeFacts& type, std::vector<std::string>& faults) {
  if (type.nodes_per_rack == 0) return;
  const std::string racks = ForWholeRacks(type);
  const auto refuse = [&](bool asked, absl::string_view field) {
    if (asked) faults.push_back(absl::StrCat("`", field, "` is not available", racks));
  };
  refuse(spec.autoscaling, "autoscaling");
  refuse(spec.prefill && spec.prefill->enabled, "prefill");
  if (spec.target_nodes % type.nodes_per_rack != 0) {
    faults.push_back(
        absl::StrCat("`targetNodes` must be a multiple of ", type.nodes_per_rack, racks));
  }
}

// What the pool asks for and its zone or its type does not offer, in words.
std::vector<std::string> FaultsOfZone(const Pool& pool, const CatalogueFacts& catalogue) {
  const std::optional<TypeFacts>& type = catalogue.type;
  std::vector<std::string> faults;
  if (!type) {
    faults.push_back(absl::StrCat("Instance type ", pool.spec.instance_type, " does not exist."));
  } else if (!catalogue.offered) {
    faults.push_back(absl::StrCat("Instance type ", pool.spec.instance_type,
                                  " is not available in zone ", pool.zone, "."));
  }
  if (!pool.spec.spot()) return faults;
  if (!catalogue.general_access) {
    faults.push_back(absl::StrCat("Zone ", pool.zone, " does not serve spot pools."));
  }
  if (!type) return faults;
  if (type->superchip) {
    faults.push_back(absl::StrCat(NoSpotOnSuperchip(*type), "."));
  } else if (type->nodes_per_rack > 0) {
    faults.push_back(absl::StrCat("`spot` is not available", ForWholeRacks(*type)));
  }
  return faults;
}

}  // namespace

bool UnmetAffinity(const Pool& pool, const PeerReply<ClaimFacts>& claim) {
  return !pool.spec.node_affinity.empty() && !pool.deleting() && claim.here() &&
         claim.value.in_service > 0 && claim.value.matching == 0 &&
         claim.value.matching_in_repair == 0;
}

CatalogueCheck CheckAgainstCatalogue(const Pool& pool, const CatalogueFacts& catalogue) {
  if (!catalogue.known) return {};
  std::vector<std::string> faults = FaultsOfZone(pool, catalogue);
  const bool of_zone = !faults.empty();
  if (catalogue.type) AddFaultsOfRacks(pool.spec, *catalogue.type, faults);
  if (faults.empty()) return {.validity = Validity::kValid};
  const EventReason event = !catalogue.type ? EventReason::kInvalidInstanceType
                            : of_zone       ? EventReason::kInstanceTypeNotInZone
                                            : EventReason::kNodePoolNodesRequestFailed;
  return {Validity::kInvalid, event, absl::StrJoin(faults, " "), of_zone};
}

namespace {

// What configuration says against the pool; empty: nothing. A missing release for what the spec
// leaves open is no fault of the spec, but it counts while the pool never had a configuration to
// boot.
std::string Unresolved(const Pool& pool, const PeerReply<ConfigurationFacts>& configuration) {
  if (pool.deleting() || !configuration.here()) return "";
  const ConfigurationFacts& answer = configuration.value;
  const bool none = answer.active.empty() && pool.status.node_profile.empty();
  return answer.problem_of_spec || none ? answer.problem : "";
}

// The faults of the pool that its status shows; empty: none.
std::string PublishedFaults(const Pool& pool) {
  const Condition* said = FindCondition(pool.status.conditions, condition::kValidated);
  const bool invalid = said != nullptr && said->reason == reason::kInvalid && !pool.deleting();
  return invalid ? said->message.get() : "";
}

// What capacity says against the pool, or said before it fell silent; empty: nothing.
std::string Unsatisfied(const Pool& pool, const PeerReply<ClaimFacts>& claim,
                        absl::string_view published) {
  std::string fault = absl::StrCat("No machine of ", pool.spec.instance_type, " in zone ",
                                   pool.zone, " satisfies the node affinity.");
  const bool said =
      claim.away() && !pool.spec.node_affinity.empty() && absl::StrContains(published, fault);
  return said || UnmetAffinity(pool, claim) ? fault : "";
}

}  // namespace

CatalogueCheck CheckAgainstCatalogue(const Pool& pool, const CatalogueFacts& catalogue,
                                     const PeerReplies& answers) {
  const CatalogueCheck check = CheckAgainstCatalogue(pool, catalogue);
  if (!catalogue.known || !catalogue.type) return check;
  const EventReason event = check.event.value_or(EventReason::kNodePoolNodesRequestFailed);
  std::string published = PublishedFaults(pool);
  if (answers.configuration.away() && !published.empty() &&
      absl::StartsWith(published, check.message)) {
    return {Validity::kInvalid, event, std::move(published), check.of_zone};
  }
  std::vector<std::string> faults = {check.message, Unsatisfied(pool, answers.claim, published),
                                     Unresolved(pool, answers.configuration)};
  std::erase(faults, "");
  if (faults.empty()) return check;
  return {Validity::kInvalid, event, absl::StrJoin(faults, " "), check.of_zone};
}

bool IsPublishedValid(const Pool& pool) {
  return ReasonOf(pool.status.conditions, condition::kValidated) == reason::kValid;
}

bool IsDisabled(const Pool& pool) {
  const NodeConfiguration* active = FindRevision(pool, pool.status.node_profile);
  return active != nullptr && active->disabled;
}

bool AsksForNoMore(const Pool& pool) {
  return ReasonOf(pool.status.conditions, condition::kValidated) == reason::kInvalid ||
         IsDisabled(pool);
}

bool IsReadyToRelease(const Pool& pool, const std::vector<const Node*>& nodes) {
  return pool.deleting() && nodes.empty() && pool.account.requested_nodes == 0 &&
         pool.account.granted_nodes == 0 &&
         ReasonOf(pool.status.conditions, condition::kNodesRemoved) == reason::kComplete;
}

namespace {

// The number up to which the ends of all orders were told.
int64_t OrdersTold(const PoolAccount& account) {
  const int64_t waiting = account.waiting_configuration_order;
  return waiting == 0 ? account.configuration_order
                      : std::min(account.configuration_order, waiting - 1);
}

ConfigurationAsk ConfigurationOf(const Pool& pool, bool gpu, Gathered& gathered) {
  const BootFailures& failures = pool.account.boot_failures;
  const bool known = FindRevision(pool, failures.node_profile) != nullptr;
  return {pool.generation,
          gpu,
          false,
          gathered.delivering,
          known ? failures : BootFailures{},
          std::move(gathered.running_profiles),
          OrdersTold(pool.account)};
}

}  // namespace

int64_t ChargedBefore(const Pool& pool, int64_t nodes) {
  return std::max({pool.account.granted_nodes, pool.account.requested_nodes, nodes});
}

HoldingAsk Restated(const HoldingAsk& ask, const Pool& pool, int64_t nodes) {
  if (ask.release) return ask;
  const int64_t generation = std::max<int64_t>(1, pool.account.generation - 1);
  return {ChargedBefore(pool, nodes), generation, false, true};
}

bool AsksForMore(const HoldingAsk& ask, const Pool& pool, int64_t nodes) {
  return !ask.release && ask.nodes > ChargedBefore(pool, nodes);
}

// By the published validity, a change of which is a new generation: requests of one generation must
// not differ, or a late one could ask for less than was granted already.
int64_t ChargedNodes(const Pool& pool, int64_t nodes) {
  const int64_t target = IsPublishedValid(pool) ? pool.wanted_nodes() : 0;
  return std::max(target, ChargedBefore(pool, nodes));
}

Demand DemandOf(const Pool& pool, const std::vector<const Node*>& nodes,
                const CatalogueFacts& catalogue) {
  const PoolAccount& account = pool.account;
  Demand demand;
  if (IsReadyToRelease(pool, nodes)) {
    demand.holding = HoldingAsk{0, account.generation, true};
    demand.claim = ClaimAsk{0, account.generation, {}, true};
    demand.configuration = ConfigurationAsk{pool.generation, false, true};
    return demand;
  }
  // What capacity says of an affinity is learned by asking, even if nothing is asked for.
  const bool unmet = !pool.spec.node_affinity.empty() && !pool.deleting() &&
                     ReasonOf(pool.status.conditions, condition::kValidated) == reason::kInvalid;
  Gathered gathered(pool, nodes);
  const bool released = IsReleased(pool);
  if (!released) {
    demand.holding = HoldingAsk{ChargedNodes(pool, Size(nodes)), account.generation, false,
                                account.claim_unknown};
  }
  // Asked even for nothing: a claim that grew in a lost future holds machines that the rows do not
  // know.
  const bool unknown = !pool.deleting()
                           ? IsPublishedValid(pool)
                           : ReasonOf(pool.status.conditions, condition::kNodesRemoved) != "";
  const bool any = account.requested_nodes > 0 || !nodes.empty();
  if (!released && (any || unmet || unknown || account.claim_unknown)) {
    demand.claim = ClaimOf(pool, gathered);
  }
  // What cannot be had any more keeps its Nodes: what they boot goes on, promotions, rollbacks and
  // failures too.
  const bool configured = CheckAgainstCatalogue(pool, catalogue).validity == Validity::kValid ||
                          (catalogue.known && catalogue.type && !nodes.empty());
  if (configured && !pool.deleting())
    demand.configuration = ConfigurationOf(pool, catalogue.type->gpus > 0, gathered);
  return demand;
}

}  // namespace muster::lifecycle
