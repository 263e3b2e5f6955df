#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "tests/simulation/survey.h"

namespace muster::simulation {

// Mistakes that can be planted, to see that they are found.
enum class Bug {
  kNone,
  kNoVersionCheck,        // plans are carried out whatever happened since their view
  kNewestGeneration,      // requests bear a newer generation than their view
  kQuotaNotHeeded,        // a refused growth counts as granted
  kReturnsForgotten,      // machines are not given back
  kSilenceIsEmpty,        // capacity's answer that did not come reads as "holds nothing"
  kIdleOnlyForgotten,     // removals do not look at the strategy
  kEventsTwice,           // every event is said twice
  kMachineLeftOn,         // agents say that a machine is off while it runs
  kClockFast,             // plans are made three minutes early
  kBudgetForgotten,       // plans know no disruption budget
  kDisabledForgotten,     // plans boot Nodes into disabled configurations
  kLateReportObeyed,      // reports do not say which Node of the name they are of
  kExplanationWrites,     // explanations and previews send what a pass sends
  kQuotaForgets,          // no uid of a released pool is kept
  kCapacityForgets,       // likewise
  kConfigurationForgets,  // likewise
  kGenerationUnbounded,   // one mistaken call uses up all generations
  kRestoreUnnoticed,      // what was planned from a lost future is carried out
  kRebaseMissing,         // no plan raises the generation above what a service knows
  kRebaseNotFenced,       // plans that raise it are carried out whatever happened since their view
  kCollectorNoRecheck,    // orphans are given back without a look at whether they still are
  kCollectorTooEarly,     // without a grace
  kTimeStepsBack,         // the database's clock is believed, also when it was set back
  kGiveUpUnbounded,       // as many Nodes are given up at once as are late
  kRequestForgotten,      // no answer is kept: what comes twice is done twice
  kRequestIdUnheeded,     // another request under an id gets the answer of the first
  kStarvation,            // pools late in the alphabet wait for all others
  kLeaseWithoutProof,     // a leader that cannot commit keeps the lease by its beats
  kLeaseFromTheFuture,    // a lease from before the clock was set back is waited for
  kLimitUnheard,          // a limit that moves is news to nobody
  kStockUnheard,          // likewise machines that come into service or go
  kCatalogueUnheard,      // likewise what a zone offers
};
inline constexpr int kBugs = 33;

// `no-version-check`, ...
absl::string_view NameOf(Bug bug);

struct Options {
  uint64_t seed = 1;
  int steps = 1000;
  bool trace = false;  // prints every step
  Bug bug = Bug::kNone;
};

// What came of a seed.
struct Report {
  std::string failure = {};  // empty: none
  int step = 0;              // at which it failed
  int64_t plans = 0;         // carried out
  // Transitions of Nodes and pools, by the reason of the event that must tell of them.
  std::map<std::string, int64_t> happened = {};
  Counts seen = {};
};

// One world from its beginning to its end. The same options always give the same report.
Report RunWorld(const Options& options);

}  // namespace muster::simulation
