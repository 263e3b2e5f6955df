#include <gtest/gtest.h>

#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/testing/decide.h"
#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

using ControlVerb = ControlReconfiguration::Verb;
using RState = Reconfiguration::State;

ReconfigureNodePool Reconfigure(std::vector<std::string> machines = {}) {
  return {.name = kSimPool, .machines = std::move(machines)};
}
ControlReconfiguration Control(ControlVerb verb) { return {.name = kSimPool, .verb = verb}; }

TEST(DecideReconfiguration, WhoMayAsk) {
  Outdated sim(2);
  EXPECT_EQ(
      ReasonOf(sim.Run(ReconfigureNodePool{.name = "organizations/acme/clusters/c1/nodePools/x"})
                   .status()),
      "NOT_FOUND");
  EXPECT_EQ(ReasonOf(sim.Run(Reconfigure({"g100", "g999"})).status()), "NOT_FOUND");
  EXPECT_EQ(ReasonOf(sim.Run(ReconfigureNodePool{.name = kSimPool, .etag = "1-1"}).status()),
            "ETAG_MISMATCH");
  sim.Must(Reconfigure({"g100"}));
  EXPECT_EQ(ReasonOf(sim.Run(Reconfigure()).status()), "RECONFIGURATION_RUNNING");
  EXPECT_EQ(sim.pool()->reconfiguration->number, 1);
  sim.Must(Control(ControlVerb::kCancel));
  sim.Must(Reconfigure());
  EXPECT_EQ(sim.pool()->reconfiguration->number, 2) << "each has a number of its own";
  sim.Delete();
  EXPECT_EQ(ReasonOf(sim.Run(Reconfigure()).status()), "POOL_DELETING");
}

TEST(DecideReconfiguration, WhatWasOrderedOfAnotherSnapshotIsRefused) {
  Outdated sim(2);
  sim.Must(Reconfigure({"g100"}));
  for (const ControlVerb verb : {ControlVerb::kPause, ControlVerb::kResume, ControlVerb::kCancel}) {
    ControlReconfiguration control = Control(verb);
    control.etag = "1-1";
    EXPECT_EQ(ReasonOf(sim.Run(control).status()), "ETAG_MISMATCH");
  }
  EXPECT_EQ(sim.pool()->reconfiguration->state, RState::kRunning);
}

// Every verb in every state that an order can be in.
TEST(DecideReconfiguration, WholeProduct) {
  constexpr RState kStates[] = {RState::kRunning, RState::kPaused, RState::kHalted, RState::kDone,
                                RState::kCancelled};
  struct Row {
    ControlVerb verb;
    std::optional<RState> after[5];  // nullopt: NO_RECONFIGURATION
  };
  const Row rows[] = {
      {ControlVerb::kPause, {RState::kPaused, RState::kPaused, RState::kHalted, {}, {}}},
      {ControlVerb::kResume, {RState::kRunning, RState::kRunning, RState::kRunning, {}, {}}},
      {ControlVerb::kCancel,
       {RState::kCancelled, RState::kCancelled, RState::kCancelled, {}, RState::kCancelled}},
  };
  for (const Row& row : rows) {
    for (size_t i = 0; i < std::size(kStates); ++i) {
      State state;
      StagedState<State> staged(state, 0);
      Pool pool{.name = kSimPool, .uid = "uid-1"};
      pool.reconfiguration = Reconfiguration{.number = 1, .state = kStates[i]};
      pool.reconfiguration->failed_machines = {"g1"};
      staged.Put(pool);
      const auto outcome = Decide(staged, Control(row.verb), absl::FromUnixSeconds(1));
      SCOPED_TRACE(absl::StrCat("verb ", row.verb, " in state ", kStates[i]));
      if (!row.after[i]) {
        EXPECT_EQ(ReasonOf(outcome.status()), "NO_RECONFIGURATION");
        continue;
      }
      ASSERT_TRUE(outcome.ok());
      EXPECT_EQ(outcome->pool->reconfiguration->state, *row.after[i]);
      const bool forgets = row.verb == ControlVerb::kResume && kStates[i] != RState::kRunning;
      EXPECT_EQ(outcome->pool->reconfiguration->failed_machines.empty(), forgets);
    }
  }
}

}  // namespace
}  // namespace muster::lifecycle
