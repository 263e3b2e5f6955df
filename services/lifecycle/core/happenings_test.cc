#include "services/lifecycle/core/happenings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/common/row_follower.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using O = ReportNode::Observation;

const absl::Time kHappeningTime = absl::FromUnixSeconds(1'750'000'000);

Node NodeIn(NodeState state) {
  return {.name = "n", .state = state, .state_time = kHappeningTime, .create_time = kHappeningTime};
}
// As it is after `event`, so long after.
Node AfterEvent(Node node, NodeEvent event, absl::Duration later) {
  if (!Step(node, event, kHappeningTime + later).ok()) std::abort();
  return node;
}

TEST(HappeningsTest, AChangeOfAnythingElseIsNone) {
  const Node before = NodeIn(NodeState::kProduction);
  Node after = before;
  after.observed.active = true;
  const NodeHappening happened = HappenedTo(before, after);
  EXPECT_FALSE(happened.moved);
  EXPECT_THAT(happened.preemption, IsEmpty());
}

TEST(HappeningsTest, DeliveryCountsFromTheGrantAndABootFromItsOrder) {
  Node node = NodeIn(NodeState::kAssigned);
  node.desired.phase = Phase::kRunning;
  node.desired.phase_time = kHappeningTime + absl::Seconds(10);
  node.request_time = kHappeningTime - absl::Seconds(90);
  const Node booting = AfterEvent(node, NodeEvent::kBootStarted, absl::Seconds(20));
  const Node registered = AfterEvent(booting, NodeEvent::kRegistered, absl::Seconds(200));
  const Node ready = AfterEvent(registered, NodeEvent::kReady, absl::Seconds(310));
  EXPECT_TRUE(HappenedTo(node, booting).moved);
  EXPECT_EQ(HappenedTo(booting, registered).delivered, std::nullopt);
  EXPECT_EQ(HappenedTo(registered, ready).obtained, absl::Seconds(400));
  EXPECT_EQ(HappenedTo(registered, ready).delivered, absl::Seconds(310));
  EXPECT_EQ(HappenedTo(registered, ready).booted, absl::Seconds(300));
  EXPECT_EQ(HappenedTo(registered, ready).rebooted, std::nullopt);
}

TEST(HappeningsTest, ANodeOfWhichNobodyKnowsWhenItWasAskedForIsNoneOfThose) {
  const Node registered = NodeIn(NodeState::kRegistered);
  const Node ready = AfterEvent(registered, NodeEvent::kReady, absl::Seconds(5));
  EXPECT_EQ(HappenedTo(registered, ready).obtained, std::nullopt);
  EXPECT_EQ(HappenedTo(registered, ready).delivered, absl::Seconds(5));
}

TEST(HappeningsTest, ARecoveryIsNoDelivery) {
  const Node triage =
      AfterEvent(NodeIn(NodeState::kProduction), NodeEvent::kUnhealthy, absl::Seconds(1));
  const NodeHappening happened =
      HappenedTo(triage, AfterEvent(triage, NodeEvent::kRecovered, absl::Seconds(2)));
  EXPECT_TRUE(happened.moved);
  EXPECT_EQ(happened.delivered, std::nullopt);
}

TEST(HappeningsTest, RebootsAndTheirDrain) {
  Node node = NodeIn(NodeState::kProduction);
  StartDrain(node.desired, kNever, kHappeningTime);
  const Node rebooting = AfterEvent(node, NodeEvent::kReconfigure, absl::Seconds(30));
  EXPECT_EQ(HappenedTo(node, rebooting).reboot, RebootStep::kStarted);
  EXPECT_EQ(HappenedTo(node, rebooting).drained, absl::Seconds(30));
  const Node ready = AfterEvent(rebooting, NodeEvent::kReady, absl::Seconds(90));
  EXPECT_EQ(HappenedTo(rebooting, ready).reboot, RebootStep::kCompleted);
  EXPECT_EQ(HappenedTo(rebooting, ready).rebooted, absl::Seconds(60));
  EXPECT_EQ(HappenedTo(rebooting, ready).delivered, std::nullopt);
  const Node failed = AfterEvent(rebooting, NodeEvent::kBootFailed, absl::Seconds(90));
  EXPECT_EQ(HappenedTo(rebooting, failed).reboot, RebootStep::kFailed);
  EXPECT_TRUE(HappenedTo(rebooting, failed).boot_failed);
}

TEST(HappeningsTest, AnotherNodeOfThatNameIsNoChangeOfThis) {
  Node after = NodeIn(NodeState::kProduction);
  after.create_time += absl::Hours(1);
  EXPECT_FALSE(HappenedTo(NodeIn(NodeState::kAssigned), after).moved);
}

TEST(HappeningsTest, APreemptionThatIsTakenBackIsCancelled) {
  Node warned = NodeIn(NodeState::kCordoned);
  warned.preempt_time = kHappeningTime;
  const Node kept = AfterEvent(warned, NodeEvent::kUncordon, absl::Seconds(5));
  EXPECT_THAT(HappenedTo(warned, kept).preemption, ElementsAre(PreemptionPhase::kCancelled));
}

Pool AtTarget(const char* reason) {
  Pool made;
  made.uid = "uid-1";
  made.status.conditions = {{.type = "AtTarget", .status = "", .reason = reason}};
  return made;
}
// What a pool's way through these reasons, a minute each, is counted as.
std::optional<absl::Duration> TimeThrough(TimesToTarget& times,
                                          const std::vector<const char*>& reasons) {
  std::optional<absl::Duration> took;
  for (size_t i = 1; i < reasons.size(); ++i) {
    const Pool after = AtTarget(reasons[i]);
    const auto now = kHappeningTime + absl::Minutes(static_cast<int64_t>(i));
    took = times.Follow(AtTarget(reasons[i - 1]), &after, now);
  }
  return took;
}

TEST(HappeningsTest, TimeToTargetCountsFromWhenAPoolCameUnderIt) {
  constexpr char kMet[] = "TargetMet";
  constexpr char kUnder[] = "UnderTarget";
  constexpr char kOver[] = "OverTarget";
  constexpr char kUnknown[] = "InternalError";
  TimesToTarget times;
  EXPECT_EQ(TimeThrough(times, {kMet, kUnder, kUnder, kMet}), absl::Minutes(2));
  EXPECT_EQ(TimeThrough(times, {"", kUnder, kMet}), absl::Minutes(1)) << "a new pool";
  EXPECT_EQ(TimeThrough(times, {kOver, kOver, kUnder, kMet}), absl::Minutes(1));
  EXPECT_EQ(TimeThrough(times, {kMet, kUnder, kUnknown, kUnder, kMet}), absl::Minutes(3));
  // It never was, or nobody saw since when.
  EXPECT_EQ(TimeThrough(times, {kOver, kMet, kMet}), std::nullopt);
  EXPECT_EQ(TimeThrough(times, {kUnder, kUnder, kMet}), std::nullopt);
  EXPECT_EQ(TimeThrough(times, {kUnder, kUnknown, kUnder, kMet}), std::nullopt);
  // It met another target first, or none.
  EXPECT_EQ(TimeThrough(times, {kMet, kUnder, kOver, kMet}), std::nullopt);
  EXPECT_EQ(TimeThrough(times, {kMet, kUnder, "PendingDelete"}), std::nullopt);
  EXPECT_EQ(times.size(), 0U);
}

TEST(HappeningsTest, OfAPoolThatIsGoneNoTimeToItsTargetIsKept) {
  TimesToTarget times;
  (void)TimeThrough(times, {"TargetMet", "UnderTarget"});
  ASSERT_EQ(times.size(), 1U);
  EXPECT_EQ(times.Follow(AtTarget("UnderTarget"), nullptr, kHappeningTime), std::nullopt);
  EXPECT_EQ(times.size(), 0U);
}

// It may have met it meanwhile.
TEST(HappeningsTest, ATimeToATargetDoesNotGoOnOverChangesThatWereMissed) {
  const Pool met = AtTarget("TargetMet");
  const Pool under = AtTarget("UnderTarget");
  TimesToTarget times;
  times.Follow(met, &under, kHappeningTime);
  times.Forget();
  EXPECT_EQ(times.Follow(under, &met, kHappeningTime + absl::Minutes(1)), std::nullopt);
  times.Follow(met, &under, kHappeningTime + absl::Minutes(2));
  times.Forget();
  times.Follow(met, &under, kHappeningTime + absl::Minutes(5));
  EXPECT_EQ(times.Follow(under, &met, kHappeningTime + absl::Minutes(7)), absl::Minutes(2));
}

// Everything that happens in a world, told from its commits alone.
class ToldHappenings {
 public:
  explicit ToldHappenings(Simulation& world) {
    world.on_commit = [this, &world](absl::Span<const Revised<State::Change>> changes) {
      nodes_.Follow(changes, [this](const Node& before, const Node* after) {
        if (after != nullptr) Add(HappenedTo(before, *after));
      });
      pools_.Follow(changes, [&](const Pool& before, const Pool* after) {
        const auto took = times_.Follow(before, after, world.now());
        if (took) to_target.push_back(*took);
      });
    };
  }
  std::map<std::string, int> count;
  std::vector<absl::Duration> to_target;

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
  TimesToTarget times_;
};

using Counts = std::map<std::string, int>;

TEST(HappeningsTest, OfAPoolThatGrows) {
  Simulation world;
  ToldHappenings told(world);
  world.boot_fails = {"g100"};
  world.Create(3);
  ASSERT_TRUE(world.Converge());
  EXPECT_EQ(told.count, (Counts{{"delivered", 3}, {"booted", 3}, {"boot failed", 1}}));
  EXPECT_EQ(told.to_target.size(), 1U);
}

// The days that its work kept it over its target are no time under it.
TEST(HappeningsTest, OfAPoolThatWasOverItsTarget) {
  Running world(2);
  ToldHappenings told(world);
  for (const char* machine : {"g100", "g101"}) world.SetActive(machine, true);
  world.Resize(1);
  ASSERT_TRUE(world.Converge());
  ASSERT_EQ(world.Reason("AtTarget"), "OverTarget");
  world.Advance(absl::Hours(72));
  world.stuck = {"g102"};
  world.Resize(3);
  world.Drive();
  ASSERT_EQ(world.Reason("AtTarget"), "UnderTarget");
  world.Advance(absl::Minutes(4));
  world.stuck.clear();
  world.Drive();
  ASSERT_EQ(world.Reason("AtTarget"), "TargetMet");
  ASSERT_EQ(told.to_target.size(), 1U);
  EXPECT_GE(told.to_target[0], absl::Minutes(4));
  EXPECT_LT(told.to_target[0], absl::Minutes(5));
}

TEST(HappeningsTest, OfReconfigureReboots) {
  Outdated world(4);
  ToldHappenings told(world);
  world.Ask();
  world.Live();
  EXPECT_EQ(told.count["completed"], 4);
  EXPECT_EQ(told.count["delivered"], 0);
}

TEST(HappeningsTest, OfAPreemption) {
  Simulation world;
  world.ApplySpot(1);
  ASSERT_TRUE(world.Converge());
  ToldHappenings told(world);
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
