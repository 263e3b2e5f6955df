#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tests/integration/child.h"
#include "tests/observability/prometheus.h"

namespace muster::testing {

// What somebody on call has before him.
struct Desk {
  // musterctl with these words.
  std::function<Finished(std::vector<std::string>)> ctl = {};
  std::function<std::string()> page = {};  // where the page for people is
  std::function<std::string()> log = {};   // what servers have logged so far
  // What stands for words of the runbook: NAME, UID, ...
  std::function<std::map<std::string, std::string>()> names = {};
};

// In `text` (an alert's section of the runbook) what stands in backquotes and only asks: of musterctl, and of Prometheus.
struct Looks {
  std::vector<std::string> commands = {};  // `musterctl get nodes`
  std::vector<std::string> queries = {};   // `muster_lifecycle_leading`
};
Looks LooksOf(absl::string_view text);

// The section of deploy/runbook.md without its heading.
std::string RunbookOf(const std::string& alert);

// Markdown of what the desk shows while these alerts fire: each with its section and what its looks show, then what musterctl says of
// the pool, the page's health, and warnings and errors that were logged since.
std::string ShiftOf(const Desk& desk, const Prometheus& prometheus, absl::Time since);

// Warnings and errors since then (to the second) among lines of JSON, equal ones counted once: `3 x error: batch failed (UNAVAILABLE: ...)`.
std::vector<std::string> TroubleIn(absl::string_view lines, absl::Time since);

}  // namespace muster::testing
