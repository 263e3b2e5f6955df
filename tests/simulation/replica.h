#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/plan.h"
#include "tests/simulation/cloud.h"
#include "tests/simulation/dice.h"
#include "tests/simulation/judge.h"
#include "tests/simulation/network.h"
#include "tests/simulation/options.h"
#include "tests/simulation/peers.h"

namespace muster::simulation {

// A process of the lifecycle service that reconciles: services/lifecycle/reconciler.cc without
// threads. A pass is cut into steps between which anything may happen: look, one call for each
// other service, plan, one commit for each pool. It holds no truth: it may die at any time.
class Replica {
 public:
  // All must outlive it.
  struct Surroundings {
    Cloud& cloud;
    Network& network;
    Dice& dice;
    const Weather& weather;
    Judge& judge;
    const lifecycle::Policy& policy;
    const Bug bug;
  };
  // An advisor explains and previews (services/lifecycle/advisor.cc): it asks as a pass does, and
  // nothing that it does changes anything.
  enum class Role { kReconciler, kAdvisor };
  Replica(std::string name, Surroundings around, Role role = Role::kReconciler)
      : name_(std::move(name)), around_(around), role_(role) {}

  // Told of every plan: the pool, and when it is due again by itself.
  std::function<void(const std::string&, absl::Time)> planned = [](const std::string&, absl::Time) {
  };

  const std::string& name() const { return name_; }
  // What it believes; 0: it does not lead.
  int64_t epoch = 0;

  bool busy() const { return stage_ != Stage::kIdle; }
  // Begins a pass over the pools. It must not be busy.
  void Begin(const std::vector<std::string>& pools);
  // As if the pool were so.
  void Preview(const lifecycle::Pool& after);
  // The next step of the pass.
  void Step();
  // A whole pass.
  void Pass(const std::vector<std::string>& pools);
  // All that is under way is forgotten.
  void Die();

 private:
  enum class Stage { kIdle, kAsking, kPlanning, kCommitting };
  using Ask = void (Replica::*)();

  // Sends a call as chance has it; `call` carries it out, `answer` takes what it answered.
  template <class Request, class T, class Call>
  void Send(bool away, std::vector<Request> requests, std::vector<lifecycle::Answer<T>*> slots,
            Call call);
  bool advises() const { return role_ == Role::kAdvisor; }
  // Carries the request out, or only says what would come of it.
  template <class S, class Command>
  static auto Ordered(Service<S>& service, Judge& judge, const Command& command, absl::Time now,
                      bool ask_only, bool writes);
  void AskQuota();
  void AskCapacity();
  void AskConfiguration();
  void MakePlans();
  void Explain(const lifecycle::Snapshot& snapshot, const lifecycle::PoolPlan& plan);
  void Commit();
  lifecycle::ApplyPlan CommandOf(const Picture& picture, lifecycle::PoolPlan& plan) const;
  int64_t GenerationOf(const Picture& picture, int64_t asked) const;

  const std::string name_;
  const Surroundings around_;
  const Role role_;
  Stage stage_ = Stage::kIdle;
  std::vector<Picture> pictures_;
  std::vector<Ask> asks_;
  std::vector<lifecycle::ApplyPlan> commits_;
};

}  // namespace muster::simulation
