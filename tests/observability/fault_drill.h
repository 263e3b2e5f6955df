#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/observability/on_call.h"
#include "tests/observability/prometheus_process.h"

namespace muster::testing {

// A fault: how it begins and ends, and which alerts it must fire.
struct Fault {
  std::string name = {};
  std::function<void()> inject = {};
  std::function<void()> mend = {};
  // What callers do meanwhile, again and again; may fail.
  std::function<void()> meanwhile = {};
  std::set<std::string> alerts = {};    // every one of them fires
  std::set<std::string> may_fire = {};  // these may, and no others
  // These may still fire a while after its end: they look back for longer than a drill lasts.
  std::set<std::string> may_linger = {};
  // The panel that shows it, by its dashboard: `Fleet: Leader`.
  std::string panel = {};
  // What `mend` does, in the words of the runbook's section of one of its alerts; or, if no section
  // has words for it, in our own (`instead`).
  std::string runbook = {};
  std::string instead = {};
};

// Our rules run sixty times as fast as in production.
inline constexpr int kDrillTimes = 60;

// Nothing fires; the fault is injected, its alerts fire, and its panel shows it; it is mended as
// the runbook says, and they cease. Prints a line with how long either took. Writes what the desk
// showed in between to on_call/SUITE.TEST.md of the build, and how long each of its alerts took, a
// row of a table each, to SUITE.TEST.alerts beside it; tests/observability/day_on_call makes one of
// all.
void Drill(const Prometheus& prometheus, const Fault& fault, const Desk& desk);

}  // namespace muster::testing
