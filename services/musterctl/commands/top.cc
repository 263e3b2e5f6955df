#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "services/common/mutex.h"
#include "services/common/status_macros.h"
#include "services/common/stopper.h"
#include "services/musterctl/client/fleet_link.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/print/words.h"
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
// How long an explanation counts while the pool itself does not change.
constexpr absl::Duration kVerdictAge = absl::Seconds(10);
// How often it is asked who reconciles.
constexpr absl::Duration kLeaderAge = absl::Seconds(5);
// Pools that lifecycle is asked about: those next to what is looked at.
constexpr size_t kMostAsked = 40;
constexpr size_t kPageOfPools = 10;

struct Wishes {
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
    return session.world.environment ? session.world.environment(name).value_or("") : "";
  };
  return session.world.terminal != nullptr && variable("NO_COLOR").empty() &&
         variable("TERM") != "dumb";
}

absl::StatusOr<Wishes> WishesOf(const Session& session) {
  const CommandLine& line = session.line;
  if (!line.arguments.empty())
    return WrongUse(absl::StrCat("top: takes no argument, not \"", line.arguments[0], "\""));
  Wishes wishes;
  wishes.once = line.Has("once");
  ASSIGN_OR_RETURN(wishes.colour, WantsColour(session));
  const auto interval = ParseTimeout("--interval", line.Get("interval"));
  if (!interval.ok()) return WrongUse(interval.status().message());
  if (*interval < kLeastInterval || *interval > kMostInterval) {
    return WrongUse(
        absl::StrCat("--interval: must be 100ms to 1h, is \"", line.Get("interval"), "\""));
  }
  wishes.interval = *interval;
  wishes.filter.zone = line.Get("zone");
  if (line.given.contains("organization")) wishes.filter.organization = line.Get("organization");
  if (!wishes.once && session.world.terminal == nullptr)
    return WrongUse("top: the output is no terminal; --once prints one page");
  return wishes;
}

// The fleet that watches write and the page reads.
class LiveFleet final : public page::WatchSink {
 public:
  explicit LiveFleet(const Clock& clock) : clock_(clock) {}

  void BeginSnapshot(page::Source source) override {
    MutexLock lock(mutex_);
    fleet_.BeginSnapshot(source);
  }
  bool Take(const capacity::v1::WatchCapacityResponse& message) override { return Tell(message); }
  bool Take(const quota::v1::WatchQuotasResponse& message) override { return Tell(message); }
  bool Take(const lifecycle::v1::WatchLifecycleResponse& message) override { return Tell(message); }
  bool Take(const configuration::v1::WatchConfigurationsResponse&) override { return true; }

  template <class F>
  auto Read(F f) const {
    MutexLock lock(mutex_);
    return f(fleet_);
  }

 private:
  template <class Message>
  bool Tell(const Message& message) {
    const absl::Time now = clock_.Now();
    MutexLock lock(mutex_);
    fleet_.Take(message, now);
    return true;
  }

  const Clock& clock_;
  mutable Mutex mutex_;
  top::Fleet fleet_ MUSTER_GUARDED_BY(mutex_);
};

// A pool that is to be explained, as it was looked at.
struct Question {
  std::string pool = {};
  std::string status = {};  // its bytes
};

struct Looked {
  size_t troubles = 0;
  std::vector<Question> questions = {};
};

// What there is to ask of the pools from `first` on.
Looked LookFrom(const LiveFleet& fleet, const top::Filter& filter, size_t first) {
  return fleet.Read([&](const top::Fleet& now) {
    const std::vector<top::Trouble> troubles = top::TroublesOf(now, filter);
    Looked looked{troubles.size()};
    for (size_t i = first; i < std::min(troubles.size(), first + kMostAsked); ++i)
      looked.questions.push_back(
          {troubles[i].pool->name(), troubles[i].pool->status().SerializeAsString()});
    return looked;
  });
}

// Of what is in the way the first that somebody must do something about; else what passes first.
std::optional<top::Verdict> Ask(FleetLink& link, const std::string& pool) {
  const auto answer = link.Explain(pool);
  if (!answer.ok()) return std::nullopt;
  using Obstacle = lifecycle::v1::NodePoolObstacle;
  const Obstacle* found = nullptr;
  for (const Obstacle& obstacle : answer->obstacles()) {
    const bool acts = obstacle.actor() != Obstacle::ACTOR_NOBODY;
    if (found == nullptr || (acts && found->actor() == Obstacle::ACTOR_NOBODY)) found = &obstacle;
  }
  if (found == nullptr) return top::Verdict{ActorWord(Obstacle::ACTOR_NOBODY), ""};
  return top::Verdict{ActorWord(found->actor()), found->message()};
}

std::optional<top::Reconciler> AskReconciler(FleetLink& link) {
  const auto leader = link.AskLeader();
  if (!leader.ok()) return std::nullopt;
  return top::Reconciler{leader->holder, leader->epoch, leader->since};
}

// Asks who must act for the pools that are looked at, and who reconciles, by a thread of its own:
// the page waits for no answer.
class Asker {
 public:
  Asker(FleetLink& link, const Clock& clock) : link_(link), clock_(clock) {
    thread_ = std::thread([this] {
      do {
        if (IsLeaderDue()) KeepLeader(AskReconciler(link_));
        for (const Question& question : Due()) {
          if (stopper_.stopped()) return;
          Answer(question, Ask(link_, question.pool));
        }
      } while (stopper_.Sleep(kLookAgain));
    });
  }
  // The link was stopped before: no question is under way for long.
  ~Asker() {
    stopper_.Stop();
    thread_.join();
  }
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;

  // Only these from now on. The answers there are.
  std::map<std::string, top::Verdict> Want(std::vector<Question> questions) {
    MutexLock lock(mutex_);
    wanted_ = std::move(questions);
    std::map<std::string, top::Verdict> verdicts;
    std::map<std::string, Known> kept;
    for (const Question& question : wanted_) {
      const auto known = known_.find(question.pool);
      if (known == known_.end()) continue;
      if (known->second.verdict) verdicts[question.pool] = *known->second.verdict;
      kept.insert(std::move(*known));
    }
    known_ = std::move(kept);
    return verdicts;
  }
  // As of the last answer.
  std::optional<top::Reconciler> reconciler() const {
    MutexLock lock(mutex_);
    return reconciler_;
  }

 private:
  struct Known {
    std::string status = {};
    absl::Time time = {};
    std::optional<top::Verdict> verdict = {};
  };

  std::vector<Question> Due() {
    MutexLock lock(mutex_);
    std::vector<Question> due;
    for (const Question& question : wanted_) {
      const auto known = known_.find(question.pool);
      if (known == known_.end() || known->second.status != question.status ||
          clock_.Now() - known->second.time > kVerdictAge)
        due.push_back(question);
    }
    return due;
  }
  // What was known stands where nobody answers.
  void Answer(const Question& question, std::optional<top::Verdict> verdict) {
    MutexLock lock(mutex_);
    Known& known = known_[question.pool];
    known.status = question.status;
    known.time = clock_.Now();
    if (verdict) known.verdict = std::move(verdict);
  }

  bool IsLeaderDue() {
    MutexLock lock(mutex_);
    const absl::Time now = clock_.Now();
    if (now - leader_asked_ < kLeaderAge) return false;
    leader_asked_ = now;
    return true;
  }
  void KeepLeader(std::optional<top::Reconciler> leader) {
    MutexLock lock(mutex_);
    reconciler_ = std::move(leader);
  }

  FleetLink& link_;
  const Clock& clock_;
  mutable Mutex mutex_;
  absl::Time leader_asked_ MUSTER_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::optional<top::Reconciler> reconciler_ MUSTER_GUARDED_BY(mutex_);
  std::vector<Question> wanted_ MUSTER_GUARDED_BY(mutex_);
  std::map<std::string, Known> known_ MUSTER_GUARDED_BY(mutex_);
  Stopper stopper_;
  std::thread thread_;
};

bool AllLive(const std::vector<page::WatchHealth>& watches) {
  return std::all_of(watches.begin(), watches.end(),
                     [](const page::WatchHealth& watch) { return watch.live; });
}

// Until every snapshot is complete. UNAVAILABLE after so long, with what is amiss.
absl::StatusOr<std::vector<page::WatchHealth>> AwaitAll(Session& session, const FleetLink& link,
                                                        absl::Duration timeout) {
  const absl::Time end = session.world.clock.Now() + timeout;
  while (true) {
    const std::vector<page::WatchHealth> watches = link.health();
    if (AllLive(watches)) return watches;
    if (session.world.clock.Now() >= end) {
      std::string missing;
      for (const page::WatchHealth& watch : top::Silent(watches))
        absl::StrAppend(&missing, "; ", watch.service, ": ", watch.error);
      return absl::UnavailableError(
          absl::StrCat("not all is known after ", absl::FormatDuration(timeout), missing));
    }
    session.world.sleep(kLookAgain);
  }
}

top::View ViewOf(Session& session, const Wishes& wishes) {
  top::View view;
  view.server = session.line.Get("server");
  view.filter = wishes.filter;
  view.now = session.world.clock.Now();
  return view;
}

absl::Status Once(Session& session, const Wishes& wishes, const LiveFleet& fleet, FleetLink& link) {
  ASSIGN_OR_RETURN(auto watches, AwaitAll(session, link, session.timeout));
  top::View view = ViewOf(session, wishes);
  view.watches = std::move(watches);
  view.reconciler = AskReconciler(link);
  if (session.world.terminal != nullptr) view.width = session.world.terminal->size().width;
  for (const Question& question : LookFrom(fleet, wishes.filter, 0).questions) {
    if (auto verdict = Ask(link, question.pool)) view.verdicts[question.pool] = *std::move(verdict);
  }
  const auto lines = fleet.Read([&](const top::Fleet& now) { return top::Render(now, view); });
  *session.world.screen << top::Print(lines, view.width, wishes.colour, "\n") << std::flush;
  return absl::OkStatus();
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

absl::Status Live(Session& session, const Wishes& wishes, const LiveFleet& fleet, FleetLink& link) {
  Terminal& terminal = *session.world.terminal;
  Asker asker(link, session.world.clock);
  const absl::Cleanup stop = [&] { link.Stop(); };
  // Not to show a page that is all empty.
  (void)AwaitAll(session, link, kFirstPatience);
  terminal.Enter();
  const absl::Cleanup leave = [&] { terminal.Leave(); };
  size_t first = 0;
  while (true) {
    top::View view = ViewOf(session, wishes);
    const Terminal::Size size = terminal.size();
    view.width = size.width;
    view.height = size.height;
    view.watches = link.health();
    view.reconciler = asker.reconciler();
    const Looked looked = LookFrom(fleet, wishes.filter, first);
    view.first_trouble = first =
        std::min(first, looked.troubles - std::min<size_t>(looked.troubles, 1));
    view.verdicts = asker.Want(looked.questions);
    const auto lines = fleet.Read([&](const top::Fleet& now) { return top::Render(now, view); });
    *session.world.screen << OverLast(lines, view, wishes.colour) << std::flush;
    const absl::Time next = view.now + wishes.interval;
    for (bool wait = true; wait;) {
      const absl::Duration left = next - session.world.clock.Now();
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
  ASSIGN_OR_RETURN(const Wishes wishes, WishesOf(session));
  LiveFleet fleet(session.world.clock);
  ASSIGN_OR_RETURN(const std::unique_ptr<FleetLink> link, session.api.WatchFleet(fleet));
  return wishes.once ? Once(session, wishes, fleet, *link) : Live(session, wishes, fleet, *link);
}

}  // namespace muster::musterctl
