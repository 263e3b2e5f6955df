#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "services/lifecycle/core/books_memory.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/demand.h"
#include "tests/simulation/amnesty.h"
#include "tests/simulation/checker_lead.h"
#include "tests/simulation/cloud.h"

namespace muster::simulation {

class Fleet;

// Sees every commit and fails on what must never be. Keeps the first fault.
class InvariantChecker {
 public:
  // Listens to the cloud's services. Both must outlive it.
  InvariantChecker(Cloud& cloud, const Fleet& fleet);

  void Fail(std::string what) {
    if (failure_.empty()) failure_ = std::move(what);
  }
  const std::string& failure() const { return failure_; }
  bool failed() const { return !failure_.empty(); }

  // A replica asks capacity for a pool: in one history the same generation must always ask the
  // same.
  void Asked(const std::string& pool_uid, int64_t incarnation, const lifecycle::ClaimAsk& ask);
  // A plan was carried out. `planned`: when it was made, by its replica's clock. `by`: the process
  // that made it.
  void CarriedOut(const lifecycle::ApplyPlan& plan, absl::Time planned, const std::string& by);
  // The collector is about to give back what the services hold for a pool that is gone.
  void GivesBack(const std::string& uid);
  // A service was restored; `lost`: its state before that.
  template <class State>
  void Restored(const State& lost) {
    amnesty_.Forgot(lost);
    checked_ = -1;
    lead_.Disturbed(cloud_.steady.Now());
    if constexpr (std::is_same_v<State, lifecycle::State>) LifecycleRestored(lost);
  }
  const Amnesty& amnesty() const { return amnesty_; }
  LeadChecker& lead() { return lead_; }
  // The clocks of some services were set.
  void ClocksSet() { lead_.Disturbed(cloud_.steady.Now()); }
  void CheckLead(const std::vector<LeadChecker::Standing>& all);

  // Counts for the survey what only the checker sees.
  void Notice(const std::string& kind, int64_t times = 1) { noticed_[kind] += times; }
  const std::map<std::string, int64_t>& noticed() const { return noticed_; }

  // What must hold between any two steps: the books of the four services agree, but for what is on
  // its way, and what a restore excuses (amnesty.h).
  void CheckStep();
  // At rest: the books do not differ at all; nothing is on its way, nothing excused.
  void CheckNoDifference();
  // The audits of quota and of capacity, which add up their own rows, find nothing.
  void CheckBooks();

  int64_t plans = 0;
  // Transitions of Nodes and pools, by the reason of the event that must tell of them.
  const std::map<std::string, int64_t>& happened() const { return happened_; }
  // From then on the world makes no more faults, so what is due must be done in time.
  absl::Time calm_since = absl::InfiniteFuture();

 private:
  void LifecycleRestored(const lifecycle::State& lost);
  void CountGivenUp(const lifecycle::ApplyPlan& plan, absl::Time planned);
  void LifecycleCommitted(const StagedState<lifecycle::State>& staged);
  void NodeChanged(const lifecycle::State& state, const lifecycle::Node* before,
                   const lifecycle::Node* after);
  void CountNode(const lifecycle::Node& before, const lifecycle::Node& after);
  void CountPool(const lifecycle::Pool& before, const lifecycle::Pool& after);
  void CheckMove(const lifecycle::Pool& pool, const lifecycle::Node& before,
                 const lifecycle::Node& after);
  void CheckPreemption(const lifecycle::Pool& pool, const lifecycle::Node& before,
                       const lifecycle::Node& after);
  void CheckBudget(const lifecycle::State& state, const std::string& pool, int64_t gone);
  void PoolChanged(const lifecycle::Pool* before, const lifecycle::Pool* after);
  void ConditionsChanged(const std::string& name, const std::vector<lifecycle::Condition>& before,
                         const std::vector<lifecycle::Condition>& after);
  void CheckEvents();
  void CapacityCommitted(const StagedState<capacity::State>& staged);
  void MachineChanged(const capacity::MachineRow* before, const capacity::MachineRow* after);
  void QuotaCommitted(const StagedState<quota::State>& staged);

  Cloud& cloud_;
  const Fleet& fleet_;
  int64_t checked_ = -1;  // the sum of the revisions at which the books agreed
  std::string failure_;
  std::map<std::string, int64_t> happened_;
  // An event tells of a transition on the Node, on its pool, or on both.
  struct Said {
    int64_t node = 0;
    int64_t pool = 0;
  };
  std::map<std::string, Said> said_;  // by reason
  // By pool uid, generation and capacity's history.
  std::map<std::tuple<std::string, int64_t, int64_t>, lifecycle::ClaimAsk> asked_;
  // Nodes that took work, and the revision since which that is known.
  std::map<std::string, int64_t> served_;
  std::map<std::string, absl::Duration> gone_;  // since when there is no such pool, by uid
  struct GivenUp {
    int64_t nodes = 0;
    absl::Time since = absl::InfinitePast();
  };
  std::map<std::string, GivenUp> given_up_;  // in this interval, by uid
  std::map<std::string, int64_t> noticed_;
  Amnesty amnesty_;
  LeadChecker lead_{Cloud::kLeaseTtl, Cloud::kBeat};
};

}  // namespace muster::simulation
