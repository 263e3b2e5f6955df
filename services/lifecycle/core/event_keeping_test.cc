// Which events are kept, and for how long.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "services/lifecycle/core/testing/told.h"

namespace muster::lifecycle {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const State::EventsByTime& EventsOf(const Simulation& sim) {
  static const auto& none = *new State::EventsByTime();
  const State::EventsByTime* events = sim.state().EventsOf("uid-1");
  return events == nullptr ? none : *events;
}

// "counted rows, not one a Node, where the text is the same"
TEST(EventKeeping, APoolHasOneRowOfWhatHappensToAllItsNodes) {
  Simulation sim;
  sim.limit = 1'000;
  sim.Deliver(400);
  sim.Create(400);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.CountOf("CWNodeAssigned"), 400);
  EXPECT_EQ(sim.CountOf("CWNodeRegistered"), 400);
  size_t own = 0;
  for (const auto& [key, event] : sim.state().table<Event>().rows())
    own += event.row->object == kSimPool ? 1 : 0;
  EXPECT_LE(own, 10u);
}

// "the bound of a living pool keeps the pool's own events and each Node's newest"
TEST(EventKeeping, TheBoundKeepsThePoolsOwnAndEachNodesNewest) {
  Simulation sim;
  sim.limit = 1'000;
  sim.Deliver(400);
  sim.Create(400);
  ASSERT_TRUE(sim.Converge());
  for (int i = 0; i < 5; ++i) {
    for (const std::string& machine : sim.NodeMachines())
      (void)sim.Report(
          machine,
          i % 2 == 0 ? ReportNode::Observation::kStagingFailed : ReportNode::Observation::kStaged,
          absl::StrCat("cough ", i));
  }
  EXPECT_LE(EventsOf(sim).size(), kMaxEventsAPool);
  EXPECT_THAT(sim.Reasons(), Contains("CWNodePoolCreated"));
  EXPECT_EQ(sim.CountOf("CWNodeAssigned"), 400);
  std::set<std::string> told;
  for (const State::Seen& seen : EventsOf(sim)) {
    const Event& event = *seen.event;
    if (absl::StrContains(event.message, "cough 4"))
      told.insert(std::string(LastIdOf(event.object)));
  }
  EXPECT_EQ(told, sim.NodeMachines());
}

// "events of deleted pools expire (24 h, flag)"
TEST(EventKeeping, EventsOfDeletedPoolsExpire) {
  Simulation sim;
  sim.Create(2);
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.state().EventsOfGone(), IsEmpty());
  sim.Advance(absl::Hours(30));
  sim.Must(ExpireEvents{});
  EXPECT_THAT(sim.Reasons(), Contains("CWNodePoolCreated")) << "the pool lives";
  sim.Delete();
  ASSERT_TRUE(sim.Converge());
  ASSERT_EQ(sim.pool(), nullptr);
  const size_t all = EventsOf(sim).size();
  EXPECT_THAT(sim.state().EventsOfGone(), SizeIs(all));
  sim.Advance(absl::Hours(23));
  sim.Must(ExpireEvents{});
  EXPECT_THAT(sim.Reasons(), Contains("CWNodePoolDeleted"));
  sim.Advance(absl::Hours(1));
  sim.Must(ExpireEvents{});
  EXPECT_THAT(EventsOf(sim), IsEmpty());
  EXPECT_THAT(sim.state().EventsOfGone(), IsEmpty());
  EXPECT_EQ(sim.state().table<Event>().size(), 0u);
}

TEST(EventKeeping, OneCommandForgetsSoMany) {
  Simulation sim;
  sim.limit = 1'000;
  sim.Deliver(400);
  sim.Create(400);
  ASSERT_TRUE(sim.Converge());
  sim.Delete();
  ASSERT_TRUE(sim.Converge());
  const size_t all = EventsOf(sim).size();
  ASSERT_GT(all, kMaxExpiredEvents);
  sim.Advance(absl::Hours(24));
  sim.Must(ExpireEvents{});
  EXPECT_EQ(EventsOf(sim).size(), all - kMaxExpiredEvents);
  for (size_t left = all; left > 0; left -= std::min(left, kMaxExpiredEvents))
    sim.Must(ExpireEvents{});
  EXPECT_THAT(EventsOf(sim), IsEmpty());
}

// "by age and number": however young they are.
TEST(EventKeeping, SoManyOfAllDeletedPoolsAreKept) {
  Simulation sim;
  sim.Create(2);
  ASSERT_TRUE(sim.Converge());
  sim.Delete();
  ASSERT_TRUE(sim.Converge());
  const size_t all = EventsOf(sim).size();
  ASSERT_GT(all, 3u);
  sim.Must(ExpireEvents{.most = all});
  EXPECT_EQ(EventsOf(sim).size(), all);
  sim.Must(ExpireEvents{.most = 3});
  EXPECT_EQ(EventsOf(sim).size(), 3u);
  EXPECT_THAT(sim.Reasons(), Contains("CWNodePoolDeleted")) << "the oldest go first";
}

// A replica that loads the rows, in whatever order, knows the same.
TEST(EventKeeping, WhoLoadsTheRowsKnowsWhichPoolsAreGone) {
  Simulation sim;
  sim.Create(2);
  ASSERT_TRUE(sim.Converge());
  sim.Delete();
  ASSERT_TRUE(sim.Converge());
  sim.Must(ApplyNodePool{.name = kSimPool,
                         .new_uid = "uid-2",
                         .spec = {.instance_type = "gd-8xa100-i128"},
                         .target_nodes = 0,
                         .type = sim.catalogue.type});
  for (const bool events_first : {true, false}) {
    SCOPED_TRACE(events_first);
    State loaded;
    for (const bool now : {events_first, !events_first}) {
      sim.state().ForEach([&](Revised<State::Change> row) {
        if ((row.change.kind() == Event::kKind) == now) loaded.Apply(row.change, row.revision);
      });
    }
    EXPECT_EQ(loaded.EventsOfGone(), sim.state().EventsOfGone());
    EXPECT_THAT(loaded.EventsOfGone(), ::testing::Not(IsEmpty()));
  }
}

}  // namespace
}  // namespace muster::lifecycle
