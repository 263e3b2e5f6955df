#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "services/lifecycle/core/preview.h"
#include "services/lifecycle/core/testing/simulation_agents.h"
#include "tests/simulation/cloud.h"
#include "tests/simulation/peers.h"
#include "tests/simulation/random.h"

namespace muster::simulation {

// The four cores in a world without faults: every question is answered at once. A pass is that of
// services/lifecycle/reconcile/reconciler.cc, a preview that of services/lifecycle/api/advisor.cc.
// Pools of two organizations share one zone.
class Town : public lifecycle::SimAgents {
 public:
  explicit Town(uint64_t seed);

  Random random;
  Cloud cloud;
  lifecycle::Policy policy = {};

  // --- what is there ---
  static const std::vector<std::string>& PoolNames();
  const lifecycle::Pool* Find(const std::string& pool) const {
    return cloud.lifecycle.state().table<lifecycle::Pool>().Find(pool);
  }
  std::vector<const lifecycle::Node*> NodesOf(const std::string& pool) const {
    return cloud.lifecycle.state().NodesOf(pool);
  }
  // Null: it has none.
  const capacity::ClaimRow* ClaimOf(const lifecycle::Pool& pool) const {
    return cloud.capacity.state().FindClaim(pool.uid);
  }
  int64_t HoldingOf(const lifecycle::Pool& pool) const;
  absl::Time Now() const { return TimeOf(cloud.lifecycle); }

  // A target that a caller may want for the pool.
  int64_t SomeTarget(const std::string& pool);

  // --- what happens ---
  // One pass over the pool. True: it did something, here or elsewhere.
  bool Pass(const std::string& pool);
  // Passes over this pool alone until they do nothing; no time goes by, agents do nothing.
  void PassAlone(const std::string& pool);
  // Passes over all pools, with their agents, until nothing moves within seconds. False: it never
  // came to rest.
  bool Converge();
  // Lets administrators, users and agents do something; then Converge.
  void Stir();
  // Ends all work, illness and protection, so that agents do as they are told; then Converge.
  bool EndAllWork();

  template <class Command>
  lifecycle::StatusOrOutcome Run(const Command& command) {
    return cloud.lifecycle.Run(command, cloud.now);
  }
  // What the advisor answers to an order with validate_only; refused orders have no preview.
  template <class Command>
  absl::StatusOr<lifecycle::Preview> Preview(const Command& command) {
    const int64_t before = cloud.revisions();
    auto tried =
        cloud.lifecycle.Ask([&](auto& staged) { return lifecycle::Try(staged, command, Now()); });
    if (!tried.ok()) return tried.status();
    lifecycle::Preview told = Rehearse(*tried->dry_run);
    verdict_ = CheckQuota(tried->dry_run->after, told.charge);
    if (cloud.revisions() != before) std::abort();
    return told;
  }
  // What quota said to the charge of the last preview.
  lifecycle::HoldingFacts::Verdict verdict() const { return verdict_; }

  // Why a Node went, or is about to; the test clears it.
  struct Departure {
    lifecycle::RemovalCause cause = lifecycle::RemovalCause::kNone;
    bool preempted = false;
  };
  std::map<std::string, std::map<std::string, Departure>> departures = {};  // by pool and machine
  std::map<std::string, int64_t> reboots = {};                              // by pool
  std::set<std::string> let_stay =
      {};  // pools of whose Nodes a preemption was taken back; likewise

 private:
  // What a commit would take for the time: no two are at the same.
  template <class Service>
  absl::Time TimeOf(const Service& service) const {
    return std::max(service.TimeAt(cloud.now), service.time() + absl::Microseconds(1));
  }
  void MakeCatalogue();
  void RegisterRack(const std::string& type, int count);
  void MoveLimit(const std::string& pool);
  void ActAsUser();
  bool ActAsAgents();
  void Listen();
  lifecycle::Preview Rehearse(const lifecycle::DryRun& dry_run);
  lifecycle::HoldingFacts::Verdict CheckQuota(const lifecycle::Pool& pool, int64_t charge);
  void Ask(PoolView& view, bool only_ask);
  // A look at the pool in those rows, with what the others answer.
  PoolView LookAt(const lifecycle::State& state, const std::string& pool, bool only_ask);
  lifecycle::Snapshot SnapshotOf(const PoolView& view) const;

  const int rack_nodes_;
  int racks_ = 0;
  int versions_ = 1;
  lifecycle::HoldingFacts::Verdict verdict_ = {};
  absl::Time due_ = absl::InfiniteFuture();  // when a pool is due by itself
};

}  // namespace muster::simulation
