#include "tests/model/beside.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/capacity/core/explain.h"
#include "services/capacity/core/finder.h"
#include "services/capacity/core/machine_state.h"
#include "services/capacity/core/parts.h"

namespace muster::model {

using capacity::ClaimRow;
using capacity::MachineRow;

Beside::Beside(int32_t nodes_per_rack) : model_(nodes_per_rack) {
  capacity::InstanceTypeRow type{.id = kType, .gpus = 8, .gpu_model = "A100", .vcpus = 128};
  type.nodes_per_rack = nodes_per_rack;
  Do(capacity::UpdateInstanceType{type});
  SetOffer(true, true);
}

template <class Command>
void Beside::Do(const Command& command) {
  StagedState<capacity::State> staged(state_, revision_);
  (void)Decide(staged, command, now_);
  revision_ = staged.revision();
}

bool Beside::SetOffer(bool offered, bool general) {
  capacity::ZoneRow zone{.id = kZone};
  if (offered) zone.instance_types = {kType};
  if (!general) zone.access = capacity::ZoneAccess::kDedicated;
  Do(capacity::UpdateZone{zone});
  return model_.SetOffer(offered, general);
}

bool Beside::Register(const std::vector<MachineRow>& machines) {
  capacity::RegisterMachines command{machines};
  for (MachineRow& machine : command.machines) {
    machine.zone = kZone;
    machine.instance_type = kType;
  }
  Do(command);
  return model_.Register(machines);
}

std::vector<capacity::MachineReturn> Beside::ReturnsOf(const Ask& ask,
                                                       const std::string& uid) const {
  std::vector<std::string> held;
  for (const bool reclaiming : {true, false}) {
    for (const auto& [id, machine] : model_.books().machines) {
      if (machine.claim == uid && machine.reclaim_time.has_value() == reclaiming)
        held.push_back(id);
    }
  }
  std::vector<capacity::MachineReturn> returns;
  if (ask.release) {
    for (const std::string& id : held) returns.push_back({id, capacity::ReturnReason::kReleased});
    return returns;
  }
  std::set<size_t> given;
  for (const Return& asked : ask.returns) {
    if (asked.nth < held.size() && given.insert(asked.nth).second)
      returns.push_back({held[asked.nth], asked.reason});
  }
  return returns;
}

capacity::SyncClaim Beside::CommandFor(const Ask& ask, const std::set<std::string>& before) {
  const std::string uid = absl::StrCat(ask.pool, "-", lives_[ask.pool]);
  const auto& claims = model_.books().claims;
  const auto known = claims.find(uid);
  capacity::SyncClaim command = ask.wanted;
  command.pool_uid = uid;
  command.zone = kZone;
  command.instance_type = kType;
  command.generation = known == claims.end() ? 1 : known->second.generation + 1;
  command.release = ask.release;
  if (ask.release) {
    command.nodes = 0;
    ++lives_[ask.pool];
    if (known != claims.end()) command.compute_class = known->second.compute_class;
  } else if (ask.repeat && command.generation > 1) {
    --command.generation;
    return command;
  }
  // A request cannot give back what another request of the same call brings.
  if (before.count(ask.pool) == 0) command.returns = ReturnsOf(ask, uid);
  if (ask.rest) {
    command.wanted_nodes = command.nodes;
    const int64_t held = known == claims.end() ? 0 : Held(model_.books(), known->second);
    const auto kept = held - static_cast<int64_t>(command.returns.size());
    command.nodes = std::min(command.nodes, kept);
  }
  return command;
}

bool Beside::Sync(const std::vector<Ask>& asks) {
  capacity::SyncClaims command;
  std::set<std::string> pools;
  for (const Ask& ask : asks) {
    if (pools.count(ask.pool) > 0) continue;
    command.claims.push_back(CommandFor(ask, pools));
    pools.insert(ask.pool);
  }
  Do(command);
  return model_.Sync(command.claims, now_);
}

// What the core knows after a restart follows from the rows, in whatever order these come.
void Beside::Restart() {
  std::vector<Revised<capacity::State::Change>> rows;
  state_.ForEach([&](const auto& row) { rows.push_back(row); });
  std::reverse(rows.begin(), rows.end());
  capacity::State rebuilt;
  for (const auto& row : rows) rebuilt.Apply(row.change, row.revision);
  state_ = std::move(rebuilt);
}

Guide Beside::MachinesNow() const {
  Guide guide;
  for (const auto& [key, versioned] : state_.table<MachineRow>().rows())
    guide[versioned.row->id] = *versioned.row;
  return guide;
}

std::string Beside::Take(const Step& step) {
  now_ += step.wait;
  bool changed = false;
  switch (step.kind) {
    case StepKind::kRegister:
      changed = Register(step.machines);
      break;
    case StepKind::kSetState:
      Do(step.state);
      changed = model_.SetState(step.state.id, step.state.state);
      break;
    case StepKind::kSetOffer:
      changed = SetOffer(step.offered, step.general);
      break;
    case StepKind::kSync:
      changed = Sync(step.asks);
      break;
    case StepKind::kRestart:
      Restart();
      return "";
  }
  // Asked once more, whoever is asked for shows that a gang's time is over.
  if (changed || (step.kind == StepKind::kSync && model_.IsOverdue(now_, {})))
    model_.Finish(MachinesNow(), now_, {});
  const std::string text = Compare();
  return text.empty() ? CompareForetold() : text;
}

namespace {

std::string Say(const MachineRow& machine) {
  return absl::StrCat(capacity::NameOf(machine.state), " ", machine.claim);
}
std::string Say(const Machine& machine) {
  return absl::StrCat(capacity::NameOf(machine.state), " ", machine.claim);
}

absl::Time PlaceTimeOf(const MachineRow& row) { return row.place_time.value_or(*row.request_time); }

std::string SayAges(const MachineRow& row, const Machine& machine, absl::Time now) {
  return absl::StrCat(", asked for -", absl::FormatDuration(now - *row.request_time), " and -",
                      absl::FormatDuration(now - machine.request_time), ", at the places of -",
                      absl::FormatDuration(now - PlaceTimeOf(row)), " and -",
                      absl::FormatDuration(now - machine.place_time), ", held since -",
                      absl::FormatDuration(now - row.state_time), " and -",
                      absl::FormatDuration(now - machine.held_since));
}

template <class Parts>
std::string SayParts(const Parts& parts, absl::Time (*time)(const typename Parts::value_type&),
                     absl::Time now) {
  std::string text;
  for (const auto& part : parts)
    absl::StrAppend(&text, " ", part.nodes, "@-", absl::FormatDuration(now - time(part)));
  return text;
}

std::string SayPlaces(const std::vector<Place>& places, absl::Time now) {
  std::string text;
  for (const Place& place : places)
    absl::StrAppend(&text, " @-", absl::FormatDuration(now - place.time), " ", place.asked_by);
  return text;
}

constexpr const char* kReasons[] = {"SUFFICIENT", "QUEUED",      "PARTIAL",      "NONE",
                                    "UNKNOWN",    "NOT_IN_ZONE", "PARTIAL_AFF.", "NONE_AFF."};

}  // namespace

std::string Beside::Compare() const {
  std::string text;
  for (const auto& [id, row] : MachinesNow()) {
    const Machine& machine = model_.books().machines.at(id);
    const bool same_ages = row.claim.empty() || (*row.request_time == machine.request_time &&
                                                 PlaceTimeOf(row) == machine.place_time &&
                                                 row.state_time == machine.held_since);
    if (row.state != machine.state || row.claim != machine.claim || !same_ages ||
        row.reclaim_time != machine.reclaim_time)
      absl::StrAppend(&text, id, ": core ", Say(row), ", model ", Say(machine),
                      same_ages ? "" : SayAges(row, machine, now_), "\n");
  }
  for (const auto& [uid, claim] : model_.books().claims)
    absl::StrAppend(&text, CompareClaim(claim));
  return text;
}

std::string Beside::CompareClaim(const Claim& claim) const {
  const ClaimRow* row = state_.FindClaim(claim.uid);
  if (row == nullptr) return absl::StrCat(claim.uid, ": the core has no such claim\n");
  std::string text;
  const auto core = SayParts(
      PartsInQueue(*row), +[](const capacity::ClaimPart& part) { return part.request_time; }, now_);
  const auto model = SayParts(
      claim.requests, +[](const Request& request) { return request.time; }, now_);
  if (core != model)
    absl::StrAppend(&text, claim.uid, " waits: core", core, ", model", model, "\n");
  std::vector<Place> places;
  for (const capacity::ClaimPlace& place : PlacesInQueue(*row))
    places.insert(places.end(), static_cast<size_t>(place.nodes), {place.time, place.asked_by});
  if (places != claim.places)
    absl::StrAppend(&text, claim.uid, " has places: core", SayPlaces(places, now_), ", model",
                    SayPlaces(claim.places, now_), "\n");
  const auto view = ViewOf(state_, *row);
  const auto told = view.queue.value_or(capacity::QueuePlace());
  const auto place = PlaceOf(model_.books(), claim);
  if (told != place)
    absl::StrAppend(&text, claim.uid, " stands: core ", told.place, " behind ", told.nodes_ahead,
                    ", model ", place.place, " behind ", place.nodes_ahead, "\n");
  const auto due = ReasonOf(model_.books(), claim);
  if (view.reason != due)
    absl::StrAppend(&text, claim.uid, " is told: core ", kReasons[static_cast<int>(view.reason)],
                    ", model ", kReasons[static_cast<int>(due)], "\n");
  return text;
}

std::string Beside::CompareFound(StagedState<capacity::State>& staged, capacity::ComputeClass asked,
                                 int64_t nodes) const {
  // Behind all that wait.
  const absl::Time later = now_ + absl::Milliseconds(1);
  const capacity::PlacementQuery query{{{kType, nodes, asked}}};
  const auto told =
      FindPlacements(state_, query, capacity::Policy().KeepsAfter(later))[0].placements[0];
  capacity::SyncClaim claim{.pool_uid = "foretold", .generation = 1, .zone = kZone};
  claim.instance_type = kType;
  claim.compute_class = asked;
  claim.nodes = nodes;
  claim.organization = "of its own";
  const size_t mark = staged.Mark();
  (void)Decide(staged, capacity::SyncClaims{{claim}}, later);
  const int64_t held = state_.FootprintOf(claim.pool_uid).held();
  const capacity::Inventory* inventory = state_.FindInventory({kZone, kType});
  const int64_t coming = inventory == nullptr ? 0 : inventory->spot().CoveredFor(claim.pool_uid);
  staged.RollBack(mark);
  const bool likely = told.availability == capacity::Availability::kLikely;
  const bool possibly = told.availability == capacity::Availability::kPossibly;
  if (likely == (held == nodes) && (likely || possibly == (held + coming == nodes))) return "";
  if (!likely && !possibly && !IsToldExactly()) return "";
  return absl::StrCat("the finder tells of ", nodes, capacity::NameOf(asked), ": ",
                      static_cast<int>(told.availability), ", ", told.free, " free, ",
                      told.reclaimable, " reclaimable; it got ", held, ", and ", coming,
                      " are reclaimed\n");
}

// What a gang lends or leaves is told as nobody's where it is promised to another request, too.
bool Beside::IsToldExactly() const {
  const auto& claims = model_.books().claims;
  return std::all_of(claims.begin(), claims.end(), [](const auto& entry) {
    const Claim& claim = entry.second;
    return claim.affinity.empty() && (!claim.gang || claim.requests.size() <= 1);
  });
}

// Of machines that are free and match, explain says why the claim does not get them.
std::string Beside::CompareTold(const Claim& claim) const {
  const ClaimRow& row = *state_.FindClaim(claim.uid);
  const capacity::Inventory* inventory = state_.FindInventory({kZone, kType});
  if (row.parts.empty() || inventory->Matching(row.affinity).free() == 0) return "";
  // What is missing in its own racks is told as in repair, or as held by others.
  const int64_t size = std::max(1, model_.books().nodes_per_rack);
  if (claim.gang && std::any_of(claim.requests.begin(), claim.requests.end(),
                                [&](const Request& one) { return one.nodes % size != 0; }))
    return "";
  for (const auto& one : Explain(state_, row, capacity::Policy().KeepsAfter(now_))) {
    using Code = capacity::ObstacleCode;
    constexpr Code kCodes[] = {Code::kNotInZone, Code::kSpotNotOffered, Code::kGangIncomplete,
                               Code::kKeptForGang, Code::kNoWholeRack};
    if (std::count(std::begin(kCodes), std::end(kCodes), one.code) > 0) return "";
  }
  return absl::StrCat(claim.uid, " is not told why it gets no free machine\n");
}

std::string Beside::CompareForetold() {
  std::string text;
  StagedState<capacity::State> staged(state_, revision_);
  // A gang's time to keep machines ends by itself.
  (void)Decide(staged, capacity::EndKeeps{}, now_);
  const int64_t nodes = (1 + revision_ % 5) * std::max(1, model_.books().nodes_per_rack);
  for (const auto asked : {capacity::ComputeClass::kDefault, capacity::ComputeClass::kSpot})
    absl::StrAppend(&text, CompareFound(staged, asked, nodes));
  for (const auto& [uid, claim] : model_.books().claims) absl::StrAppend(&text, CompareTold(claim));
  staged.RollBack();
  return text;
}

std::optional<Difference> Play(const History& history) {
  Beside beside(history.nodes_per_rack);
  for (size_t i = 0; i < history.steps.size(); ++i) {
    std::string what = beside.Take(history.steps[i]);
    if (!what.empty()) return Difference{i, std::move(what)};
  }
  return std::nullopt;
}

History Shrink(History history) {
  for (bool shorter = true; shorter;) {
    shorter = false;
    const std::optional<Difference> found = Play(history);
    if (found.has_value()) history.steps.resize(found->step + 1);
    for (size_t i = history.steps.size(); i-- > 0;) {
      History without = history;
      without.steps.erase(without.steps.begin() + static_cast<std::ptrdiff_t>(i));
      if (!Play(without).has_value()) continue;
      history = std::move(without);
      shorter = true;
    }
  }
  return history;
}

}  // namespace muster::model
