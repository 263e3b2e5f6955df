#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/common/state.h"
#include "tests/linearizability/search.h"

namespace muster::linearizability {

// An answer as bytes. `loose` leaves out what only the journal's order decides (revisions, etags,
// times), so that a checker that does not know the journal can compare it.
struct Answer {
  std::string exact = {};
  std::string loose = {};
  bool operator==(const Answer&) const = default;
};

enum class Outcome {
  kAnswered,  // the service decided; refusals count
  kFailed,    // the service says that nothing was done
  kUnknown,   // the connection broke or the caller gave up
};

// One call of one client, as the client saw it. Times are of one monotonic clock.
template <class State>
struct Call {
  Interval interval = {};
  Outcome outcome = Outcome::kUnknown;
  Answer answer = {};     // when answered
  std::string what = {};  // the request, for people
  std::string told = {};  // the answer, for people
  std::string key = {};   // what it is about: calls of different keys do not touch each other
  // The marks (Journal::Row::mark) of the rows that this call may have written. Empty: a read.
  std::vector<std::string> marks = {};
  // The pure core's answer. What it puts on the staged state is what the call does.
  std::function<Answer(StagedState<State>&, absl::Time now)> decide = {};
};

}  // namespace muster::linearizability
