#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "services/lifecycle/core/demand.h"
#include "tests/simulation/cloud.h"

namespace muster::simulation {

class Fleet;

// Sees every commit and says what must never be. The first fault is kept.
class Judge {
 public:
  // Listens to the cloud's services. Both must outlive it.
  Judge(Cloud& cloud, const Fleet& fleet);

  void Fail(std::string what) {
    if (failure_.empty()) failure_ = std::move(what);
  }
  const std::string& failure() const { return failure_; }
  bool failed() const { return !failure_.empty(); }

  // A replica asks capacity for a pool: the same generation must always ask the same.
  void Asked(const std::string& pool_uid, const lifecycle::ClaimAsk& ask);

  // What must hold between any two steps. Cheap.
  void CheckStep();
  // All books from their rows.
  void CheckBooks();

  int64_t plans = 0;
  int64_t nodes_made() const { return tally_.made; }

 private:
  // What happened to rows, to be told of by as many events.
  struct Tally {
    int64_t made = 0;
    int64_t registered = 0;
    int64_t delivery_failed = 0;
    int64_t cordoned = 0;
    int64_t uncordoned = 0;
    int64_t draining = 0;
    int64_t prepared = 0;
    int64_t deleted = 0;
    int64_t pools_made = 0;
    int64_t pools_deleted = 0;
    int64_t scaled_up = 0;
    int64_t scaled_down = 0;
    int64_t over_quota = 0;
    int64_t short_of_capacity = 0;
  };

  void LifecycleCommitted(const Overlay<lifecycle::State>& overlay);
  void NodeChanged(const lifecycle::State& state, const lifecycle::Node* before,
                   const lifecycle::Node* after);
  void NodeMoved(const lifecycle::State& state, const lifecycle::Node& before,
                 const lifecycle::Node& after);
  void PoolChanged(const lifecycle::Pool* before, const lifecycle::Pool* after);
  void ConditionsChanged(const std::string& name, const std::vector<lifecycle::Condition>& before,
                         const std::vector<lifecycle::Condition>& after);
  void EventsMustMatch();
  void CapacityCommitted(const Overlay<capacity::State>& overlay);
  void MachineChanged(const capacity::MachineRow* before, const capacity::MachineRow* after);
  void QuotaCommitted(const Overlay<quota::State>& overlay);

  Cloud& cloud_;
  const Fleet& fleet_;
  std::string failure_;
  Tally tally_;
  // An event tells of a transition on the Node, on its pool, or on both.
  struct Said {
    int64_t node = 0;
    int64_t pool = 0;
  };
  std::map<std::string, Said> said_;  // by reason
  std::map<std::pair<std::string, int64_t>, lifecycle::ClaimAsk> asked_;
};

}  // namespace muster::simulation
