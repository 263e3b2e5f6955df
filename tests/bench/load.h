#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/bench/cpu.h"

namespace muster::bench {

// What one measurement gave.
struct Rate {
  double per_second = 0;  // operations that did not fail; or what `unit` says
  double p50_ms = 0;      // of a call that did not fail; 0: not known
  double p99_ms = 0;
  int64_t failed = 0;      // operations that were not answered as they should be
  int64_t operations = 0;  // while it was measured, that did not fail
  CpuCost cpu = {};
  std::string unit = "ops/s";
  std::map<std::string, double> also = {};  // further figures by name
};

// The rate of `operations`, of which some failed, in `took`, with the percentiles of `latencies_ms`
// (in any order).
Rate RateOf(int64_t operations, int64_t failed, absl::Duration took,
            std::vector<float> latencies_ms);

// What came of one call. A call may carry several operations.
struct Outcome {
  int64_t operations = 1;
  int64_t failed = 0;
};

// Is told when a call was answered.
class Listener {
 public:
  virtual void Answered(const Outcome& outcome) = 0;

 protected:
  ~Listener() = default;
};

// One client that has at most one call under way. Not thread-safe.
class Caller {
 public:
  virtual ~Caller() = default;
  // Issues the next call. `listener` is told once, from any thread, and may issue the next one
  // from there.
  virtual void Issue(Listener& listener) = 0;
};
using Callers = std::vector<std::unique_ptr<Caller>>;

// A closed loop: keeps one call of each caller under way for `warm_up` and then for `measured`,
// whose beginning and end `meter` is told. Returns when the last call is answered.
Rate RunClosedLoop(const Callers& callers, absl::Duration warm_up, absl::Duration measured,
                   CpuMeter& meter);

}  // namespace muster::bench
