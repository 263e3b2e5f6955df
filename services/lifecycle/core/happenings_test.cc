#include "services/lifecycle/core/happenings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "services/common/row_follower.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/test_pools.h"

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using O = ReportNode::Observation;

const absl::Time kNow = absl::FromUnixSeconds(1'750'000'000);

Node In(NodeState state) {
  return {.name = "n", .state = state, .state_time = kNow, .create_time = kNow};
}
// As it is after `event`, so long after.
Node After(Node node, NodeEvent event, absl::Duration later) {
  if (!Step(node, event, kNow + later).ok()) std::abort();
  return node;
}

TEST(HappeningsTest, AChangeOfAnythingElseIsNone) {
  const Node before = In(NodeState::kProduction);
  Node after = before;
  after.observed.active = true;
  const NodeHappening happened = HappenedTo(before, after);
  EXPECT_FALSE(happened.moved);
  EXPECT_THAT(happened.preemption, IsEmpty());
}

TEST(HappeningsTest, DeliveryCountsFromTheGrantAndABootFromItsOrder) {
  Node node = In(NodeState::kAssigned);
  node.desired.phase = Phase::kRunning;
  node.desired.phase_time = kNow + absl::Seconds(10);
  node.request_time = kNow - absl::Seconds(90);
  const Node booting = After(node, NodeEvent::kBootStarted, absl::Seconds(20));
  const Node registered = After(booting, NodeEvent::kRegistered, absl::Seconds(200));
  const Node ready = After(registered, NodeEvent::kReady, absl::Seconds(310));
  EXPECT_TRUE(HappenedTo(node, booting).moved);
  EXPECT_EQ(HappenedTo(booting, registered).delivered, std::nullopt);
  EXPECT_EQ(HappenedTo(registered, ready).obtained, absl::Seconds(400));
  EXPECT_EQ(HappenedTo(registered, ready).delivered, absl::Seconds(310));
  EXPECT_EQ(HappenedTo(registered, ready).booted, absl::Seconds(300));
  EXPECT_EQ(HappenedTo(registered, ready).rebooted, std::nullopt);
}

TEST(HappeningsTest, ANodeOfWhichNobodyKnowsWhenItWasAskedForIsNoneOfThose) {
  const Node registered = In(NodeState::kRegistered);
  const Node ready = After(registered, NodeEvent::kReady, absl::Seconds(5));
  EXPECT_EQ(HappenedTo(registered, ready).obtained, std::nullopt);
  EXPECT_EQ(HappenedTo(registered, ready).delivered, absl::Seconds(5));
}

TEST(HappeningsTest, ARecoveryIsNoDelivery) {
  const Node triage = After(In(NodeState::kProduction), NodeEvent::kUnhealthy, absl::Seconds(1));
  const NodeHappening happened =
      HappenedTo(triage, After(triage, NodeEvent::kRecovered, absl::Seconds(2)));
  EXPECT_TRUE(happened.moved);
  EXPECT_EQ(happened.delivered, std::nullopt);
}

TEST(HappeningsTest, RebootsAndTheirDrain) {
  Node node = In(NodeState::kProduction);
  StartDrain(node.desired, kNever, kNow);
  const Node rebooting = After(node, NodeEvent::kReconfigure, absl::Seconds(30));
  EXPECT_EQ(HappenedTo(node, rebooting).reboot, RebootStep::kStarted);
  EXPECT_EQ(HappenedTo(node, rebooting).drained, absl::Seconds(30));
  const Node ready = After(rebooting, NodeEvent::kReady, absl::Seconds(90));
  EXPECT_EQ(HappenedTo(rebooting, ready).reboot, RebootStep::kCompleted);
  EXPECT_EQ(HappenedTo(rebooting, ready).rebooted, absl::Seconds(60));
  EXPECT_EQ(HappenedTo(rebooting, ready).delivered, std::nullopt);
  const Node failed = After(rebooting, NodeEvent::kBootFailed, absl::Seconds(90));
  EXPECT_EQ(HappenedTo(rebooting, failed).reboot, RebootStep::kFailed);
  EXPECT_TRUE(HappenedTo(rebooting, failed).boot_failed);
}

TEST(HappeningsTest, AnotherNodeOfThatNameIsNoChangeOfThis) {
  Node after = In(NodeState::kProduction);
  after.create_time += absl::Hours(1);
  EXPECT_FALSE(HappenedTo(In(NodeState::kAssigned), after).moved);
}

TEST(HappeningsTest, APreemptionThatIsTakenBackIsCancelled) {
  Node warned = In(NodeState::kCordoned);
  warned.preempt_time = kNow;
  const Node kept = After(warned, NodeEvent::kUncordon, absl::Seconds(5));
  EXPECT_THAT(HappenedTo(warned, kept).preemption, ElementsAre(PreemptionPhase::kCancelled));
}

TEST(HappeningsTest, TimeToTarget) {
  const auto pool = [](const char* status, const char* reason, absl::Duration since) {
    Pool made;
    made.status.conditions = {{.type = "AtTarget",
                               .status = status,
                               .reason = reason,
                               .last_transition_time = kNow + since}};
    return made;
  };
  const Pool under = pool("False", "UnderTarget", absl::ZeroDuration());
  const Pool met = pool("True", "TargetMet", absl::Minutes(4));
  EXPECT_EQ(TimeToTarget(under, met), absl::Minutes(4));
  EXPECT_EQ(TimeToTarget(met, met), std::nullopt);
  EXPECT_EQ(TimeToTarget(met, under), std::nullopt);
  EXPECT_EQ(TimeToTarget(Pool(), met), std::nullopt);
  EXPECT_EQ(TimeToTarget(pool("False", "OverTarget", absl::ZeroDuration()), met), std::nullopt);
}

// Everything that happens in a world, told from its commits alone.
class Told {
 public:
  explicit Told(Simulation& world) {
    world.on_commit = [this](absl::Span<const Revised<State::Change>> changes) {
      nodes_.Follow(changes, [this](const Node& before, const Node* after) {
        if (after != nullptr) Add(HappenedTo(before, *after));
      });
      pools_.Follow(changes, [this](const Pool& before, const Pool* after) {
        if (after != nullptr && TimeToTarget(before, *after)) ++count["at target"];
      });
    };
  }
  std::map<std::string, int> count;

 private:
  void Add(const NodeHappening& happened) {
    if (happened.delivered) ++count["delivered"];
    if (happened.booted) ++count["booted"];
    if (happened.drained) ++count["drained"];
    if (happened.preempted) ++count["preempted"];
    if (happened.boot_failed) ++count["boot failed"];
    for (const PreemptionPhase phase : happened.preemption)
      ++count[std::string(PreemptionPhaseName(phase))];
    if (happened.reboot) ++count[std::string(RebootStepName(*happened.reboot))];
  }
  RowFollower<Node> nodes_;
  RowFollower<Pool> pools_;
};

using Counts = std::map<std::string, int>;

TEST(HappeningsTest, OfAPoolThatGrows) {
  Simulation world;
  Told told(world);
  world.boot_fails = {"g100"};
  world.Create(3);
  ASSERT_TRUE(world.Converge());
  EXPECT_EQ(told.count,
            (Counts{{"delivered", 3}, {"booted", 3}, {"boot failed", 1}, {"at target", 1}}));
}

TEST(HappeningsTest, OfReconfigureReboots) {
  Outdated world(4);
  Told told(world);
  world.Ask();
  world.Live();
  EXPECT_EQ(told.count["completed"], 4);
  EXPECT_EQ(told.count["delivered"], 0);
}

TEST(HappeningsTest, OfAPreemption) {
  Simulation world;
  world.Apply([](Spec& spec) {
    spec.compute_class = "spot";
    spec.target_nodes = 1;
  });
  ASSERT_TRUE(world.Converge());
  Told told(world);
  world.SetActive("g100", true);
  world.busy.insert("g100");
  world.OthersTake(200);
  world.Reclaim("g100", world.now());
  for (int i = 0; i < 500; ++i) {
    world.Drive();
    world.Advance(absl::Seconds(1));
  }
  EXPECT_EQ(told.count["pending"], 1);
  EXPECT_EQ(told.count["draining"], 1);
  EXPECT_EQ(told.count["drained"], 1);
  EXPECT_EQ(told.count["done"], 1);
  EXPECT_EQ(told.count["preempted"], 1);
  EXPECT_EQ(told.count["cancelled"], 0);
}

}  // namespace
}  // namespace muster::lifecycle
