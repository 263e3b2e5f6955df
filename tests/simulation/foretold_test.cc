// What a dry run says is what then happens: previews held against the four cores.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/lifecycle/core/asked_to_go.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/node_machine.h"
#include "tests/simulation/town.h"
#include "tests/simulation/wishes.h"

namespace muster::simulation {
namespace {

using lifecycle::Node;
using lifecycle::Pool;
using lifecycle::Preview;
using lifecycle::ReasonOf;
using lifecycle::RemovalCause;
using Verdict = lifecycle::HoldingFacts::Verdict;

std::string WordOf(Verdict verdict) {
  return verdict == Verdict::kUnder ? "Under" : verdict == Verdict::kOver ? "Over" : "NotSet";
}

std::string MessageOf(const Pool& pool, const char* type) {
  const lifecycle::Condition* condition = FindCondition(pool.status.conditions, type);
  return condition == nullptr ? "" : condition->message;
}

std::string TextOf(const Preview& told) {
  return absl::StrCat("charge ", told.charge, " by ", told.charge_delta, ", more ", told.more_nodes,
                      ", victims ", absl::StrJoin(told.victims, ","), " waiting ",
                      told.waiting_victims, ", active ", told.active, ", pending ", told.pending,
                      ", reboots ", told.nodes_to_reboot);
}

// How often what happened.
using Seen = std::map<std::string, int64_t>;

// One order: what is said of it, and what comes of it.
class Order {
 public:
  Order(Town& town, std::string pool, Seen& seen)
      : town_(town), name_(std::move(pool)), seen_(seen) {}

  template <class Command>
  void Run(const Command& command) {
    const Pool* before = town_.Find(name_);
    if (before != nullptr) before_ = *before;
    held_ = before == nullptr ? 0 : town_.HoldingOf(*before);
    for (const Node* node : town_.NodesOf(name_)) {
      nodes_.push_back(*node);
      if (node->removal_cause != RemovalCause::kNone) leaving_.insert(node->machine);
    }
    const auto told = town_.Preview(command);
    verdict_ = town_.verdict();
    if (!told.ok()) {
      EXPECT_FALSE(town_.Run(command).ok());
      return;
    }
    told_ = *told;
    SCOPED_TRACE(absl::StrCat("told ", TextOf(told_), "\nbefore: ", Text()));
    town_.departures[name_].clear();
    town_.let_stay.erase(name_);
    town_.reboots[name_] = 0;
    ASSERT_TRUE(town_.Run(command).ok());
    ++seen_["orders"];
    town_.PassAlone(name_);
    CheckAtOnce();
    ASSERT_TRUE(town_.Converge()) << "never comes to rest";
    CheckWhileWorkGoesOn();
    if (town_.random.OneIn(3)) return;
    ASSERT_TRUE(town_.EndAllWork()) << "never comes to rest";
    CheckInTheEnd();
  }

 private:
  int64_t HeldBefore() const {
    return before_ ? std::max<int64_t>(before_->account.requested_nodes, std::ssize(nodes_)) : 0;
  }

  // Before any agent or other pool did anything.
  void CheckAtOnce() {
    SCOPED_TRACE(absl::StrCat("at once: ", Text()));
    const Pool* pool = town_.Find(name_);
    if (pool == nullptr) {
      ++seen_["gone at once"];
      EXPECT_EQ(told_.victim_count, 0);
      return;
    }
    const auto& conditions = pool->status.conditions;
    EXPECT_EQ(told_.invalid,
              ReasonOf(conditions, "Validated") == "Invalid" ? MessageOf(*pool, "Validated") : "");
    EXPECT_EQ(told_.capacity, MessageOf(*pool, "Capacity"));
    EXPECT_EQ(told_.more_nodes, std::max<int64_t>(0, pool->account.requested_nodes - HeldBefore()));
    if (!told_.invalid.empty()) ++seen_["invalid"];
    CheckClaim(*pool);
    if (told_.charge_delta > 0 && told_.invalid.empty()) {
      EXPECT_EQ(ReasonOf(conditions, "Quota"), WordOf(verdict_));
      // Replacements that come early are charged as long as both are there.
      if (verdict_ == Verdict::kUnder) {
        EXPECT_GE(town_.HoldingOf(*pool), told_.charge);
      } else {
        EXPECT_EQ(town_.HoldingOf(*pool), held_);
      }
      ++seen_[absl::StrCat("quota: ", WordOf(verdict_))];
    }
    if (!told_.active.empty()) {
      EXPECT_EQ(told_.active, pool->status.waiting ? pool->status.waiting->node_profile
                                                   : pool->status.node_profile);
      EXPECT_EQ(told_.pending, pool->status.pending ? pool->status.pending->node_profile : "");
      if (!told_.pending.empty()) ++seen_["configuration: pending"];
    }
  }

  void CheckClaim(const Pool& pool) {
    if (told_.more_nodes == 0) return;
    ASSERT_TRUE(told_.claim.here());
    const capacity::ClaimRow* claim = town_.ClaimOf(pool);
    ASSERT_NE(claim, nullptr);
    const lifecycle::ClaimFacts is = FactsOf(ViewOf(town_.cloud.capacity.state(), *claim));
    const lifecycle::ClaimFacts& told = told_.claim.value;
    EXPECT_EQ(told.machines, is.machines);
    EXPECT_EQ(told.outstanding, is.outstanding);
    EXPECT_EQ(told.reason, is.reason);
    ASSERT_EQ(told.queue.has_value(), is.queue.has_value());
    if (is.queue) {
      EXPECT_EQ(told.queue->place, is.queue->place);
      EXPECT_EQ(told.queue->nodes_ahead, is.queue->nodes_ahead);
      ++seen_[is.queue->place > 1 ? "queue: behind others" : "queue: first"];
    } else {
      ++seen_["queue: granted at once"];
    }
  }

  // The pool as it is.
  std::string Text() const {
    const Pool* pool = town_.Find(name_);
    if (pool == nullptr) return "none";
    std::string text = absl::StrCat(
        name_, " target ", pool->spec.target_nodes, ", ", TextOf(pool->spec.scale_down_strategy),
        " ", pool->spec.max_unavailable, " ", pool->spec.update_strategy, ", requested ",
        pool->account.requested_nodes, ", granted ", pool->account.granted_nodes, ", early ",
        pool->account.prefill_nodes, ", holding ", town_.HoldingOf(*pool), ", profile ",
        pool->status.node_profile, pool->reconfiguring() ? ", reconfigures" : "",
        pool->spec.gang ? ", gang" : "", pool->spec.node_affinity.empty() ? "" : ", affinity");
    for (const Node* node : town_.NodesOf(name_)) {
      absl::StrAppend(&text, "\n  ", node->machine, " ", NodeStateName(node->state), " ",
                      node->observed.node_profile.get(), node->observed.active ? " active" : "",
                      node->observed.unhealthy ? " unhealthy" : "",
                      node->removal_requested ? " named" : "",
                      node->protect_until_time == lifecycle::kNever ? "" : " protected",
                      node->observed.autoscaler_marked ? " marked" : "",
                      node->reconfigure_time == lifecycle::kNever ? "" : " chosen",
                      node->replace_time == lifecycle::kNever ? "" : " replaced",
                      IsAskedToGo(*node) ? " asked to go" : "",
                      town_.stuck.contains(node->machine) ? " stuck" : "");
    }
    for (const lifecycle::Condition& c : pool->status.conditions)
      absl::StrAppend(&text, "\n  ", c.type.get(), "=", c.reason.get(), ": ", c.message.get());
    return text;
  }

  // Nodes of before that go because of the order.
  std::set<std::string> Going() const {
    std::set<std::string> going;
    for (const auto& [machine, departure] : town_.departures[name_]) {
      const bool was = std::any_of(nodes_.begin(), nodes_.end(),
                                   [&](const Node& node) { return node.machine == machine; });
      if (was && !leaving_.contains(machine) &&
          (departure.cause == RemovalCause::kScaleDown ||
           departure.cause == RemovalCause::kDeletion))
        going.insert(machine);
    }
    return going;
  }
  // Others went for reasons of their own, or stayed, as their machines were needed elsewhere no
  // more: who goes, and who is there to reboot, is not what was foretold.
  bool Confused() const {
    if (town_.let_stay.contains(name_)) return true;
    return std::any_of(town_.departures[name_].begin(), town_.departures[name_].end(),
                       [&](const auto& entry) {
                         const RemovalCause cause = entry.second.cause;
                         return entry.second.preempted || cause == RemovalCause::kRepair ||
                                cause == RemovalCause::kNone;
                       });
  }

  void CheckWhileWorkGoesOn() {
    SCOPED_TRACE(absl::StrCat("while work goes on: ", Text()));
    if (Confused()) return;
    const std::set<std::string> going = Going();
    const std::set<std::string> told(told_.victims.begin(), told_.victims.end());
    EXPECT_TRUE(std::includes(told.begin(), told.end(), going.begin(), going.end()))
        << "told " << absl::StrJoin(told, ",") << ", going " << absl::StrJoin(going, ",");
    if (told_.waiting_victims > 0) {
      ++seen_["victims: some wait"];
      EXPECT_LE(std::ssize(going), told_.victim_count - told_.waiting_victims);
    }
  }

  void CheckInTheEnd() {
    SCOPED_TRACE(absl::StrCat("in the end: ", Text()));
    if (Confused()) {
      ++seen_["confused"];
      return;
    }
    const std::set<std::string> going = Going();
    EXPECT_EQ(std::ssize(going), told_.victim_count)
        << "told " << absl::StrJoin(told_.victims, ",") << ", went " << absl::StrJoin(going, ",");
    if (told_.victim_count > 0) ++seen_["victims: some"];
    const Pool* pool = town_.Find(name_);
    if (pool == nullptr) {
      ++seen_["gone"];
      return;
    }
    const std::vector<const Node*> nodes = town_.NodesOf(name_);
    const bool settled = std::all_of(nodes.begin(), nodes.end(), [](const Node* node) {
      return node->removal_cause == RemovalCause::kNone;
    });
    if (settled && (verdict_ == Verdict::kUnder || told_.charge_delta <= 0)) {
      EXPECT_EQ(town_.HoldingOf(*pool), told_.charge);
    }
    // Who waits for the budget is chosen anew when it is his turn: work may have ended meanwhile.
    if (going == std::set<std::string>(told_.victims.begin(), told_.victims.end()))
      CheckReboots(*pool);
  }

  void CheckReboots(const Pool& pool) {
    if (told_.nodes_to_reboot > 0) ++seen_["reboots: some"];
    if (pool.reconfiguration && (!before_ || before_->reconfiguration != pool.reconfiguration)) {
      EXPECT_EQ(told_.nodes_to_reboot, town_.reboots[name_]);
      ++seen_["reboots: asked for"];
      return;
    }
    const std::vector<const Node*> nodes = town_.NodesOf(name_);
    EXPECT_EQ(told_.nodes_to_reboot,
              std::count_if(nodes.begin(), nodes.end(), [&](const Node* node) {
                return IsInService(node->state) &&
                       node->observed.node_profile != pool.status.node_profile;
              }));
  }

  Town& town_;
  const std::string name_;
  Seen& seen_;
  std::optional<Pool> before_;
  int64_t held_ = 0;  // of quota
  std::vector<Node> nodes_;
  std::set<std::string> leaving_;
  Preview told_;
  Verdict verdict_ = {};
};

std::vector<std::string> SomeMachines(Town& town, const std::string& pool, int one_in) {
  std::vector<std::string> some;
  for (const Node* node : town.NodesOf(pool)) {
    if (town.random.OneIn(one_in)) some.push_back(node->machine);
  }
  return some;
}

void OrderSome(Town& town, Seen& seen) {
  const std::string name = town.random.Pick(Town::PoolNames());
  Order order(town, name, seen);
  const Pool* pool = town.Find(name);
  const auto* type = pool == nullptr
                         ? nullptr
                         : town.cloud.capacity.state().FindInstanceType(pool->spec.instance_type);
  const auto facts = [](const capacity::InstanceTypeRow* row) {
    return row == nullptr ? std::nullopt
                          : std::optional(lifecycle::TypeFacts{row->id, row->gpus, row->superchip,
                                                               row->nodes_per_rack});
  };
  const int kind = town.random.Uniform(16);
  if (pool == nullptr || kind < 5) {
    lifecycle::ApplyNodePool command{.name = name};
    command.new_uid = absl::StrCat("uid-", seen["orders"] + seen["refused"]++);
    command.spec = SomeSpec(town.random, name, pool);
    command.spec.gang = town.random.OneIn(3);
    command.target_nodes = town.SomeTarget(name);
    command.type = facts(town.cloud.capacity.state().FindInstanceType(command.spec.instance_type));
    order.Run(command);
    ++seen[pool == nullptr ? "apply: new" : "apply: changed"];
  } else if (kind < 9) {
    lifecycle::ResizeNodePool command{.name = name};
    command.target_nodes = town.SomeTarget(name);
    command.type = facts(type);
    order.Run(command);
    ++seen["resize: count"];
  } else if (kind < 12) {
    lifecycle::ResizeNodePool command{.name = name};
    command.remove_machines = SomeMachines(town, name, 3);
    if (command.remove_machines.empty()) return;
    command.type = facts(type);
    order.Run(command);
    ++seen["resize: names"];
  } else if (kind < 15) {
    lifecycle::ReconfigureNodePool command{.name = name};
    command.evict_active = town.random.OneIn(2);
    command.max_unavailable = town.random.OneIn(2) ? "" : "2";
    if (town.random.OneIn(2)) command.machines = SomeMachines(town, name, 2);
    order.Run(command);
    ++seen["reconfigure"];
  } else {
    order.Run(lifecycle::DeleteNodePool{.name = name});
    ++seen["delete"];
  }
}

constexpr int kOrdersATown = 20;

void RunTown(uint64_t seed, Seen& seen) {
  Town town(seed);
  for (int i = 0; i < 3; ++i) town.Stir();
  for (int i = 0; i < kOrdersATown && !::testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(absl::StrCat("town ", seed, ", order ", i));
    town.Stir();
    if (!town.random.OneIn(5)) {
      ASSERT_TRUE(town.Converge()) << "never comes to rest";
    }
    OrderSome(town, seen);
  }
}

// FORETOLD=A-B: those towns, each of which gets up to twenty orders.
TEST(Foretold, WhatADryRunSaysIsWhatThenHappens) {
  uint64_t first = 1;
  uint64_t last = 300;
  const char* range = std::getenv("FORETOLD");
  if (range != nullptr) {
    const std::string text = range;
    const size_t dash = text.find('-');
    ASSERT_TRUE(absl::SimpleAtoi(text.substr(0, dash), &first));
    ASSERT_TRUE(absl::SimpleAtoi(text.substr(dash + 1), &last));
  }
  Seen seen;
  for (uint64_t seed = first; seed <= last && !HasFailure(); ++seed) RunTown(seed, seen);
  for (const auto& [what, times] : seen) std::cout << times << " " << what << "\n";
  for (const char* what :
       {"apply: changed", "apply: new", "configuration: pending", "delete", "gone", "invalid",
        "queue: behind others", "queue: first", "queue: granted at once", "quota: NotSet",
        "quota: Over", "quota: Under", "reboots: asked for", "reboots: some", "reconfigure",
        "resize: count", "resize: names", "victims: some", "victims: some wait"})
    EXPECT_GE(seen[what], 5) << what;
}

}  // namespace
}  // namespace muster::simulation
