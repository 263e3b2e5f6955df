#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/common/event_reasons.h"
#include "services/lifecycle/core/snapshot.h"
#include "services/lifecycle/core/types.h"

// What to ask the other services for one pool. What is asked of quota and capacity follows from the
// rows alone, never from an answer of the same pass: the same rows always ask the same, and the
// account's generation tells requests of different rows apart. (Whether configuration is asked, and
// what it is told of the type, also depends on the catalogue.)
//
// Why nothing is lost or double when a process dies at any moment (PoolAccount):
//   machines that the claim holds <= requested_nodes <= granted_nodes <= the holding
// holds always. To grow, the holding is raised first, then granted and requested are committed,
// then the claim is asked. To shrink, the claim is lowered and machines come back first, then
// requested and granted are committed, then the holding falls. Every machine that the claim holds
// gets a Node, also one whose grant was answered to a process that died. Rows that were restored to
// a past may know of less than the claim holds: the holding does not fall until capacity has said
// how much that is.
namespace muster::lifecycle {

enum class Validity { kValid, kInvalid, kUnknown };

// How the pool stands to the catalogue.
struct CatalogueCheck {
  Validity validity = Validity::kUnknown;
  std::optional<EventReason> event = {};  // kInvalid: the event that tells it
  std::string message = {};               // kInvalid: every fault
  bool of_zone = false;  // kInvalid: (also) by the catalogue: the type, the zone, or spot
};
CatalogueCheck CheckAgainstCatalogue(const Pool& pool, const CatalogueFacts& catalogue);
// True when capacity says that no machine of the type and zone satisfies the pool's node affinity,
// also none in repair.
bool UnmetAffinity(const Pool& pool, const PeerReply<ClaimFacts>& claim);
// Every fault: those of the catalogue, and what capacity said of the node affinity and
// configuration of the releases that the spec names. While capacity does not answer, an affinity
// published as unmet stays a fault; while configuration does not, everything published does.
CatalogueCheck CheckAgainstCatalogue(const Pool& pool, const CatalogueFacts& catalogue,
                                     const PeerReplies& answers);

// For how many Nodes a pool that has `nodes` Nodes has been charged so far, as its row knows it. A
// quota that was restored to a past charges these again first (Reconciler::Restate).
int64_t ChargedBefore(const Pool& pool, int64_t nodes);
// For how many Nodes quota is asked to charge a pool that has `nodes` Nodes.
int64_t ChargedNodes(const Pool& pool, int64_t nodes);

struct MachineReturn {
  enum class Reason { kReleased, kBroken, kPreempted };
  std::string machine = {};
  Reason reason = Reason::kReleased;
  absl::Time grant_time = kNever;  // held by another grant, it stays; kNever: not known
  bool operator==(const MachineReturn&) const = default;
};

struct HoldingAsk {
  int64_t nodes = 0;
  int64_t generation = 0;
  bool release = false;
  bool at_least = false;  // if more is charged already, that stays
  bool operator==(const HoldingAsk&) const = default;
};

struct ClaimAsk {
  int64_t nodes = 0;
  int64_t generation = 0;
  std::vector<MachineReturn> returns = {};
  bool release = false;
  int64_t wanted_nodes = 0;   // in all; 0: no more than `nodes`
  int64_t leaving_nodes = 0;  // of what is held; given back for what is asked for early
  bool operator==(const ClaimAsk&) const = default;
};

struct ConfigurationAsk {
  int64_t generation = 0;
  bool gpu = false;
  bool release = false;
  bool delivering = false;  // Nodes were told to boot and have not registered
  BootFailures boot_failures = {};
  std::vector<std::string> running_profiles = {};  // what Nodes run or are to boot, sorted
  int64_t orders_told = 0;  // orders up to this number were announced to their end
  bool operator==(const ConfigurationAsk&) const = default;
};

// What quota can be asked for a pool although it may have forgotten what others hold: no growth.
// Instead of `ask` it is what a pool that has `nodes` Nodes was charged for already, and no less
// than quota knows, because the answer to a larger grant may have been lost; under the generation
// before the pool's, which is for what it wants now. A release stays one.
HoldingAsk Restated(const HoldingAsk& ask, const Pool& pool, int64_t nodes);

// Whether quota is asked to charge the pool, which has `nodes` Nodes, for more than it was before.
bool AsksForMore(const HoldingAsk& ask, const Pool& pool, int64_t nodes);

// What one pass asks; nullopt: that service is not asked.
struct Demand {
  std::optional<HoldingAsk> holding = {};
  std::optional<ClaimAsk> claim = {};
  std::optional<ConfigurationAsk> configuration = {};
  bool operator==(const Demand&) const = default;
};

// Pure. `nodes`: the pool's.
Demand DemandOf(const Pool& pool, const std::vector<const Node*>& nodes,
                const CatalogueFacts& catalogue);

// True when the pool's status says that it is invalid, or that its active configuration is
// disabled: it asks capacity for nothing beyond the Nodes it has.
bool AsksForNoMore(const Pool& pool);

// True when the pool's status says that it is valid: only then is it charged for Nodes to come.
bool IsPublishedValid(const Pool& pool);

// True when no further Node may boot into the pool's active configuration.
bool IsDisabled(const Pool& pool);

// True when everything about a deleted pool is settled but the release of its holding, claim and
// configuration.
bool IsReadyToRelease(const Pool& pool, const std::vector<const Node*>& nodes);

}  // namespace muster::lifecycle
