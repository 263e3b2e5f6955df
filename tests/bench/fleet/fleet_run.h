#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/bench/calls.h"
#include "tests/bench/fleet/pool_watch.h"
#include "tests/bench/fleet/result.h"
#include "tests/bench/fleet/shape.h"
#include "tests/bench/fleet/stack.h"

namespace muster::bench {

struct FleetRunOptions {
  StackOptions stack = {};
  int64_t nodes = 0;
  std::set<std::string> phases = {};         // of kPhases; those not named are left out
  absl::Duration limit = absl::Minutes(10);  // for each phase
  int64_t churn_minutes = 60;                // of the phase `churn`, more than kChurnFirst
  bool one_pool = false;                     // MakeOnePool instead of MakeShape
};

// In this order; `register` and `scale_up` are always there, `churn` only where it is asked for.
inline constexpr const char* kPhases[] = {"register", "scale_up",    "quiet",
                                          "reports",  "restart_all", "release",
                                          "failures", "outage",      "churn"};
// What the database takes on the disk after the churn is compared with what it took after so many
// minutes of it.
inline constexpr int64_t kChurnFirst = 10;

// One fleet from nothing to the end, on a stack of its own:
//   register   catalogue, quotas, clusters and machines
//   scale_up   all pools created at once, until every one is TargetMet
//   quiet      ten simulated minutes in which nothing happens: nothing may be written
//   reports    single Nodes of the largest pool get work and lose it, at a rate
//   restart_all musterd is killed and started again, until it says that it serves
//   release    a new image is published, until every pool under Always has it staged
//   failures   5 % of the Nodes fail at once, until as many have left and every pool is TargetMet
//   restart    capacity moves to a process of its own, until every pool is seen as it was
//   away       capacity is killed, 5 % of the pools are given a Node more, and it stays away for ten
//              simulated minutes
//   outage     capacity is back, until every pool is TargetMet and knows its capacity
//   churn      each minute, of a wall clock, another hundredth of the pools loses all Nodes and has
//              as many new ones a minute later; the first ten minutes are a row of their own
class FleetRun {
 public:
  explicit FleetRun(FleetRunOptions options);

  // Adds a row a phase to `rows`; the first phase that fails is the last.
  absl::Status Run(std::vector<Row>& rows);

 private:
  // A phase: `act` begins it, `goal` is waited for; so many `pools` and `nodes` have to change for
  // that.
  struct Phase {
    std::string name = {};
    std::function<absl::Status()> act = {};
    PoolWatch::Goal goal = {};
    int64_t pools = 0;
    int64_t nodes = 0;
  };

  absl::Status Register(std::vector<Row>& rows);
  absl::Status ScaleUp(std::vector<Row>& rows);
  absl::Status Quiet(std::vector<Row>& rows);
  absl::Status Reports(std::vector<Row>& rows);
  absl::Status RestartAll(std::vector<Row>& rows);
  absl::Status Release(std::vector<Row>& rows);
  absl::Status Failures(std::vector<Row>& rows);
  absl::Status Outage(std::vector<Row>& rows);
  absl::Status Churn(std::vector<Row>& rows);
  absl::Status ChurnFor(const std::string& name, int64_t from_minute, int64_t to_minute,
                        std::vector<Row>& rows);

  absl::Status Carry(const Phase& phase, std::vector<Row>& rows);
  // Lets ten simulated minutes pass after `act`.
  absl::Status Pass(const std::string& name, const std::function<absl::Status()>& act,
                    std::vector<Row>& rows);
  // Returns when nothing was written for a while.
  absl::Status AwaitRest() const;
  Row Begin(const std::string& name);
  void Fill(Row& row, const Stack::Sample& before, const Stack::Sample& after);
  // Fills in what was written from `before` until all was quiet.
  void Settle(Row& row, const Stack::Sample& before) const;
  PoolWatch::Goal AllAtTarget() const;
  void Connect();

  const FleetRunOptions options_;
  const Shape shape_;
  std::unique_ptr<Stack> stack_;
  std::unique_ptr<Connections> connections_;
  std::unique_ptr<PoolWatch> watch_;
};

}  // namespace muster::bench
