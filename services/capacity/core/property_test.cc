#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/capacity/core/audit.h"
#include "services/capacity/core/machine_state.h"
#include "services/capacity/core/test_world.h"

// Random histories. After every step the books are right; the count of machines that each claim
// holds is that of a naive model of the queue; a repeated request changes nothing; and a state
// built from the rows in any order decides the same.
namespace muster::capacity {
namespace {

constexpr int kSeeds = 2'000;
constexpr int kSteps = 24;

// The queue as semantics.md 5 tells it, one entry a Node, no placement.
class Model {
 public:
  struct Entry {
    ComputeClass compute_class = ComputeClass::kDefault;
    int32_t priority = 0;
    absl::Time time = absl::UnixEpoch();
    std::string uid = {};
    bool operator<(const Entry& o) const {
      return std::tie(compute_class, o.priority, time, uid) <
             std::tie(o.compute_class, priority, o.time, o.uid);
    }
  };
  struct Claim {
    int64_t nodes = 0;
    int32_t priority = 0;
    ComputeClass compute_class = ComputeClass::kDefault;
    std::vector<absl::Time> waiting = {};
    std::map<std::string, absl::Time> held = {};  // machine → age of its request
  };

  void Sync(const SyncClaim& request, absl::Time now) {
    Claim& claim = claims[request.pool_uid];
    claim.nodes = request.nodes;
    claim.priority = request.priority;
    claim.compute_class = request.compute_class;
    for (const MachineReturn& given : request.returns) {
      const auto it = claim.held.find(given.machine);
      if (it == claim.held.end()) continue;
      if (given.reason == ReturnReason::kBroken) claim.waiting.push_back(it->second);
      claim.held.erase(it);
    }
    std::sort(claim.waiting.begin(), claim.waiting.end());
    const size_t wanted = static_cast<size_t>(
        std::max<int64_t>(0, claim.nodes - static_cast<int64_t>(claim.held.size())));
    claim.waiting.resize(wanted, now);
    if (request.release) claims.erase(request.pool_uid);
  }

  // Who is served next with `free` machines: uid and the age, in order.
  std::vector<std::pair<std::string, absl::Time>> Serve(int64_t free) {
    std::multiset<Entry> queue;
    for (const auto& [uid, claim] : claims) {
      for (const absl::Time time : claim.waiting)
        queue.insert({claim.compute_class, claim.priority, time, uid});
    }
    std::vector<std::pair<std::string, absl::Time>> served;
    for (const Entry& entry : queue) {
      if (static_cast<int64_t>(served.size()) == free) break;
      served.emplace_back(entry.uid, entry.time);
      std::vector<absl::Time>& waiting = claims[entry.uid].waiting;
      waiting.erase(waiting.begin());
    }
    return served;
  }

  std::map<std::string, Claim> claims;
};

class History {
 public:
  explicit History(uint32_t seed) : random_(seed), rack_type_(seed % 3 == 0) {
    world_.AddCatalogue();
    type_ = rack_type_ ? World::kRackType : World::kType;
  }

  void Step() {
    if (Roll(3) > 0) world_.Advance(absl::Seconds(Roll(3)));  // often two requests at the same time
    switch (Roll(10)) {
      case 0:
      case 1:
        return Register();
      case 2:
        return SetState();
      case 3:
        return Release();
      default:
        return Sync();
    }
  }

 private:
  int Roll(int sides) { return std::uniform_int_distribution<int>(0, sides - 1)(random_); }

  std::vector<MachineReturn> SomeReturns(const std::string& uid, int one_in) {
    std::vector<MachineReturn> returns;
    for (const std::string& id : world_.state().FootprintOf(uid).machines) {
      if (Roll(one_in) == 0) returns.push_back({id, static_cast<ReturnReason>(Roll(3))});
    }
    if (Roll(8) == 0) returns.push_back({"not-there", ReturnReason::kBroken});
    return returns;
  }

  void Register() {
    std::vector<MachineRow> machines;
    const int rack = Roll(6);
    for (int i = Roll(2); i < 4; ++i) {
      machines.push_back(World::Machine(absl::StrCat("m", rack, "-", i),
                                        absl::StrCat("f", rack % 2), absl::StrCat("r", rack), i,
                                        type_));
    }
    Run(RegisterMachines{machines});
  }

  void SetState() {
    const auto& rows = world_.state().table<MachineRow>().rows();
    if (rows.empty()) return;
    auto it = rows.begin();
    std::advance(it, Roll(static_cast<int>(rows.size())));
    constexpr MachineState kWanted[] = {MachineState::kFree, MachineState::kFree,
                                        MachineState::kInRepair, MachineState::kRetired};
    Run(SetMachineState{it->second.row->id, kWanted[Roll(4)]});
  }

  SyncClaim Request(const std::string& uid) {
    const int64_t nodes =
        rack_type_ ? Roll(4) * World::kNodesPerRack - (Roll(5) == 0 ? 1 : 0) : Roll(9);
    SyncClaim claim = world_.Want(uid, std::max<int64_t>(0, nodes), SomeReturns(uid, 4));
    claim.instance_type = type_;
    if (!rack_type_ && world_.state().FindClaim(uid) == nullptr && Roll(3) == 0)
      claim.compute_class = ComputeClass::kSpot;
    if (Roll(4) == 0) claim.priority = Roll(3) - 1;
    return claim;
  }

  void Sync() {
    const SyncClaim claim = Request(absl::StrCat("p", Roll(5)));
    model_.Sync(claim, world_.now());
    Run(claim);
    Repeat(claim);
  }

  void Release() {
    const std::string uid = absl::StrCat("p", Roll(5));
    SyncClaim claim = world_.Want(uid, 0, SomeReturns(uid, 1));
    if (world_.state().FindClaim(uid) == nullptr) claim.instance_type = type_;
    claim.release = true;
    model_.Sync(claim, world_.now());
    Run(claim);
    EXPECT_EQ(world_.state().FindClaim(uid), nullptr);
    Repeat(claim);
  }

  void Repeat(const SyncClaim& claim) {
    EXPECT_TRUE(world_.Do(claim).ok());
    EXPECT_TRUE(world_.changes().empty()) << "a request sent twice must have the effect of one";
  }

  template <class Command>
  void Run(const Command& command) {
    CheckSameState(command);
    (void)world_.Do(command);
    EXPECT_THAT(Audit(world_.state()), testing::IsEmpty());
    if (rack_type_) {
      CheckRacks();
    } else {
      CheckOrder();
    }
  }

  // A state built from the same rows in another order makes the same changes.
  template <class Command>
  void CheckSameState(const Command& command) {
    std::vector<Revised<State::Change>> rows;
    world_.state().ForEach([&](const Revised<State::Change>& row) { rows.push_back(row); });
    std::shuffle(rows.begin(), rows.end(), random_);
    State rebuilt;
    for (const auto& row : rows) rebuilt.Apply(row.change, row.revision);
    Overlay<State> theirs(rebuilt, world_.revision());
    State copy = world_.state();
    Overlay<State> ours(copy, world_.revision());
    (void)Decide(theirs, command, world_.now());
    (void)Decide(ours, command, world_.now());
    ASSERT_EQ(ours.changes().size(), theirs.changes().size());
    for (size_t i = 0; i < ours.changes().size(); ++i) {
      const State::Change& a = ours.changes()[i].change;
      const State::Change& b = theirs.changes()[i].change;
      EXPECT_EQ(a.key, b.key);
      if (a.deleted() || b.deleted()) continue;
      if (const auto* machine = std::get_if<std::shared_ptr<const MachineRow>>(&a.row)) {
        EXPECT_EQ(**machine, *std::get<std::shared_ptr<const MachineRow>>(b.row));
      }
      if (const auto* claim = std::get_if<std::shared_ptr<const ClaimRow>>(&a.row)) {
        EXPECT_EQ(**claim, *std::get<std::shared_ptr<const ClaimRow>>(b.row));
      }
    }
    ours.RollBack();
    EXPECT_TRUE(copy.SameIndexes(world_.state()));
  }

  // Who got machines is who the model says, with the ages it says.
  void CheckOrder() {
    std::map<std::string, std::multiset<absl::Time>> got;  // uid → ages of machines newly held
    int64_t granted = 0;
    for (const auto& [key, versioned] : world_.state().table<MachineRow>().rows()) {
      const MachineRow& machine = *versioned.row;
      if (machine.claim.empty()) continue;
      Model::Claim& claim = model_.claims[machine.claim];
      const auto it = claim.held.find(machine.id);
      if (it != claim.held.end() && it->second == *machine.request_time) continue;
      got[machine.claim].insert(*machine.request_time);
      ++granted;
      claim.held[machine.id] = *machine.request_time;
    }
    const Depot* depot = world_.state().FindDepot({World::kZone, type_});
    const int64_t left = depot == nullptr ? 0 : depot->free();
    std::map<std::string, std::multiset<absl::Time>> due;
    for (const auto& [uid, time] : model_.Serve(granted + left)) due[uid].insert(time);
    EXPECT_EQ(got, due);
    for (const auto& [uid, claim] : model_.claims) {
      EXPECT_EQ(claim.held.size(), world_.state().FootprintOf(uid).machines.size());
    }
  }

  // A rack is held by one claim; a free whole rack is not kept from anybody who wants one.
  void CheckRacks() {
    const Depot* depot = world_.state().FindDepot({World::kZone, type_});
    if (depot == nullptr) return;
    for (const auto& [fabric, racks] : depot->fabrics()) {
      for (const auto& [name, rack] : racks.racks) EXPECT_LE(rack.held.size(), 1u) << name;
    }
    std::map<std::string, int64_t> waiting;
    for (const auto& [selector, line] : depot->queue().lines()) {
      for (const auto& [key, sum] : line) waiting[key.pool_uid] += sum.nodes;
    }
    for (const auto& [uid, nodes] : waiting) {
      EXPECT_EQ(depot->PartlyHeld(uid), nullptr)
          << uid << " waits beside a free machine of its own rack";
      EXPECT_TRUE(nodes < World::kNodesPerRack || depot->by_whole().empty()) << uid;
    }
    // What was granted now came as a whole rack, or completes one.
    std::map<std::string, int64_t> before = held_in_rack_;
    held_in_rack_.clear();
    for (const auto& [key, versioned] : world_.state().table<MachineRow>().rows()) {
      if (!versioned.row->claim.empty())
        ++held_in_rack_[versioned.row->claim + "/" + versioned.row->rack];
    }
    for (const auto& [place, held] : held_in_rack_) {
      if (before[place] == 0) {
        EXPECT_EQ(held, World::kNodesPerRack) << place;
      }
    }
  }

  std::mt19937 random_;
  const bool rack_type_;
  std::string type_;
  World world_;
  Model model_;
  std::map<std::string, int64_t> held_in_rack_;
};

TEST(CapacityPropertyTest, RandomHistories) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    History history(seed);
    for (int step = 0; step < kSteps; ++step) {
      SCOPED_TRACE(step);
      history.Step();
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace muster::capacity
