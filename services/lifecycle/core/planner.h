#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/lifecycle/core/budget.h"
#include "services/lifecycle/core/plan.h"
#include "services/lifecycle/core/removals.h"
#include "services/lifecycle/core/text.h"

namespace muster::lifecycle {

// Plans one pool: the inside of plan.h, cut by what it is about. Holds the Nodes as they will be
// once the actions so far are carried out.
class Planner {
 public:
  explicit Planner(const Snapshot& snapshot);
  PoolPlan Run();

 private:
  // --- plan.cc: what all parts need ---
  const Answers& answers() const { return snapshot_.answers; }
  absl::Time now() const { return snapshot_.now; }
  const Policy& policy() const { return snapshot_.policy; }
  bool AnyAway() const;
  void Do(Action action) { plan_.actions.push_back(std::move(action)); }
  void Say(EventReason reason, std::string message);
  void Wait(DeferReason reason, absl::string_view subject, std::string message,
            absl::Time until = kNever);
  void Due(absl::Time at) { plan_.due = std::min(plan_.due, at); }
  // False once the plan is long enough: the rest is for the next one, which is due at once because
  // this one changes rows.
  bool Room() const { return steps_ < kMaxStepsAPlan; }
  // Carries out an action on a Node. False: it does not fit, and nothing is done.
  template <class A>
  bool Take(Node& node, A action) {
    Node after = node;
    if (!CarryOut(after, pool_, action, now()).ok()) return false;
    if (after == node) return false;
    node = std::move(after);
    Do(std::move(action));
    ++steps_;
    return true;
  }
  bool Step(Node& node, NodeEvent event, absl::string_view reason,
            RemovalCause cause = RemovalCause::kNone, absl::Time drain_deadline = kNever);
  std::vector<const Node*> Nodes() const;
  // Nodes that are here or come, and are not on their way out; their machines are the pool's.
  int64_t Keeping() const;
  bool ActiveToo() const { return lifecycle::ActiveToo(pool_); }
  // The profile that Nodes may boot now; empty: none.
  std::string BootProfile() const { return profile_disabled_ ? "" : profile_; }
  // True: the budget lets the Node go out of service for that cause.
  bool MayDisrupt(const Node& node, const char* cause);

  // --- plan_rebase.cc: services that know more than the rows ---
  void RaiseGenerations();

  // --- plan_supply.cc: machines come and go back ---
  bool Finished();
  void PurgeReturned();
  bool IsInRepair(const Node& node) const;
  void AssignGranted();
  void OrderBoots();
  void AbortBrokenBoots();
  void WaitForConfiguration(Node& node, DeferReason reason, const std::string& because);
  int64_t PrefillNodes() const;
  void TimeOutBoots();
  void Agree();

  // --- plan_unheld.cc: Nodes whose machine the claim does not hold, and the reverse ---
  bool IsUnheld(const Node& node) const;
  bool IsTaken(const std::string& machine);
  void LeaveUnheld();
  void Leave(Node& node, absl::Time from);

  // --- plan_removal.cc: scale-down, deletion, drains ---
  void LetGo();
  void Remove();
  void Delay(const DelayedRemoval& delayed);
  // The first step of a removal, which depends on how far the Node came.
  void Dismiss(Node& node, RemovalCause cause, absl::string_view reason);
  void Drain();
  void StartDrain(Node& node);
  void MindDeadline(Node& node);
  void NameTheSilent(const Node& node);
  void NameTheMarked(const Node& node);
  void FollowStrategy(Node& node);

  // --- plan_preemption.cc: spot ---
  void Preempt();
  void BeginPreemption(Node& node);
  void PreemptDrained(Node& node);

  // --- plan_give_up.cc: how many Nodes are given up because time went by ---
  int64_t MostGivenUp() const;
  bool MayGiveUp() const;
  void CountGivenUp();
  void SayGiveUpLimit();

  // --- plan_health.cc: triage, repair, replacements that come early ---
  void Health();
  void Recover(Node& node);
  void Replace(Node& node, int64_t& replacements);
  bool HasReplacement(Node& node, int64_t& replacements);

  // --- plan_reservation.cc: Nodes that an operator moves to the control plane ---
  void Reserve();

  // --- plan_reconfigure.cc ---
  void StageProfiles();
  void Reconfigure();
  void MoveReconfiguration(Reconfiguration::State state, const std::string& halt_reason,
                           absl::string_view reason);
  bool MayReboot();
  void Reboot(Budget& own);
  void ReleaseChosen(absl::string_view why);
  bool IsAsked(const Node& node) const;
  bool IsOutdated(const Node& node) const;

  // --- plan_publish.cc: the status and the events of the pool ---
  void RefreshAllMetadata();
  void Publish();
  void Announce(const Condition& now, const Status& status);
  void AnnounceCapacity(const Condition& now, const Status& status);
  void AnnounceQuota(const Condition& now, const Status& status);
  void AnnounceTarget();
  void AnnounceConfiguration(const Status& status);
  void AnnounceOrders();
  void AnnounceOrder(const ConfigurationOrder& order);
  void AnnounceEnd(const ConfigurationOrder& order);

  const Snapshot& snapshot_;
  const Pool& pool_;
  const Demand demand_;
  const Judgement judgement_;
  const std::string profile_;  // the active one; empty: not known yet
  const bool profile_disabled_;
  Account account_;
  std::optional<Reconfiguration> reconfiguration_;  // as it will be
  std::map<std::string, Node> nodes_;
  Budget budget_;
  std::vector<std::string> timed_out_reboots_;  // machines, by this plan
  // Nodes that would be given up, were they not too many.
  int64_t late_boots_ = 0;
  int64_t late_repairs_ = 0;
  int64_t late_unheld_ = 0;
  size_t steps_ = 0;
  PoolPlan plan_;
};

}  // namespace muster::lifecycle
