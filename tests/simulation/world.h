#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "tests/simulation/cloud.h"
#include "tests/simulation/dice.h"
#include "tests/simulation/fleet.h"
#include "tests/simulation/judge.h"
#include "tests/simulation/options.h"
#include "tests/simulation/replica.h"
#include "tests/simulation/survey.h"

namespace muster::simulation {

// All of Muster and its surroundings under one clock in one thread. What happens follows from the
// options alone.
class World {
 public:
  explicit World(const Options& options);

  // One random thing happens.
  void Step(int number);
  // Faults end; it is to come to rest, write nothing more, and to leave nothing when all is
  // deleted.
  void Finish();

  const Judge& judge() const { return judge_; }
  const Survey& survey() const { return survey_; }
  void CountLateReports() {
    survey_.Saw("message: report about an earlier Node", fleet_.late_of_others());
  }

 private:
  // --- set-up (world.cc) ---
  Replica::Surroundings Around() {
    return {cloud_, network_, dice_, weather_, judge_, policy_, options_.bug};
  }
  void MakeCatalogue();
  void MakeClusters();
  void RegisterRack(const std::string& zone, const std::string& type, int rack, int count);
  void Listen();

  // --- what happens (steps.cc) ---
  void PassTime();
  void StepReplica();
  void StepQuestion();
  void MoveLease();
  void StepFleet();
  void StepNetwork();
  void Restart();
  void StepCaller();
  void ApplySome(bool validate_only);
  void ResizeSome(bool validate_only);
  void DeleteSome(bool validate_only);
  void ReconfigureSome(bool validate_only);
  void RemoveSome(bool validate_only);
  void ProtectSome(bool validate_only);
  void OrderSome();
  void Order(const configuration::OrderPool& command);
  void StepReboots(bool validate_only);
  lifecycle::Spec SomeSpec(const std::string& pool);
  int64_t SomeTarget(const std::string& pool);
  // Rather one where something is under way.
  std::string SomeBusyPool();

  // --- administrators (admin.cc) ---
  void StepAdmin();
  void CountTooFar();
  void MoveLimit();
  void MoveMachine();
  // A machine in repair is well again.
  void Repair(const std::string& machine);
  void MoveZone();
  void MoveCluster();
  void Publish(configuration::Component component, std::string version);
  void Release();
  bool BootsSomewhere(const configuration::Release& release) const;
  void Withdraw();
  // Brings pools to the releases there are, some or all. True: there were any.
  bool SettleConfigurations(bool all);
  std::vector<std::string> PoolNames() const;

  // --- the end (finish.cc) ---
  void Heal();
  bool EnableAll();
  // Until nothing moves. False: it never did.
  bool Settle();
  void CheckAtRest();
  void CheckPool(const lifecycle::Pool& pool);
  void CheckNothingMoves();
  void CheckNothingLeft();
  void Due(const std::string& pool, absl::Time at);
  void DueByQuota(const std::string& quota, bool limit);
  std::vector<std::string> TakeDue();

  const Options options_;
  Dice dice_;
  Weather weather_;
  lifecycle::Policy policy_;
  Cloud cloud_;
  Network network_;
  Fleet fleet_;
  // Machines of a rack; 18 as NVL72 has, or fewer, so that more happens with them.
  const int rack_nodes_;
  Judge judge_;
  Survey survey_;
  std::vector<Replica> replicas_;
  Replica advisor_;
  std::map<std::string, absl::Time> due_;  // pools, as the reconciler's DueSet
  int64_t lease_epoch_ = 0;
  int64_t next_uid_ = 0;
  int64_t next_version_ = 1;
  int next_rack_ = 0;
};

}  // namespace muster::simulation
