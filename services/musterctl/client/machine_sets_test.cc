#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "absl/strings/str_join.h"
#include "services/musterctl/client/testing/api_test_base.h"
#include "services/musterctl/manifest/machine_set.h"

namespace muster::musterctl {
namespace {

using ::testing::ElementsAre;

class MachineSetsTest : public ApiTest {
 protected:
  // As in a file of its own, unless `used` has the ids of what stands in the file before.
  static MachineSet SetOf(const std::string& name, int64_t count,
                          absl::flat_hash_set<std::string>& used, int64_t racks = 0) {
    return {
        name,
        Expand(
            {.prefix = name, .zone = "A-1A", .instance_type = "t", .count = count, .racks = racks},
            used)};
  }
  static MachineSet SetOf(const std::string& name, int64_t count, int64_t racks = 0) {
    absl::flat_hash_set<std::string> used;
    return SetOf(name, count, used, racks);
  }
  std::string DetailOf(const MachineSet& set) {
    const auto applied = api_->Apply(set, {});
    EXPECT_TRUE(applied.ok()) << applied.status();
    return applied.ok() ? applied->detail : "";
  }
  std::string NameAt(const std::string& rack, int32_t slot) const {
    std::vector<std::string> names;
    for (const auto& [name, machine] : server_.machines) {
      if (machine.rack() == rack && machine.slot() == slot) names.push_back(name);
    }
    return absl::StrJoin(names, " ");
  }
  size_t Places() const {
    std::set<std::pair<std::string, int32_t>> places;
    for (const auto& [name, machine] : server_.machines)
      places.emplace(machine.rack(), machine.slot());
    return places.size();
  }
};

TEST_F(MachineSetsTest, RegistersMachinesInChunksAndOnlyWhatIsNew) {
  absl::flat_hash_set<std::string> used;
  MachineSetSpec spec{.prefix = "a", .zone = "A-1A", .instance_type = "t", .count = 1200};
  EXPECT_EQ(ApplyOutcome(MachineSet{"a", Expand(spec, used)}), Outcome::kCreated);
  EXPECT_THAT(server_.batches, ElementsAre(500, 500, 200));
  used.clear();
  EXPECT_EQ(ApplyOutcome(MachineSet{"a", Expand(spec, used)}), Outcome::kUnchanged);
  EXPECT_EQ(server_.batches.size(), 3u);
  used.clear();
  spec.count = 1203;
  std::vector<std::string> told;
  const auto tell = [&](size_t done, size_t all) { told.push_back(absl::StrCat(done, "/", all)); };
  const auto applied = api_->Apply(MachineSet{"a", Expand(spec, used)}, {.progress = tell});
  ASSERT_TRUE(applied.ok());
  EXPECT_EQ(applied->outcome, Outcome::kConfigured);
  EXPECT_THAT(server_.batches, ElementsAre(500, 500, 200, 3));
  EXPECT_THAT(told, ElementsAre()) << "of one call there is nothing to tell";
  used.clear();
  spec = {.prefix = "c", .zone = "A-1A", .instance_type = "t", .count = 1100};
  EXPECT_TRUE(api_->Apply(MachineSet{"c", Expand(spec, used)}, {.progress = tell}).ok());
  EXPECT_THAT(told, ElementsAre("500/1100", "1000/1100", "1100/1100"));
}

TEST_F(MachineSetsTest, AMachineInUseIsUnchanged) {
  absl::flat_hash_set<std::string> used;
  const MachineSetSpec spec{.prefix = "a", .zone = "A-1A", .instance_type = "t", .count = 1};
  const MachineSet set{"a", Expand(spec, used)};
  EXPECT_EQ(ApplyOutcome(set), Outcome::kCreated);
  capacity::v1::Machine& machine = server_.machines.begin()->second;
  machine.set_claim("u-1");
  machine.mutable_request_time()->set_seconds(1);
  machine.set_compute_class(type::v1::COMPUTE_CLASS_SPOT);
  EXPECT_EQ(ApplyOutcome(set), Outcome::kUnchanged);
}

// The id of the machine 1063 of `a` is that of the machine 304 of `b`, at b-r038/0, too.
constexpr char kShared[] = "machines/g401c1e";
constexpr char kSecond[] = "machines/g1c676f";  // what b/304 is called where that is taken

TEST_F(MachineSetsTest, GrowthOfOneSetLeavesTheOther) {
  absl::flat_hash_set<std::string> used;
  EXPECT_EQ(DetailOf(SetOf("a", 1000, used)), "1000 machines, 1000 new, 0 changed");
  EXPECT_EQ(DetailOf(SetOf("b", 400, used)), "400 machines, 400 new, 0 changed");
  EXPECT_EQ(NameAt("b-r038", 0), kShared);
  for (const char* created : {"100", "0"}) {
    used.clear();
    EXPECT_EQ(DetailOf(SetOf("a", 1100, used)),
              absl::StrCat("1100 machines, ", created, " new, 0 changed"));
    EXPECT_EQ(DetailOf(SetOf("b", 400, used)), "400 machines, 0 new, 0 changed");
    EXPECT_EQ(NameAt("b-r038", 0), kShared);
    EXPECT_EQ(server_.machines.size(), 1500u);
    EXPECT_EQ(Places(), 1500u);
  }
}

TEST_F(MachineSetsTest, ASetThatLeavesTheFileRenamesNobody) {
  absl::flat_hash_set<std::string> used;
  EXPECT_EQ(ApplyOutcome(SetOf("a", 1100, used)), Outcome::kCreated);
  EXPECT_EQ(ApplyOutcome(SetOf("b", 400, used)), Outcome::kCreated);
  std::erase_if(server_.machines,
                [](const auto& entry) { return entry.second.rack().starts_with("a-"); });
  server_.batches.clear();
  EXPECT_EQ(ApplyOutcome(SetOf("b", 400)), Outcome::kUnchanged);
  EXPECT_THAT(server_.batches, ElementsAre());
  EXPECT_EQ(NameAt("b-r038", 0), kSecond);
}

TEST_F(MachineSetsTest, AServerThatIsRegisteredTwiceIsNotRegisteredAgain) {
  EXPECT_EQ(ApplyOutcome(SetOf("b", 400)), Outcome::kCreated);
  server_.machines[kSecond] = server_.machines[kShared];
  server_.machines[kSecond].set_name(kSecond);
  EXPECT_EQ(ApplyOutcome(SetOf("b", 400)), Outcome::kUnchanged);
  absl::flat_hash_set<std::string> used;
  SetOf("a", 1100, used);
  EXPECT_EQ(ApplyOutcome(SetOf("b", 400, used)), Outcome::kUnchanged);
}

// Sets of several files know nothing of each other, nor of those of other zones.
TEST_F(MachineSetsTest, NoMachineOfAnotherSetIsTaken) {
  MachineSet other = SetOf("a", 1100);
  for (auto& machine : other.machines) machine.set_zone("B-1A");
  EXPECT_EQ(ApplyOutcome(other), Outcome::kCreated);
  EXPECT_EQ(DetailOf(SetOf("b", 400)), "400 machines, 400 new, 0 changed");
  EXPECT_EQ(server_.machines[kShared].rack(), "a-r132");
  EXPECT_EQ(NameAt("b-r038", 0), kSecond);
  EXPECT_EQ(server_.machines.size(), 1500u);
  EXPECT_EQ(ApplyOutcome(SetOf("b", 400)), Outcome::kUnchanged);
}

TEST_F(MachineSetsTest, OtherRacksMakeNoOtherMachines) {
  EXPECT_EQ(ApplyOutcome(SetOf("a", 16)), Outcome::kCreated);
  EXPECT_EQ(DetailOf(SetOf("a", 16, 4)), "16 machines, 0 new, 15 changed");
  EXPECT_EQ(server_.machines.size(), 16u);
  EXPECT_EQ(Places(), 16u);
  EXPECT_EQ(ApplyOutcome(SetOf("a", 16, 4)), Outcome::kUnchanged);
}

TEST_F(MachineSetsTest, WhatStandsInASetsPlaceUnderAnotherNameIsThatMachine) {
  capacity::v1::Machine by_hand = SetOf("a", 3).machines[1];
  by_hand.set_name("machines/dgx-17");
  EXPECT_EQ(ApplyOutcome(by_hand), Outcome::kCreated);
  EXPECT_EQ(DetailOf(SetOf("a", 3)), "3 machines, 2 new, 0 changed");
  EXPECT_EQ(NameAt("a-r000", 1), "machines/dgx-17");
}

TEST_F(MachineSetsTest, AMachineThatWasMovedToAnotherSetsRackStaysThere) {
  EXPECT_EQ(ApplyOutcome(SetOf("a", 3)), Outcome::kCreated);
  capacity::v1::Machine& moved = server_.machines[SetOf("a", 3).machines[1].name()];
  moved.set_rack("b-r000");
  moved.set_slot(5);
  const auto applied = api_->Apply(SetOf("a", 4), {});
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(applied->detail, "4 machines, 1 new, 0 changed");
  EXPECT_THAT(applied->warnings,
              ElementsAre("1 of its machines stand in racks of other sets, and stay there, e.g. "
                          "gfaf50f"));
  EXPECT_EQ(NameAt("b-r000", 5), "machines/gfaf50f");
  EXPECT_EQ(server_.machines.size(), 4u);
  EXPECT_EQ(ApplyOutcome(SetOf("a", 4)), Outcome::kUnchanged);
}

TEST_F(MachineSetsTest, WhoseMachinesAreRetiredIsTold) {
  const MachineSet set = SetOf("a", 3);
  EXPECT_EQ(ApplyOutcome(set), Outcome::kCreated);
  server_.machines[set.machines[1].name()].set_state(capacity::v1::Machine::STATE_RETIRED);
  auto applied = api_->Apply(set, {});
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(applied->outcome, Outcome::kUnchanged);
  EXPECT_THAT(applied->warnings,
              ElementsAre("1 of its machines are retired: they serve nobody until they are deleted "
                          "and registered anew, e.g. gfaf50f"));
  applied = api_->Apply(set.machines[0], {});
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_THAT(applied->warnings, ElementsAre());
  applied = api_->Apply(set.machines[1], {});
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_THAT(applied->warnings,
              ElementsAre("is retired: it serves nobody until it is deleted and registered anew"));
}

}  // namespace
}  // namespace muster::musterctl
