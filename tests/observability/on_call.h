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

// What somebody on call can look at.
struct Desk {
  // musterctl with these words.
  std::function<Finished(std::vector<std::string>)> ctl = {};
  std::function<std::string()> page = {};  // where the page for people is
  std::function<std::string()> log = {};   // what servers have logged so far
  // What stands for words of the runbook: NAME, UID, ...
  std::function<std::map<std::string, std::string>()> names = {};
};

// The looks that `text` (an alert's section of the runbook) asks for: in backquotes, commands of
// musterctl that only ask, and queries of Prometheus; in quotes, behind the word "log" in an item
// of its list and beginning with a small letter, messages of the log.
struct Looks {
  std::vector<std::string> commands = {};  // `musterctl get nodes`
  std::vector<std::string> queries = {};   // `muster_lifecycle_leading`
  std::vector<std::string> messages = {};  // "the books differ"
};
Looks LooksOf(absl::string_view text);

// The section of deploy/runbook.md without its heading.
std::string RunbookOf(const std::string& alert);

// Every run of spaces and ends of lines is one space.
std::string OneLine(absl::string_view text);

// What the desk shows while alerts fire.
struct Shift {
  // Markdown: each alert with its section and what its looks show, then what musterctl says of the
  // pool, the page's health, and warnings and errors that were logged since.
  std::string text = {};
  // The same in a few words: cells of a table's row. `looks`: how many of those that the sections
  // ask for show something; `messages`: how many of the log's that they name it has.
  std::string looks = {};
  std::string messages = {};
  std::string explained = {};
  std::string page = {};
  std::string log = {};
};
Shift ShiftOf(const Desk& desk, const Prometheus& prometheus, absl::Time since);

// What the page's health (the data of its event `beat`) says is amiss: `not ready: quota; no news:
// capacity`, `nothing`, `no answer`.
std::string AmissIn(absl::string_view beat);

// The obstacles that `musterctl explain nodepool` tells of: `LEAVING, DRAIN_BLOCKED`; `nothing`;
// the code that it fails with.
std::string ObstaclesIn(const Finished& explained);

// Whether a line (JSON) of the log since then (to the second) has a message that contains
// `message`.
bool IsLogged(absl::string_view lines, absl::Time since, absl::string_view message);

// Warnings and errors since then (to the second) among lines of JSON, equal ones counted once: `3 x
// error: batch failed (UNAVAILABLE: ...)`.
std::vector<std::string> TroubleIn(absl::string_view lines, absl::Time since);

}  // namespace muster::testing
