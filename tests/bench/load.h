#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace muster::bench {

// What one measurement gave.
struct Rate {
  double per_second = 0;
  double p50_ms = 0;
  double p99_ms = 0;
  int64_t failed = 0;
};

// Issues one call of slot `slot`; `done` is called with its outcome, from any thread.
using IssueCall = std::function<void(int slot, std::function<void(absl::Status)> done)>;

// A closed loop: keeps `in_flight` calls under way for `warm_up` and then `measured`, each slot
// issuing its next call when the last one is answered.
Rate RunClosedLoop(int in_flight, absl::Duration warm_up, absl::Duration measured,
                   const IssueCall& issue);

}  // namespace muster::bench
