#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "services/capacity/core/arrivals.h"
#include "services/capacity/core/decide.h"
#include "services/capacity/core/errors.h"
#include "services/capacity/core/gang.h"
#include "services/capacity/core/machine_state.h"
#include "services/capacity/core/parts.h"
#include "services/capacity/core/serve.h"
#include "services/common/fnv.h"
#include "services/common/generation.h"
#include "services/common/released_pool.h"
#include "services/common/status_macros.h"

namespace muster::capacity {
namespace {

// Tells one list of returns from another: FNV-1a, never 0 for a list that is not empty. It is
// stored, so it must stay as it is, without `grant_time`, too: an older caller leaves that out.
int64_t DigestOf(const std::vector<MachineReturn>& returns) {
  if (returns.empty()) return 0;
  uint64_t digest = Fnv1a("");
  for (const MachineReturn& given : returns) {
    const char end[] = {'\0', static_cast<char>(given.reason)};
    digest = Fnv1a({end, sizeof(end)}, Fnv1a(given.machine, digest));
  }
  return digest == 0 ? 1 : static_cast<int64_t>(digest);
}

ClaimRow NewClaim(const SyncClaim& command) {
  ClaimRow claim;
  claim.pool_uid = command.pool_uid;
  claim.generation = command.generation;
  claim.zone = command.zone;
  claim.instance_type = command.instance_type;
  claim.compute_class = command.compute_class;
  claim.nodes = command.nodes;
  claim.priority = command.priority;
  claim.pool = command.pool;
  claim.affinity = command.affinity;
  claim.gang = command.gang;
  claim.organization = command.organization;
  claim.leaving_nodes = command.leaving_nodes;
  if (command.leaving_nodes > 0) claim.leaving_generation = command.generation;
  return claim;
}

// The machine that is given back, if the claim holds it by the grant that is meant. One that was
// given back before, mended, and granted anew is not. Its grants have different times: the lane's
// clock does not go back, and commits lie between them.
const MachineRow* FindHeld(const State& state, const MachineReturn& given, const std::string& uid) {
  const MachineRow* row = state.FindMachine(given.machine);
  if (row == nullptr || row->claim != uid) return nullptr;
  return given.grant_time.value_or(row->state_time) == row->state_time ? row : nullptr;
}

// Whether the command may change the claim, which exists; the error says why not.
absl::Status CheckKnown(const State& state, const ClaimRow& claim, const SyncClaim& command) {
  RETURN_IF_ERROR(CheckGeneration(claim.Key(), command.generation, claim.generation));
  if (command.zone != claim.zone || command.instance_type != claim.instance_type ||
      command.compute_class != claim.compute_class ||
      (command.organization != claim.organization && !claim.organization.empty())) {
    return error::ClaimChanged(claim);
  }
  if (command.generation == claim.generation) {
    // Other nodes under the same generation are a late or early copy and not read; other returns
    // would be lost.
    const bool repeated = !command.release && (command.returns.empty() ||
                                               DigestOf(command.returns) == claim.returns_digest);
    return repeated ? absl::OkStatus() : error::GenerationReused(claim);
  }
  if (command.release) {
    int64_t held = state.FootprintOf(claim.pool_uid).held();
    for (const MachineReturn& given : command.returns) {
      if (FindHeld(state, given, claim.pool_uid) != nullptr) --held;
    }
    if (held > 0) return error::ClaimHoldsMachines(claim, held);
  }
  return absl::OkStatus();
}

void TakeBack(StagedState<State>& staged, const MachineReturn& given, ClaimRow& claim,
              absl::Time now) {
  const MachineRow* held = FindHeld(staged.state(), given, claim.pool_uid);
  if (held == nullptr) return;
  const bool broken = given.reason == ReturnReason::kBroken;
  MachineRow machine = *held;
  machine.state =
      Next(held->state, broken ? MachineEvent::kBroken : MachineEvent::kGivenBack).value();
  machine.state_time = now;
  machine.claim.clear();
  machine.compute_class = ComputeClass::kDefault;
  machine.reclaim_time.reset();
  machine.earmark.clear();
  const absl::Time asked = machine.request_time.value_or(now);
  if (broken) NoteLost(claim, asked, now);
  if (broken) Ask(claim, asked, 1, machine.place_time.value_or(asked));
  machine.request_time.reset();
  machine.place_time.reset();
  staged.Put(std::move(machine));
}

// When what a gang adds counts as asked for: not at the time of a request that it has already, as
// one that the same commit decided. They would be one: granted at once together, or this one in
// pieces beside what the other holds.
absl::Time AskedAlone(const ClaimRow& claim, const Ages& ages, absl::Time asked) {
  while (claim.gang && (ages.contains(asked) || HasPart(claim, asked))) asked += kAskedApart;
  return asked;
}

// Makes the outstanding parts what `nodes` and the machines held demand.
// Of what is withheld no more is left than `wanted_nodes` demands beyond that.
void RecountParts(const State& state, ClaimRow& claim, int64_t wanted_nodes, absl::Time asked) {
  const Footprint& own = state.FootprintOf(claim.pool_uid);
  const int64_t held = own.held();
  const int64_t wanted = std::max<int64_t>(0, claim.nodes - held);
  int64_t outstanding = Outstanding(claim.parts);
  if (outstanding > wanted) Cancel(claim, outstanding - wanted);
  if (outstanding < wanted) outstanding += TakeUp(claim, wanted - outstanding);
  if (outstanding < wanted) {
    const absl::Time alone = AskedAlone(claim, own.ages, asked);
    Ask(claim, alone, wanted - outstanding, alone);
  }
  CancelWithheld(claim, std::max<int64_t>(0, wanted_nodes - held - wanted));
}

void Remember(StagedState<State>& staged, const SyncClaim& command, absl::Time now,
              const Policy& policy) {
  RememberReleased(staged, {command.pool_uid, command.generation, now}, policy.released_keep);
}

// Whether the command may be carried out though there is no claim; the error says why not.
absl::Status CheckNew(const State& state, const SyncClaim& command) {
  const ReleasedPool* released = FindReleased(state, command.pool_uid);
  if (released == nullptr)
    return CheckGeneration(ClaimName(command.pool_uid), command.generation, 0);
  // A release that is repeated is answered as the first one was.
  if (command.release) return absl::OkStatus();
  return muster::error::PoolReleased(ClaimName(command.pool_uid), *released);
}

// What the claim was by earlier commands; what the last one withheld is put back.
void CarryOver(const ClaimRow& known, ClaimRow& claim) {
  claim.parts = known.parts;
  claim.places = known.places;
  claim.lost = known.lost;
  claim.reclaim_generation = known.reclaim_generation;
  if (known.withheld_generation == known.generation) {
    claim.withheld_parts = known.withheld_parts;
    claim.withheld_places = known.withheld_places;
    TakeUp(claim, Outstanding(claim.withheld_parts));
  }
}

// What became of a command that is not refused.
struct Applied {
  bool repeated = false;
  std::optional<ClaimRow> removed = {};  // the claim as it was last, of a release
};

// Carries the command out; nobody is served yet. `asked`: when what it adds counts as asked for.
absl::StatusOr<Applied> Apply(StagedState<State>& staged, const SyncClaim& command, absl::Time now,
                              absl::Time asked, const Policy& policy) {
  const State& state = staged.state();
  const ClaimRow* known = state.FindClaim(command.pool_uid);
  ClaimRow claim = NewClaim(command);
  if (known == nullptr) {
    RETURN_IF_ERROR(CheckNew(state, command));
    if (command.release) {
      Remember(staged, command, now, policy);
      return Applied{.removed = std::move(claim)};
    }
  } else {
    RETURN_IF_ERROR(CheckKnown(state, *known, command));
    if (known->generation == command.generation) return Applied{.repeated = true};
    CarryOver(*known, claim);
  }
  claim.returns_digest = DigestOf(command.returns);
  for (const MachineReturn& given : command.returns) TakeBack(staged, given, claim, now);
  if (command.wanted_nodes > command.nodes) {
    JoinParts(claim, state.FootprintOf(claim.pool_uid).ages);
    Withhold(claim);
  }
  RecountParts(state, claim, command.wanted_nodes, asked);
  if (!claim.withheld_parts.empty()) claim.withheld_generation = command.generation;
  JoinParts(claim, state.FootprintOf(claim.pool_uid).ages);
  ForgetLost(claim);
  if (command.release) {
    staged.Delete<ClaimRow>(claim.Key());
    Remember(staged, command, now, policy);
    return Applied{.removed = std::move(claim)};
  }
  staged.Put(std::move(claim));
  return Applied{};
}

ClaimView ViewAfter(const State& state, const SyncClaim& command,
                    const std::optional<ClaimRow>& removed) {
  return ViewOf(state, removed ? *removed : *state.FindClaim(command.pool_uid),
                command.known_machines);
}

// By pool uid, the machines that the changes after the mark brought to a claim, and that it still
// holds.
std::map<std::string, std::vector<std::string>> GrantsAfter(const StagedState<State>& staged,
                                                            size_t mark) {
  using Row = std::shared_ptr<const MachineRow>;
  std::map<std::string, std::vector<std::string>> grants;
  for (size_t i = mark; i < staged.changes().size(); ++i) {
    const Row* after = std::get_if<Row>(&staged.changes()[i].change.row);
    if (after == nullptr || *after == nullptr || (*after)->claim.empty()) continue;
    const Row& before = std::get<Row>(staged.before(i).change.row);
    if (before != nullptr && before->claim == (*after)->claim) continue;
    if (staged.state().FindMachine((*after)->id)->claim != (*after)->claim) continue;
    grants[(*after)->claim].push_back((*after)->id);
  }
  for (auto& [uid, ids] : grants) {
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  }
  return grants;
}

}  // namespace

absl::StatusOr<ClaimView> Decide(StagedState<State>& staged, const SyncClaim& command,
                                 absl::Time now, const Policy& policy) {
  return std::move(Decide(staged, SyncClaims{{command}}, now, policy)[0]);
}

std::vector<absl::StatusOr<ClaimView>> Decide(StagedState<State>& staged, const SyncClaims& command,
                                              absl::Time now, const Policy& policy) {
  const size_t mark = staged.Mark();
  std::vector<absl::StatusOr<Applied>> applied;
  applied.reserve(command.claims.size());
  std::map<InventoryKey, bool> inventories;  // whether anything changed
  absl::Time asked = now;
  for (const SyncClaim& claim : command.claims) {
    const size_t before = staged.Mark();
    applied.push_back(Apply(staged, claim, now, asked, policy));
    asked += kAskedApart;
    if (applied.back().ok())
      inventories[{claim.zone, claim.instance_type}] |= staged.Mark() > before;
  }
  for (const auto& [key, changed] : inventories) {
    if (changed)
      ServeQueue(staged, key, now, policy);
    else
      ServeOverdueGangs(staged, key, now, policy);
  }
  NoteArrivals(staged, mark, now);
  auto grants = GrantsAfter(staged, mark);
  std::vector<absl::StatusOr<ClaimView>> views;
  views.reserve(applied.size());
  for (size_t i = 0; i < applied.size(); ++i) {
    if (!applied[i].ok()) {
      views.emplace_back(applied[i].status());
      continue;
    }
    views.emplace_back(ViewAfter(staged.state(), command.claims[i], applied[i]->removed));
    // What the claim of a repeated request got now is due to another request of the batch, or to
    // time.
    if (!applied[i]->repeated) views.back()->granted = grants[command.claims[i].pool_uid];
  }
  return views;
}

size_t Decide(StagedState<State>& staged, const EndKeeps&, absl::Time now, const Policy& policy) {
  const size_t mark = staged.Mark();
  std::vector<InventoryKey> keys;
  for (const auto& [key, inventory] : staged.state().inventories()) keys.push_back(key);
  for (const InventoryKey& key : keys) ServeOverdueGangs(staged, key, now, policy);
  return staged.Mark() - mark;
}

namespace {

// Of one line of gangs, see NextKeepEnd.
absl::Time KeepEndIn(const Queue::Line& gangs, const Policy& policy, absl::Time after) {
  // The time is over for gangs that asked then or before.
  const absl::Time over = after - policy.gang_keep;
  const auto it = std::find_if(
      gangs.lower_bound({ComputeClass::kDefault, over, ""}), gangs.end(), [&](const auto& place) {
        return std::get<0>(place) != ComputeClass::kDefault || std::get<1>(place) > over;
      });
  const bool is_there = it != gangs.end() && std::get<0>(*it) == ComputeClass::kDefault;
  return is_there ? std::get<1>(*it) + policy.gang_keep : absl::InfiniteFuture();
}

}  // namespace

absl::Time NextKeepEnd(const State& state, const Policy& policy, absl::Time after) {
  absl::Time next = absl::InfiniteFuture();
  // Nothing is kept; what an earlier policy kept is given away once, at the start.
  if (policy.gang_keep <= absl::ZeroDuration() && after != absl::InfinitePast()) return next;
  for (const auto& [key, inventory] : state.inventories()) {
    for (const auto& [selector, line] : inventory.queue().lines()) {
      if (selector.gang) next = std::min(next, KeepEndIn(line, policy, after));
    }
  }
  return next;
}

std::vector<absl::StatusOr<ClaimView>> Check(StagedState<State>& staged, SyncClaims command,
                                             absl::Time now, const Policy& policy) {
  for (SyncClaim& claim : command.claims) {
    const ClaimRow* known = staged.state().FindClaim(claim.pool_uid);
    claim.generation =
        CheckedGeneration(claim.generation, known == nullptr ? 0 : known->generation);
  }
  return Decide(staged, command, now, policy);
}

}  // namespace muster::capacity
