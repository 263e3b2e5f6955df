#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/lifecycle/core/budget.h"
#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/event_reasons.h"
#include "services/lifecycle/core/pool_plan.h"
#include "services/lifecycle/core/snapshot.h"

// The two things that every part of a plan is given (plan_parts.h): what is known, which does not
// change, and the plan so far.
namespace muster::lifecycle {

// What is known of the pool, and what follows from it at once.
struct PlanFacts {
  // The snapshot must outlive it.
  explicit PlanFacts(const Snapshot& snapshot);

  // The profile that Nodes may boot now; empty: none.
  std::string BootProfile() const { return profile_disabled ? "" : profile; }
  // Whether Nodes that have work go as well.
  bool ActiveToo() const;
  // Whether the pool's claim does not hold the Node's machine.
  bool IsUnheld(const Node& node) const;

  const Snapshot& snapshot;
  const Pool& pool;
  const PeerReplies& answers;
  const Policy& policy;
  const absl::Time now;
  const Demand demand;  // what was asked
  const CatalogueCheck catalogue_check;
  const std::string profile;  // the active one; empty: not known yet
  const bool profile_disabled;
};

// The plan so far, and the pool's Nodes as they will be once its actions are carried out.
class Draft {
 public:
  // The facts must outlive it.
  explicit Draft(const PlanFacts& facts);

  void AddAction(Action action) { plan_.actions.push_back(std::move(action)); }
  void AddEvent(EventReason reason, std::string message);
  // Something is not done. `until`: when time alone ends that.
  void AddDefer(DeferReason reason, absl::string_view subject, std::string message,
                absl::Time until = kNever);
  // The next plan differs at `at` at the latest.
  void MoveDue(absl::Time at) { plan_.due = std::min(plan_.due, at); }

  // False once the plan is long enough: the rest is for the next one, which is due at once because
  // this one changes rows.
  bool HasStepsLeft() const;
  // Adds an action that counts towards that.
  void AddStep(Action action) {
    AddAction(std::move(action));
    ++steps_;
  }

  // Carries out an action on a Node. False: it does not fit, and nothing is done.
  template <class A>
  bool Apply(Node& node, A action) {
    Node after = node;
    if (!CarryOut(after, facts_.pool, action, facts_.now).ok()) return false;
    if (after == node) return false;
    node = std::move(after);
    AddStep(std::move(action));
    return true;
  }
  bool Step(Node& node, NodeEvent event, absl::string_view reason,
            RemovalCause cause = RemovalCause::kNone, absl::Time drain_deadline = kNever);

  std::vector<const Node*> Nodes() const;
  // Nodes that are here or come, and are not on their way out; their machines are the pool's.
  int64_t KeptNodes() const;
  // True: the budget lets the Node go out of service for that cause. False: that is deferred.
  bool MayDisrupt(const Node& node, const char* cause);

  PoolPlan TakePlan() { return std::move(plan_); }

  std::map<std::string, Node> nodes;  // by name
  PoolAccount account;
  std::optional<Reconfiguration> reconfiguration;
  Budget budget;

 private:
  const PlanFacts& facts_;
  size_t steps_ = 0;
  PoolPlan plan_;
};

}  // namespace muster::lifecycle
