#pragma once

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/btree_map.h"
#include "services/lifecycle/reconcile/machine_mirror.h"
#include "tests/simulation/checker.h"
#include "tests/simulation/cloud.h"
#include "tests/simulation/collector.h"
#include "tests/simulation/fleet.h"
#include "tests/simulation/options.h"
#include "tests/simulation/random.h"
#include "tests/simulation/replica.h"
#include "tests/simulation/requests.h"
#include "tests/simulation/survey.h"

namespace muster::simulation {

// All of Muster and its surroundings under one clock in one thread. What happens follows from the
// options alone.
class World {
 public:
  explicit World(const Options& options);

  // One random thing happens.
  void Step(int number);
  // Ends the faults and checks that all comes to rest, writes nothing more, and leaves nothing
  // behind when all pools are deleted.
  void Finish();

  const InvariantChecker& checker() const { return checker_; }
  const Survey& survey() const { return survey_; }
  void Count(const std::string& kind, int64_t times) { survey_.Saw(kind, times); }
  void CountLateReports() {
    survey_.Saw("message: report about an earlier Node", fleet_.late_of_others());
  }

 private:
  // --- set-up (world.cc) ---
  Replica::Surroundings Around() {
    return {cloud_, network_, random_, weather_, checker_, policy_, options_.bug};
  }
  void MakeCatalogue();
  void MakeClusters();
  void RegisterRack(const std::string& zone, const std::string& type, int rack, int count);

  // --- what happens (steps.cc) ---
  void PassTime();
  void MoveClock();
  void StepReplica();
  void StepQuestion();
  // The next of the two replicas beats.
  void Beat();
  // Something begins to be wrong with a replica.
  void MakeTrouble(Replica& replica);
  // A random one, mostly one that does something.
  size_t SomeReplica();
  void RestartReplica(size_t which);
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
  void OrderOne(const std::string& node, bool validate_only);
  void OrderSome();
  void Order(const configuration::OrderPool& command);
  // A caller sends the command to lifecycle. `what`: all that it says.
  template <class Command>
  void Ask(const std::string& what, const Command& command, bool validate_only) {
    const absl::Status status = validate_only
                                    ? cloud_.lifecycle.Run(command, cloud_.now, true).status()
                                    : requests_.Send(cloud_.lifecycle, what, command);
    cloud_.trace(cloud_.now, "caller: ", what, " -> ", status.ToString());
  }
  void StepReboots(bool validate_only);
  lifecycle::Spec SomeSpec(const std::string& pool);
  int64_t SomeTarget(const std::string& pool);
  // A random pool, preferably one where something is under way.
  std::string SomeBusyPool();

  bool calm() const { return checker_.calm_since != absl::InfiniteFuture(); }

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

  // --- restores (restore.cc) ---
  enum class Where { kLifecycle, kQuota, kCapacity, kConfiguration };
  // Restores one service, or begins to restore all of them, one after the other, to the same time.
  void StepRestore();
  bool RestoreUnderCollector();
  // To that time of the world, or by so many commits.
  using Point = std::variant<absl::Time, size_t>;
  void Restore(Where where, Point point);
  size_t SomeCommits(size_t past);
  static const std::vector<Where>& Services();
  Where SomeService();
  void LifecycleRestored(const lifecycle::State& lost);
  // As when a watch begins anew: each pool becomes due with its next resync, within ten minutes.
  void ResyncAll();
  // Registers the machines that capacity forgot again.
  void RegisterLost();

  // --- the end (finish.cc) ---
  void Heal();
  bool EnableAll();
  bool DeleteRevived();
  bool Uncordon();
  // Runs until nothing moves. False: that never came.
  bool Converge();
  // Runs until nothing is left to enable or to give back. False: that never came.
  bool ComeToRest();
  bool CollectRest();
  void CheckRestoredAtRest();
  void CheckReplay();
  void CheckAtRest();
  void CheckPool(const lifecycle::Pool& pool);
  void CheckNothingMoves();
  void CheckNothingLeft();
  void FailOf(const lifecycle::Pool& pool, absl::string_view fault);

  // --- quiet days (quiet.cc) ---
  void LiveQuietly();
  // False: it never did.
  bool ComeToQuiet();
  bool PassQuietly(absl::Duration time);
  void CheckSaid();

  // --- who is to be looked at (due.cc) ---
  void Listen();
  void Due(const std::string& pool, absl::Duration in = absl::ZeroDuration());
  void DueByQuota(const std::string& quota, bool limit);
  void HearMachine(const std::string& key);
  void HearCatalogue();
  void NodeChanged(const lifecycle::State::Change& change);
  void HearCluster(const std::string& cluster);
  void HearStockAnew();
  void TellStock();

  const Options options_;
  Random random_;
  Weather weather_;
  lifecycle::Policy policy_;
  Cloud cloud_;
  Network network_;
  Fleet fleet_;
  // Machines of a rack; 18 as NVL72 has, or fewer, so that more happens with them.
  const int rack_nodes_;
  InvariantChecker checker_;
  Survey survey_;
  std::vector<Replica> replicas_;
  std::vector<Collector> collectors_;  // of the replicas
  Replica advisor_;
  Requests requests_;
  lifecycle::MachineMirror stock_;
  lifecycle::MachineMirror::InventoryKeys stock_moved_;
  size_t beats_ = 0;  // which replica beat last
  int64_t next_uid_ = 0;
  int64_t next_version_ = 1;
  int next_rack_ = 0;
  std::vector<capacity::RegisterMachines> registered_;
  // Whether a service may still be restored once all is at rest.
  bool may_go_back_ = false;
  // Services that are still to be restored, and to when.
  std::vector<std::pair<Where, absl::Time>> to_restore_;
};

}  // namespace muster::simulation
