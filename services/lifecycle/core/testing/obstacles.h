#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "services/lifecycle/core/testing/pools.h"

// For tests: every obstacle that explain knows, made to happen.
namespace muster::lifecycle::obstacles {

using O = ReportNode::Observation;
using Sim = std::unique_ptr<Simulation>;

// Of a case.
enum class When {
  kOpen,   // until somebody acts, or nobody can know
  kTimed,  // by a time
};
struct Case {
  Actor actor = Actor::kNobody;
  When when = When::kOpen;
  std::function<Sim()> make = {};
};

inline Sim New() { return std::make_unique<Simulation>(); }
// A pool of so many Nodes in production.
inline Sim Live(
    int64_t nodes, const std::function<void(Spec&)>& change = [](Spec&) {}) {
  Sim sim = New();
  sim->rack_size = 4;
  sim->Apply([&](Spec& spec) {
    spec.target_nodes = nodes;
    change(spec);
  });
  EXPECT_TRUE(sim->Converge());
  return sim;
}
// What is done with it, until nothing moves.
inline Sim With(Sim sim, const std::function<void(Simulation&)>& act) {
  act(*sim);
  EXPECT_TRUE(sim->Converge());
  return sim;
}
// Until agents have nothing to say, the clock untouched.
inline Sim At(Sim sim, const std::function<void(Simulation&)>& act) {
  sim->StopClock();
  act(*sim);
  sim->Drive();
  return sim;
}
inline void EagerToShrink(Spec& spec) { spec.scale_down_strategy = ScaleDownStrategy::kPreferIdle; }
inline void BudgetOfOne(Spec& spec) { spec.max_unavailable = "1"; }
// A newer configuration is staged, and reboots into it are asked for.
inline void Reconfigure(Simulation& sim) {
  sim.Stage(kNewerProfile);
  EXPECT_TRUE(sim.Converge());
  sim.Must(ReconfigureNodePool{.name = kSimPool});
}
// A deleted pool of which only configuration has something left.
inline Sim Releasing() {
  return At(Live(1), [](Simulation& s) {
    s.configuration_away = true;
    s.Delete();
    s.Drive();
    s.Advance(s.policy.cordon_settle);
  });
}

// By the reason that is told.
inline const std::map<std::string, Case>& Cases() {
  static const auto& cases = *new std::map<std::string, Case>{
      {"NO_LEADER",
       {Actor::kOperator, When::kOpen,
        [] {
          return At(Live(1), [](Simulation& s) {
            s.Resize(51);
            s.loop.leaderless = true;
          });
        }}},
      // --- what the pool is, and what the other services say ---
      {"INVALID_SPEC",
       {Actor::kUser, When::kOpen,
        [] {
          Sim sim = New();
          sim->catalogue.offered = false;
          return With(std::move(sim), [](Simulation& s) { s.Create(1); });
        }}},
      {"CATALOGUE_UNKNOWN",
       {Actor::kOperator, When::kOpen,
        [] { return With(Live(1), [](Simulation& s) { s.catalogue = {}; }); }}},
      {"POOL_RELEASED",
       {Actor::kUser, When::kOpen,
        [] { return With(Live(1), [](Simulation& s) { s.ReleaseUid(); }); }}},
      {"QUOTA_OUT_OF_REACH",
       {Actor::kOperator, When::kOpen,
        [] { return With(Live(1), [](Simulation& s) { s.quota_away = true; }); }}},
      {"OVER_QUOTA",
       {Actor::kQuotaAdmin, When::kOpen,
        [] { return With(Live(1), [](Simulation& s) { s.Resize(51); }); }}},
      {"QUOTA_NOT_SET",
       {Actor::kQuotaAdmin, When::kOpen,
        [] { return With(Live(1), [](Simulation& s) { s.quota_not_set = true; }); }}},
      {"CAPACITY_OUT_OF_REACH",
       {Actor::kOperator, When::kOpen,
        [] { return With(Live(1), [](Simulation& s) { s.capacity_away = true; }); }}},
      {"NOT_ENOUGH_MACHINES",
       {Actor::kCapacity, When::kOpen,
        [] {
          return With(Live(1), [](Simulation& s) {
            s.Retire(98);
            s.Resize(3);
          });
        }}},
      {"NODE_AFFINITY",
       {Actor::kUser, When::kOpen,
        [] {
          Sim sim = New();
          sim->matching = {"g150"};
          return With(std::move(sim),
                      [](Simulation& s) { s.Apply([](Spec& spec) { WantRowSeven(spec, 2); }); });
        }}},
      {"BEING_RECLAIMED",
       {Actor::kNobody, When::kTimed,
        [] {
          return With(Live(1), [](Simulation& s) {
            s.reclaimed = {1, {{"g900", s.now()}}, s.now()};
            s.OthersTake(200);
            s.Resize(2);
          });
        }}},
      {"QUEUED",
       {Actor::kNobody, When::kTimed,
        [] {
          return With(Live(1), [](Simulation& s) {
            s.wait = absl::Hours(1);
            s.OthersTake(200);
            s.Resize(2);
          });
        }}},
      {"CONFIGURATION_OUT_OF_REACH",
       {Actor::kOperator, When::kOpen,
        [] { return With(Live(1), [](Simulation& s) { s.configuration_away = true; }); }}},
      {"CONFIGURATION_PROBLEM",
       {Actor::kOperator, When::kOpen,
        [] {
          return With(Live(1), [](Simulation& s) { s.configuration.problem = "No release."; });
        }}},
      {"CONFIGURATION_DISABLED",
       {Actor::kOperator, When::kOpen,
        [] { return With(Live(1), [](Simulation& s) { s.Disable(kSimProfile); }); }}},
      {"CONFIGURATION_WAITS",
       {Actor::kNobody, When::kTimed,
        [] {
          return With(Live(1), [](Simulation& s) {
            s.stuck = {"g101"};
            s.Resize(2);
            EXPECT_TRUE(s.Converge());
            s.Stage(kNewerProfile);
          });
        }}},
      {"RECONFIGURATION_NEEDED",
       {Actor::kUser, When::kOpen,
        [] { return With(Live(1), [](Simulation& s) { s.Stage(kNewerProfile); }); }}},
      {"BOOTING",
       {Actor::kNobody, When::kTimed,
        [] {
          return With(Live(1), [](Simulation& s) {
            s.stuck = {"g101"};
            s.Resize(2);
          });
        }}},
      {"LEAVING",
       {Actor::kNobody, When::kTimed,
        [] {
          return At(Live(1, EagerToShrink), [](Simulation& s) {
            s.stuck = {"g100"};
            s.Resize(0);
            s.Drive();
            s.Advance(s.policy.cordon_settle);
          });
        }}},
      {"CHANGING",
       {Actor::kNobody, When::kOpen,
        [] {
          Sim sim = Live(1);
          sim->Apply([](Spec& spec) { spec.node_labels = {{"a", "b"}}; });
          return sim;
        }}},
      // --- what a plan defers ---
      {"RELEASING", {Actor::kOperator, When::kTimed, Releasing}},
      {"MACHINE_NOT_HELD",
       {Actor::kOperator, When::kOpen,
        [] {
          return At(Live(2), [](Simulation& s) {
            s.OthersTake(200);
            s.stuck = {"g101"};
            s.Forget("g101");
          });
        }}},
      {"MACHINE_TAKEN",
       {Actor::kOperator, When::kTimed,
        [] {
          return At(Live(1), [](Simulation& s) {
            s.taken = {"g101"};
            s.Resize(2);
          });
        }}},
      {"NO_CONFIGURATION",
       {Actor::kOperator, When::kOpen,
        [] {
          Sim sim = New();
          sim->configuration_away = true;
          return With(std::move(sim), [](Simulation& s) { s.Create(1); });
        }}},
      {"MORE_THAN_WANTED",
       {Actor::kNobody, When::kOpen,
        [] {
          // A machine came, and the Node that is to go for it has work.
          return At(Live(1), [](Simulation& s) {
            s.SetActive("g100", true);
            s.Must(
                ResizeNodePool{.name = kSimPool, .target_nodes = 1, .remove_machines = {"g100"}});
            s.GrowClaim(1);
          });
        }}},
      {"WAITS_UNTIL_IDLE",
       {Actor::kUser, When::kOpen,
        [] {
          return With(Live(1), [](Simulation& s) {
            s.SetActive("g100", true);
            s.Resize(0);
          });
        }}},
      {"MARKED_BY_AUTOSCALER",
       {Actor::kUser, When::kOpen,
        [] {
          return With(Live(1), [](Simulation& s) { (void)s.Report("g100", O::kAutoscalerMarked); });
        }}},
      {"CORDON_ORDERED",
       {Actor::kUser, When::kOpen,
        [] {
          return With(Live(1),
                      [](Simulation& s) { s.Must(OrderNode{.name = NodeName(kSimPool, "g100")}); });
        }}},
      {"PROTECTED",
       {Actor::kNobody, When::kTimed,
        [] {
          return With(Live(1), [](Simulation& s) {
            s.Must(UpdateNode{.name = NodeName(kSimPool, "g100"),
                              .protect_until_time = s.now() + absl::Hours(1)});
            s.Resize(0);
          });
        }}},
      {"DISRUPTION_BUDGET",
       {Actor::kNobody, When::kOpen,
        [] {
          return At(Live(3, BudgetOfOne), [](Simulation& s) {
            s.stuck = {"g100", "g101", "g102"};
            s.Resize(1);
          });
        }}},
      {"WAITS_FOR_RECOVERY",
       {Actor::kNobody, When::kTimed,
        [] {
          return At(Live(1), [](Simulation& s) { (void)s.Report("g100", O::kUnhealthy, "Xid"); });
        }}},
      {"WAITS_FOR_REPLACEMENT",
       {Actor::kNobody, When::kTimed,
        [] {
          return At(Live(1,
                         [](Spec& spec) {
                           spec.prefill = Prefill{true, 600, 1};
                         }),
                    [](Simulation& s) {
                      (void)s.Report("g100", O::kUnhealthy, "Xid");
                      s.Drive();
                      s.OthersTake(200);
                      s.Advance(s.policy.triage_grace);
                    });
        }}},
      {"WAITS_FOR_REBOOT",
       {Actor::kNobody, When::kTimed,
        [] {
          return At(Live(1), [](Simulation& s) {
            Reconfigure(s);
            s.stuck = {"g100"};
            EXPECT_TRUE(s.Converge());
            s.Must(ResizeNodePool{.name = kSimPool, .remove_machines = {"g100"}});
          });
        }}},
      {"WAITS_FOR_CONFIGURATION",
       {Actor::kNobody, When::kOpen,
        [] {
          return With(Live(1), [](Simulation& s) {
            s.stuck = {"g101"};
            s.Resize(2);
            EXPECT_TRUE(s.Converge());
            Reconfigure(s);
          });
        }}},
      {"DRAIN_BLOCKED",
       {Actor::kUser, When::kTimed,
        [] {
          return With(Live(1, EagerToShrink), [](Simulation& s) {
            s.SetActive("g100", true);
            s.blocked_by = {{"g100", "default/web-pdb"}};
            s.Resize(0);
          });
        }}},
      {"PREEMPTING",
       {Actor::kNobody, When::kTimed,
        [] {
          return At(Live(1, [](Spec& spec) { spec.compute_class = "spot"; }), [](Simulation& s) {
            s.OthersTake(200);
            s.Reclaim("g100", s.now());
          });
        }}},
      {"STAGING_FAILED",
       {Actor::kOperator, When::kOpen,
        [] {
          return With(Live(1), [](Simulation& s) {
            s.staging_fails = {"g100"};
            s.Stage(kNewerProfile);
          });
        }}},
      {"REMOVAL_FAILED",
       {Actor::kOperator, When::kOpen,
        [] {
          return With(Live(1), [](Simulation& s) {
            s.removal_fails = {"g100"};
            s.Resize(0);
          });
        }}},
      {"AGENT_SILENT",
       {Actor::kOperator, When::kOpen,
        [] {
          return At(Live(1, EagerToShrink), [](Simulation& s) {
            s.stuck = {"g100"};
            s.SetActive("g100", true);
            s.Resize(0);
            s.Drive();
            s.Advance(s.policy.cordon_settle);
            s.Drive();
            s.Advance(s.policy.drain_deadline);
          });
        }}},
      {"RECONFIGURATION_PAUSED",
       {Actor::kUser, When::kOpen,
        [] {
          return With(Live(2), [](Simulation& s) {
            s.stuck = {"g100", "g101"};
            Reconfigure(s);
            s.Must(ControlReconfiguration{.name = kSimPool,
                                          .verb = ControlReconfiguration::Verb::kPause});
          });
        }}},
      {"RECONFIGURATION_HALTED",
       {Actor::kUser, When::kOpen,
        [] {
          return With(Live(3), [](Simulation& s) {
            s.boot_fails = {"g100"};
            Reconfigure(s);
          });
        }}},
      {"GIVE_UP_LIMIT",
       {Actor::kNobody, When::kTimed,
        [] {
          return At(Live(1), [](Simulation& s) {
            s.stuck = {"g101", "g102", "g103"};
            s.Resize(4);
            s.Drive();
            s.Advance(s.policy.boot_deadline);
          });
        }}},
  };
  return cases;
}

}  // namespace muster::lifecycle::obstacles
