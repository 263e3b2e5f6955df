#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/cells.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/client/side_by_side.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/commands/live_fleet.h"
#include "services/musterctl/commands/page_questions.h"
#include "services/musterctl/top/fleet.h"
#include "services/musterctl/top/page.h"
#include "services/musterctl/top/trouble.h"

// A live page of the whole fleet: the shell around services/musterctl/top.
namespace muster::musterctl {
namespace {

constexpr absl::Duration kLeastInterval = absl::Milliseconds(100);
constexpr absl::Duration kMostInterval = absl::Hours(1);
constexpr absl::Duration kLookAgain = absl::Milliseconds(50);
constexpr absl::Duration kFirstPatience = absl::Seconds(1);
// Most pools that lifecycle is asked about: those next to what is looked at.
constexpr size_t kMostAsked = 40;
constexpr size_t kPageOfPools = 10;

struct TopOptions {
  bool once = false;
  bool colour = false;
  absl::Duration interval = {};
  top::Filter filter = {};
};

absl::StatusOr<bool> WantsColour(const Session& session) {
  const std::string when = session.line.Get("color");
  if (when == "always") return true;
  if (when == "never") return false;
  if (when != "auto")
    return WrongUse(absl::StrCat("--color: must be auto, always or never, is \"", when, "\""));
  const auto variable = [&](const char* name) {
    return session.env.environment ? session.env.environment(name).value_or("") : "";
  };
  return session.env.terminal != nullptr && variable("NO_COLOR").empty() &&
         variable("TERM") != "dumb";
}

absl::StatusOr<TopOptions> ReadTopOptions(const Session& session) {
  const CommandLine& line = session.line;
  if (!line.arguments.empty())
    return WrongUse(absl::StrCat("top: takes no argument, not \"", line.arguments[0], "\""));
  TopOptions options;
  options.once = line.Has("once");
  ASSIGN_OR_RETURN(options.colour, WantsColour(session));
  const auto interval = ParseTimeout("--interval", line.Get("interval"));
  if (!interval.ok()) return WrongUse(interval.status().message());
  if (*interval < kLeastInterval || *interval > kMostInterval) {
    return WrongUse(
        absl::StrCat("--interval: must be 100ms to 1h, is \"", line.Get("interval"), "\""));
  }
  options.interval = *interval;
  options.filter.zone = line.Get("zone");
  if (line.given.contains("organization")) options.filter.organization = line.Get("organization");
  if (!options.once && session.env.terminal == nullptr)
    return WrongUse("top: the output is no terminal; --once prints one page");
  return options;
}

struct Looked {
  size_t troubles = 0;
  std::vector<Question> questions = {};

  // Of the cell of that number.
  std::vector<Question> QuestionsTo(size_t cell) const {
    std::vector<Question> own;
    for (const Question& question : questions) {
      if (question.cell == cell) own.push_back(question);
    }
    return own;
  }
};

// What there is to ask of the pools from `first` on.
Looked LookFrom(const LiveFleet& fleet, const top::Filter& filter, size_t first) {
  return fleet.Read([&](const top::Fleet& now) {
    const std::vector<top::Trouble> troubles = top::TroublesOf(now, filter);
    Looked looked{troubles.size()};
    for (size_t i = first; i < std::min(troubles.size(), first + kMostAsked); ++i) {
      const std::string& pool = troubles[i].pool->name();
      looked.questions.push_back(
          {pool, troubles[i].pool->status().SerializeAsString(), now.pools().at(pool).round.cell});
    }
    return looked;
  });
}

bool AreAllLive(const std::vector<top::CellWatches>& cells) {
  return std::all_of(cells.begin(), cells.end(),
                     [](const top::CellWatches& cell) { return cell.are_live(); });
}

// Waits until every snapshot is complete, at most `timeout`. Returns the state of the watches then.
std::vector<top::CellWatches> AwaitAll(Session& session, const LiveFleet& fleet,
                                       absl::Duration timeout) {
  const absl::Duration end = session.env.steady.Now() + timeout;
  while (true) {
    std::vector<top::CellWatches> cells = fleet.health();
    if (AreAllLive(cells) || session.env.steady.Now() >= end) return cells;
    session.env.sleep(kLookAgain);
  }
}

// UNAVAILABLE after so long, with what is amiss.
absl::Status NotAllIsKnown(const top::CellWatches& cell, absl::Duration timeout) {
  std::string missing;
  for (const page::WatchHealth& watch : top::Silent(cell.watches))
    absl::StrAppend(&missing, "; ", watch.service, ": ", watch.error);
  const absl::Status status = absl::UnavailableError(
      absl::StrCat("not all is known after ", absl::FormatDuration(timeout), missing));
  return cell.cell.empty() ? status : InCell(cell.cell, status);
}

top::View ViewOf(Session& session, const TopOptions& options) {
  top::View view;
  view.server = session.line.Get("server");
  if (session.of_cells) {
    view.server = absl::StrCat("cells ", absl::StrJoin(NamesOf(session.cells), ", "));
  }
  view.filter = options.filter;
  view.now = session.env.clock.Now();
  return view;
}

void AddReconciler(std::optional<top::Reconciler> reconciler, const std::string& cell,
                   top::View& view) {
  if (!reconciler) return;
  reconciler->cell = cell;
  view.reconcilers.push_back(*std::move(reconciler));
}

// One cell's answers: verdicts on the pools that are looked at, and who reconciles there.
struct Told {
  std::optional<top::Reconciler> reconciler = {};
  std::map<std::string, top::Verdict> verdicts = {};
};
Told AskCell(FleetLink& link, const std::vector<Question>& questions) {
  Told told{.reconciler = AskReconciler(link)};
  for (const Question& question : questions) {
    if (auto verdict = AskWhoMustAct(link, question.pool))
      told.verdicts[question.pool] = *std::move(verdict);
  }
  return told;
}

// Asks all cells whose watches are live, at the same time.
void AskAll(const LiveFleet& fleet, top::View& view) {
  std::vector<size_t> live;
  for (size_t cell = 0; cell < view.cells.size(); ++cell) {
    if (view.cells[cell].are_live()) live.push_back(cell);
  }
  const Looked looked = LookFrom(fleet, view.filter, 0);
  std::vector<Told> all = SideBySide(
      live, [&](size_t cell) { return AskCell(fleet.link(cell), looked.QuestionsTo(cell)); });
  for (size_t i = 0; i < all.size(); ++i) {
    AddReconciler(std::move(all[i].reconciler), fleet.name(live[i]), view);
    view.verdicts.merge(all[i].verdicts);
  }
}

// Prints the page once. With several cells also if only some are known; of the others it says so.
absl::Status Once(Session& session, const TopOptions& options, const LiveFleet& fleet) {
  std::vector<top::CellWatches> cells = AwaitAll(session, fleet, session.timeout);
  std::vector<absl::Status> missing;
  for (const top::CellWatches& cell : cells) {
    if (!cell.are_live()) missing.push_back(NotAllIsKnown(cell, session.timeout));
  }
  absl::Status nothing;
  if (missing.size() == cells.size()) {
    nothing = missing.back();
    missing.pop_back();
  }
  for (const absl::Status& each : missing) session.env.err << RenderError(each);
  RETURN_IF_ERROR(nothing);
  top::View view = ViewOf(session, options);
  view.cells = std::move(cells);
  if (session.env.terminal != nullptr) view.width = session.env.terminal->size().width;
  AskAll(fleet, view);
  const auto lines = fleet.Read([&](const top::Fleet& now) { return top::Render(now, view); });
  *session.env.screen << top::Print(lines, view.width, options.colour, "\n") << std::flush;
  return missing.empty() ? absl::OkStatus() : AlreadyPrinted();
}

size_t Moved(size_t first, Key key, size_t troubles) {
  const size_t last = troubles == 0 ? 0 : troubles - 1;
  switch (key) {
    case Key::kUp:
      return first - std::min<size_t>(first, 1);
    case Key::kDown:
      return std::min(first + 1, last);
    case Key::kPageUp:
      return first - std::min(first, kPageOfPools);
    case Key::kPageDown:
      return std::min(first + kPageOfPools, last);
    case Key::kHome:
      return 0;
    case Key::kEnd:
      return last;
    case Key::kQuit:
    case Key::kRedraw:
      return first;
  }
  return first;
}

// The page over the one before: each line to its end, nothing left below.
std::string OverLast(const std::vector<top::Line>& lines, const top::View& view, bool colour) {
  std::string page = "\x1b[H";
  for (size_t i = 0; i < lines.size(); ++i) {
    absl::StrAppend(&page, i == 0 ? "" : "\r\n", lines[i].Print(view.width, colour),
                    lines[i].width() < view.width ? "\x1b[K" : "");
  }
  return absl::StrCat(page, lines.size() < view.height ? "\r\n\x1b[J" : "");
}

// Those of each cell by themselves, so that none waits for another.
using QuestionsOfCells = std::vector<std::unique_ptr<PageQuestions>>;

// The page as it is now, from the pool number `first` on.
top::View Look(Session& session, const TopOptions& options, const LiveFleet& fleet,
               const Looked& looked, const QuestionsOfCells& questions) {
  top::View view = ViewOf(session, options);
  const Terminal::Size size = session.env.terminal->size();
  view.width = size.width;
  view.height = size.height;
  view.cells = fleet.health();
  for (size_t cell = 0; cell < questions.size(); ++cell) {
    AddReconciler(questions[cell]->reconciler(), fleet.name(cell), view);
    view.verdicts.merge(questions[cell]->Want(looked.QuestionsTo(cell)));
  }
  return view;
}

absl::Status Live(Session& session, const TopOptions& options, LiveFleet& fleet) {
  Terminal& terminal = *session.env.terminal;
  QuestionsOfCells questions;
  for (size_t cell = 0; cell < fleet.cells(); ++cell)
    questions.push_back(std::make_unique<PageQuestions>(fleet.link(cell), session.env.steady));
  const absl::Cleanup stop = [&] { fleet.Stop(); };
  // Not to show a page that is all empty.
  (void)AwaitAll(session, fleet, kFirstPatience);
  terminal.Enter();
  const absl::Cleanup leave = [&] { terminal.Leave(); };
  size_t first = 0;
  while (true) {
    const absl::Duration next = session.env.steady.Now() + options.interval;
    const Looked looked = LookFrom(fleet, options.filter, first);
    top::View view = Look(session, options, fleet, looked, questions);
    view.first_trouble = first =
        std::min(first, looked.troubles - std::min<size_t>(looked.troubles, 1));
    const auto lines = fleet.Read([&](const top::Fleet& now) { return top::Render(now, view); });
    *session.env.screen << OverLast(lines, view, options.colour) << std::flush;
    for (bool wait = true; wait;) {
      const absl::Duration left = next - session.env.steady.Now();
      if (left <= absl::ZeroDuration()) break;
      for (const Key key : terminal.Await(left)) {
        if (key == Key::kQuit) return absl::OkStatus();
        first = Moved(first, key, looked.troubles);
        wait = false;
      }
    }
  }
}

}  // namespace

absl::Status Top(Session& session) {
  ASSIGN_OR_RETURN(const TopOptions options, ReadTopOptions(session));
  ASSIGN_OR_RETURN(const std::unique_ptr<LiveFleet> fleet,
                   LiveFleet::Follow(session.cells, session.env.clock));
  return options.once ? Once(session, options, *fleet) : Live(session, options, *fleet);
}

}  // namespace muster::musterctl
