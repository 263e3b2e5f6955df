#pragma once

#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "services/common/event_reasons.h"
#include "services/lifecycle/core/budget.h"
#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/pool_plan.h"
#include "services/lifecycle/core/quiet_nodes.h"
#include "services/lifecycle/core/reconfiguration.h"
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
  // Whether too many boots into the profile failed.
  bool IsDisabled(absl::string_view profile) const;
  // Whether Nodes that have work may be removed, too (victims.h).
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
  const AskedNodes asked;  // for reconfigure reboots
};

// The Nodes of a snapshot, by whether the plan looks at them.
struct SortedNodes {
  QuietNodes quiet = {};
  std::vector<const Node*> quiet_rows = {};    // by name
  std::map<std::string, Node> looked_at = {};  // by name
};
// `look_at_all`: as if none was quiet. In plan_quiet.cc.
SortedNodes SortOut(const PlanFacts& facts, bool look_at_all);

// The plan so far, and the pool's Nodes as they will be once its actions are carried out.
class Draft {
 public:
  // The facts must outlive it. `look_at_all`: no Node is quiet.
  explicit Draft(const PlanFacts& facts, bool look_at_all = false);

  void AddAction(Action action) { plan_.actions.push_back(std::move(action)); }
  void AddEvent(EventReason reason, std::string message);
  // Notes that something is not done. `until`: when time alone ends that; the next plan is due
  // then.
  void AddDefer(DeferReason reason, absl::string_view subject, std::string message,
                absl::Time until = kNever);
  // The next plan differs at `at` at the latest.
  void MoveDue(absl::Time at) { plan_.due = std::min(plan_.due, at); }

  // True when a Node that by its row was never told to boot may be running nevertheless: the
  // database was restored, and the order may be in the part that was lost.
  bool MayRunUnknown() const { return facts_.snapshot.restored; }

  // False once the plan is long enough: the rest is for the next one, which is due at once because
  // this one changes rows.
  bool HasStepsLeft() const;
  // Adds an action that counts towards that.
  void AddStep(Action action) {
    AddAction(std::move(action));
    ++steps_;
  }

  // Carries out an action on a Node and adds it. False: it does not fit or changes nothing; not
  // added.
  template <class A>
  bool Apply(Node& node, A action) {
    Node after = node;
    if (!CarryOut(after, facts_.pool, action, facts_.now).ok()) return false;
    if (after == node) return false;
    kept_ += Keeps(after) - Keeps(node);
    node = std::move(after);
    AddStep(std::move(action));
    return true;
  }
  bool Step(Node& node, NodeEvent event, absl::string_view reason,
            RemovalCause cause = RemovalCause::kNone, absl::Time drain_deadline = kNever);

  // Makes a Node of a machine.
  void Assign(AssignNode action);
  // Deletes a Node's row. Returns the next Node.
  std::map<std::string, Node>::iterator Purge(std::map<std::string, Node>::iterator node,
                                              absl::string_view reason);

  bool IsPurged(const std::string& machine) const { return purged_.contains(machine); }
  // Whether there is a Node of that name, quiet or not.
  bool Has(const std::string& name) const;

  // Those that are not quiet, by name.
  std::vector<const Node*> LookedAt() const;
  // All, by name: for what chooses among them.
  std::vector<const Node*> Nodes() const;
  // Rows of which no more is known to the plan than CountsTheSame compares, by name.
  std::vector<const Node*> OnlyCounted() const;
  // How many.
  int64_t size() const { return std::ssize(nodes) + quiet.size(); }
  // The Node of that name, which must exist; it is not quiet from now on.
  Node& LookAt(const std::string& name);
  // Nodes that are here or come, and are not on their way out; their machines are the pool's.
  int64_t KeptNodes() const { return kept_; }
  // A budget of the Nodes as they are now; `text` as in budget.h.
  Budget BudgetOf(absl::string_view text) const;
  // True when the budget lets the Node go out of service for that cause, or it is out already.
  // False: it is deferred.
  bool MayDisrupt(const Node& node, const char* cause);

  PoolPlan TakePlan() { return std::move(plan_); }

  QuietNodes quiet;
  std::map<std::string, Node> nodes;  // by name; those that are not quiet
  std::set<std::string> awaited;  // names of Nodes that are to go by the target and do not go yet
  bool chose = false;  // among all Nodes, by their work: quiet ones were not only counted
  PoolAccount account;
  std::optional<Reconfiguration> reconfiguration;
  Budget budget;

 private:
  Draft(const PlanFacts& facts, SortedNodes sorted);
  // Null when there is none.
  const Node* QuietRow(const std::string& name) const;
  // 1 for a Node that KeptNodes counts, else 0.
  int64_t Keeps(const Node& node) const;

  const PlanFacts& facts_;
  std::vector<const Node*> quiet_rows_;      // by name; some are looked at since
  absl::flat_hash_set<std::string> purged_;  // machines
  int64_t kept_ = 0;
  size_t steps_ = 0;
  PoolPlan plan_;
};

}  // namespace muster::lifecycle
