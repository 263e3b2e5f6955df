#pragma once

#include <functional>
#include <string>
#include <vector>

#include "services/lifecycle/core/books.h"
#include "services/lifecycle/core/books_memory.h"
#include "tests/simulation/checker.h"
#include "tests/simulation/cloud.h"
#include "tests/simulation/network.h"
#include "tests/simulation/options.h"

namespace muster::simulation {

// Gives back what belongs to no pool: services/lifecycle/reconcile/orphan_collector.cc without
// threads and messages, around the same OrphanMemory. A round is cut into steps between which
// anything may happen: reading the other services' books, reading the pools, and each release.
class Collector {
 public:
  // All must outlive it.
  Collector(Cloud& cloud, Network& network, InvariantChecker& checker, Bug bug)
      : cloud_(cloud), network_(network), checker_(checker), bug_(bug) {}

  // Does the next step of a round, or begins one. `epoch`: under which its replica believes that it
  // leads; 0: it does not. Another epoch than last time: all is forgotten.
  void Step(int64_t epoch);
  // Makes rounds until there are no orphans, however many at once, as if a person had allowed it.
  // True: something was given back. `before_release`: called in each round before what it gives
  // back.
  bool CollectAll(int64_t epoch, const std::function<void()>& before_release);
  // The uid for which something is given back next; null: none.
  const std::string* next() const { return releases_.empty() ? nullptr : &releases_.back(); }
  // Forgets all that is under way.
  void Die();

 private:
  enum class Stage { kIdle, kPools, kReleasing };

  void Read();
  // True: there are so many orphans that none is given back.
  bool Judge(const lifecycle::OrphanPolicy& policy);
  void ReleaseNext();
  bool HasPool(const std::string& uid) const;
  void GiveBack(const std::string& uid);
  // Sends a release; false: there is no answer.
  template <class F>
  bool Send(bool away, absl::string_view what, F call);
  bool GiveBackClaim(const lifecycle::ClaimEntry& claim);
  bool GiveBackHolding(const lifecycle::HoldingEntry& holding);
  bool GiveBackConfiguration(const lifecycle::ConfigurationEntry& configuration);

  Cloud& cloud_;
  Network& network_;
  simulation::InvariantChecker& checker_;
  const Bug bug_;
  Stage stage_ = Stage::kIdle;
  int64_t led_ = 0;
  lifecycle::Books books_;
  lifecycle::OrphanMemory orphans_;
  std::vector<std::string> releases_;
  int64_t orphans_here_ = 0;
  int64_t given_back_ = 0;
};

}  // namespace muster::simulation
