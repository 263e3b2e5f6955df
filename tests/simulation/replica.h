#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/explain.h"
#include "services/lifecycle/core/plan.h"
#include "services/lifecycle/reconcile/settled_pools.h"
#include "tests/simulation/agenda.h"
#include "tests/simulation/checker.h"
#include "tests/simulation/cloud.h"
#include "tests/simulation/lease_thread.h"
#include "tests/simulation/network.h"
#include "tests/simulation/options.h"
#include "tests/simulation/peers.h"
#include "tests/simulation/random.h"

namespace muster::simulation {

// A process of the lifecycle service that reconciles: services/lifecycle/reconcile/reconciler.cc
// without threads. A pass is cut into steps between which anything may happen: look, one call for
// each other service, plan, one commit for each pool. It holds no truth: it may die at any time.
class Replica {
 public:
  // All must outlive it.
  struct Surroundings {
    Cloud& cloud;
    Network& network;
    Random& random;
    const Weather& weather;
    InvariantChecker& checker;
    const lifecycle::Policy& policy;
    const Bug bug;
  };
  // An advisor explains and previews (services/lifecycle/api/advisor.cc): it asks as a pass does,
  // and nothing that it does changes anything.
  enum class Role { kReconciler, kAdvisor };
  Replica(std::string name, Surroundings around, Role role = Role::kReconciler)
      : name_(std::move(name)), around_(around), role_(role) {
    BeginLife();
  }

  // Called with every plan: the pool, and after which time it is due again by itself.
  std::function<void(const std::string&, absl::Duration)> planned = [](const std::string&,
                                                                       absl::Duration) {};
  // Of an advisor: called with what it explains.
  std::function<void(const std::vector<lifecycle::Obstacle>&)> explained = nullptr;

  const std::string& name() const { return name_; }
  // What it believes; 0: it does not lead.
  int64_t epoch() const { return lease_->epoch(); }
  // What it is to look at.
  std::unique_ptr<Agenda> agenda;
  // What it need not look at for.
  std::unique_ptr<lifecycle::SettledPools> settled;

  // --- the lease ---
  void Beat();
  LeadChecker::Standing standing() const;
  // Stops in order (gives the lease back); another process takes its place.
  void Restart();
  // Makes something go wrong with it for that long.
  void Suffer(Trouble trouble, absl::Duration time);
  void Recover();
  Trouble trouble() const { return trouble_; }

  bool busy() const { return stage_ != Stage::kIdle; }
  // Begins a pass over the pools. It must not be busy.
  void Begin(const std::vector<std::string>& pools);
  // Begins an advisor's pass over one pool as if its row were `after`.
  void Preview(const lifecycle::Pool& after);
  // The next step of the pass.
  void Step();
  // A whole pass.
  void Pass(const std::vector<std::string>& pools);
  // Forgets all that is under way; another process takes its place.
  void Die();

 private:
  void BeginLife();
  enum class Stage { kIdle, kAsking, kPlanning, kCommitting };
  using Ask = void (Replica::*)();

  // A plan that is to be carried out, and the history that it was made from.
  struct Planned {
    lifecycle::ApplyPlan command;
    int64_t incarnation = 0;
    absl::Time time = {};  // at which it was made
  };

  // Sends the requests, if the network lets them through; `slots` take the answers, one each.
  template <class Request, class T>
  void Send(bool away, std::vector<Request> requests, std::vector<lifecycle::PeerReply<T>*> slots);
  bool advises() const { return role_ == Role::kAdvisor; }
  void AskQuota();
  void AskCapacity();
  void AskConfiguration();
  void MakePlans();
  void Explain(const lifecycle::Snapshot& snapshot, const lifecycle::PoolPlan& plan);
  void Commit();
  // `since`: when the plan was submitted.
  static void CarryOut(const Surroundings& around, const Planned& planned, LeaseThread& lease,
                       storage::LaneClock& clock, absl::Duration since);
  void Send(const Network::Message& commit);
  lifecycle::ApplyPlan CommandOf(const PoolView& view, lifecycle::PoolPlan& plan) const;
  absl::Time Now() const;
  int64_t GenerationOf(const PoolView& view, int64_t asked) const;

  const std::string name_;
  const Surroundings around_;
  const Role role_;
  Stage stage_ = Stage::kIdle;
  std::shared_ptr<storage::LaneClock> clock_;  // shared with commits that are under way
  std::vector<PoolView> views_;
  std::vector<Ask> asks_;
  std::vector<Planned> commits_;
  bool previews_ = false;
  int lives_ = 0;
  std::shared_ptr<LeaseThread> lease_;  // likewise
  Trouble trouble_ = Trouble::kNone;
  absl::Duration trouble_until_ = absl::ZeroDuration();
  // Commits that hang until the trouble ends.
  std::shared_ptr<std::vector<Network::Message>> hanging_;
};

}  // namespace muster::simulation
