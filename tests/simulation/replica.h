#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/plan.h"
#include "tests/simulation/cloud.h"
#include "tests/simulation/dice.h"
#include "tests/simulation/judge.h"
#include "tests/simulation/options.h"
#include "tests/simulation/peers.h"

namespace muster::simulation {

// Between the services.
class Network {
 public:
  bool quota_away = false;
  bool capacity_away = false;
  bool configuration_away = false;
  bool catalogue_known = true;
  // Calls that seemed to fail and arrive some time.
  std::vector<std::function<void()>> late = {};
  // Without it, what is known to go wrong does not happen (README).
  bool holes = false;

  // Whether a request of the pool reaches the service, or is too late for it.
  bool Reaches(const quota::SyncHolding& request);
  bool Reaches(const capacity::SyncClaim& request);
  bool Reaches(const configuration::SyncPool& request);

 private:
  bool IsBeforeRelease(absl::string_view service, const std::string& pool_uid, bool release);
  std::set<std::pair<absl::string_view, std::string>> released_ = {};  // service, pool uid
};

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
  Replica(std::string name, Surroundings around) : name_(std::move(name)), around_(around) {}

  // Told of every plan: the pool, and when it is due again by itself.
  std::function<void(const std::string&, absl::Time)> planned = [](const std::string&, absl::Time) {
  };

  const std::string& name() const { return name_; }
  // What it believes; 0: it does not lead.
  int64_t epoch = 0;

  bool busy() const { return stage_ != Stage::kIdle; }
  // Begins a pass over the pools. It must not be busy.
  void Begin(const std::vector<std::string>& pools);
  // The next step of the pass.
  void Step();
  // A whole pass.
  void Pass(const std::vector<std::string>& pools);
  // All that is under way is forgotten.
  void Die();

 private:
  enum class Stage { kIdle, kAsking, kPlanning, kCommitting };
  enum class Fate { kArrives, kLost, kAnswerLost, kLate };
  using Ask = void (Replica::*)();

  Fate FateOfCall(bool away);
  // Sends a call as chance has it; `call` carries it out, `answer` takes what it answered.
  template <class Request, class T, class Call>
  void Send(bool away, std::vector<Request> requests, std::vector<lifecycle::Answer<T>*> slots,
            Call call);
  void AskQuota();
  void AskCapacity();
  void AskConfiguration();
  void MakePlans();
  void Commit();
  lifecycle::ApplyPlan CommandOf(const Picture& picture, lifecycle::PoolPlan& plan) const;
  int64_t GenerationOf(const Picture& picture, int64_t asked) const;

  const std::string name_;
  const Surroundings around_;
  Stage stage_ = Stage::kIdle;
  std::vector<Picture> pictures_;
  std::vector<Ask> asks_;
  std::vector<lifecycle::ApplyPlan> commits_;
};

}  // namespace muster::simulation
