#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/capacity/core/state.h"
#include "services/common/released_pool.h"
#include "services/common/state.h"
#include "services/common/steady_clock.h"
#include "services/configuration/core/state.h"
#include "services/lifecycle/core/state.h"
#include "services/quota/core/state.h"
#include "storage/postgres/lane_clock.h"
#include "tests/simulation/lease_table.h"

namespace muster::simulation {

// A service without threads and database: what it committed, in memory. Commands are carried out
// one after the other, as the commit lane does.
template <class S>
class Service {
 public:
  using State = S;
  // Must outlive it.
  explicit Service(const SteadyClock* steady) : steady_(*steady) {}

  // Sees every commit that changed something, before the staged state goes.
  std::function<void(const StagedState<State>&)> committed = [](const StagedState<State>&) {};
  // What is wrong with a commit itself.
  std::function<void(std::string)> wrong = [](const std::string&) {};

  // Decides and commits the command in the service's own process. `now`: of the world.
  template <class Command>
  auto Run(const Command& command, absl::Time now, bool validate_only = false) {
    return RunOn(*clock_, command, now, validate_only);
  }
  // The same by another process, which has its own clock.
  template <class Command>
  auto RunOn(storage::LaneClock& clock, const Command& command, absl::Time now,
             bool validate_only = false) {
    const absl::Time before = BeginCommit(clock, now);
    StagedState<State> staged(state_, revision_);
    auto outcome = Decide(staged, command, time_);
    if constexpr (requires { outcome.ok(); }) {
      if (!outcome.ok() && !staged.changes().empty())
        wrong(absl::StrCat("a refused command left something behind: ",
                           absl::Status(StatusOf(outcome)).ToString()));
    }
    if constexpr (requires { state_.released(); }) {
      if (forgets_released) Forget(staged);
    }
    if (validate_only) staged.RollBack();
    Commit(staged, before);
    return outcome;
  }

  // By how much the database's time of day is ahead of the world's.
  absl::Duration ahead = absl::ZeroDuration();
  absl::Time DatabaseTime(absl::Time now) const { return now + ahead; }
  // What the service takes for the time when the world's is `now`.
  absl::Time TimeAt(absl::Time now) const {
    return steps_back ? DatabaseTime(now) : std::max(time_, clock_->Now());
  }
  // The times that are read with the journal's head.
  storage::Head HeadAt(absl::Time now) const {
    return {.commit_time = time_, .now = DatabaseTime(now)};
  }

  // Planted mistakes. `steps_back`: the database's clock is believed even when it was set back.
  // `forgets_released`: no row of a released pool is kept. Put: makes a row what no decision would.
  bool steps_back = false;
  bool forgets_released = false;
  template <class Row>
  void Put(Row row) {
    StagedState<State> staged(state_, revision_);
    staged.Put(std::move(row));
    Commit(staged, time_, /*tell=*/false);
  }

  // What `check` finds on a staged state. Writes nothing.
  template <class F>
  auto Ask(F check) {
    StagedState<State> staged(state_, revision_);
    auto answers = check(staged);
    staged.RollBack();
    return answers;
  }

  // The process dies and loads its rows.
  void Restart() {
    State loaded;
    state_.ForEach([&](const Revised<typename State::Change>& row) {
      loaded.Apply(row.change, row.revision);
    });
    state_ = std::move(loaded);
    clock_.emplace(nullptr, &steady_);
  }

  // Restores the database to what it was `commits` commits ago, or at the world's time `then`;
  // another history begins (storage/postgres/history.h). Returns the state before that, which is
  // lost.
  State Restore(size_t commits) {
    State lost = state_;
    for (; commits > 0 && !past_.empty(); --commits) UndoLast();
    ++incarnation_;
    return lost;
  }
  State Restore(absl::Time then) {
    State lost = state_;
    while (!past_.empty() && world_time_ > then) UndoLast();
    ++incarnation_;
    return lost;
  }
  // Commits that a restore can take back.
  size_t past() const { return past_.size(); }
  void ForgetPast() { past_.clear(); }
  // How many commits ago a row for which `is_it` holds was last changed or deleted; 0: not in this
  // past.
  template <class Row, class F>
  size_t CommitsSince(F is_it) const {
    for (size_t commits = 1; commits <= past_.size(); ++commits) {
      for (const auto& undo : past_[past_.size() - commits].undo) {
        const auto* row = std::get_if<std::shared_ptr<const Row>>(&undo.change.row);
        if (row != nullptr && *row != nullptr && is_it(**row)) return commits;
      }
    }
    return 0;
  }

  const State& state() const { return state_; }
  int64_t revision() const { return revision_; }
  // Names the history: another one after each restore.
  int64_t incarnation() const { return incarnation_; }
  // Of the last commit.
  absl::Time time() const { return time_; }
  // When the commit that many commits ago was, by the clock of the world.
  absl::Time TimeBefore(size_t commits) const {
    return commits == 0 || past_.empty()
               ? world_time_
               : past_[past_.size() - std::min(commits, past_.size())].world_time;
  }

 private:
  // A commit, as a restore takes it back.
  struct Past {
    std::vector<Revised<typename State::Change>> undo = {};
    absl::Time time = {};        // the service's, at the commit before it
    absl::Time world_time = {};  // the world's, likewise
  };
  static constexpr size_t kPastKept = 600;

  void UndoLast() {
    Past& last = past_.back();
    for (; !last.undo.empty(); last.undo.pop_back()) {
      state_.Apply(last.undo.back().change, last.undo.back().revision);
      --revision_;
    }
    time_ = last.time;
    world_time_ = last.world_time;
    past_.pop_back();
  }

  // Returns the time of the commit before.
  absl::Time BeginCommit(storage::LaneClock& clock, absl::Time now) {
    now_ = now;
    const absl::Time time = clock.Take(HeadAt(now));
    // No two commits at the same time, and none before the last.
    return std::exchange(
        time_, steps_back ? DatabaseTime(now) : std::max(time, time_ + absl::Microseconds(1)));
  }

  void Commit(StagedState<State>& staged, absl::Time before, bool tell = true) {
    revision_ = staged.revision();
    if (staged.changes().empty()) {
      time_ = before;
      return;
    }
    if (tell) committed(staged);
    // Rolled back and applied once more, because Apply returns how to undo a change.
    const auto changes = staged.changes();
    staged.RollBack();
    Past& last = past_.emplace_back();
    last.time = before;
    last.world_time = std::exchange(world_time_, now_);
    for (const auto& change : changes)
      last.undo.push_back(state_.Apply(change.change, change.revision));
    if (past_.size() > kPastKept) past_.pop_front();
  }

  static absl::Status StatusOf(const absl::Status& status) { return status; }
  template <class T>
  static absl::Status StatusOf(const absl::StatusOr<T>& outcome) {
    return outcome.status();
  }

  static void Forget(StagedState<State>& staged) {
    while (!staged.state().released().uids().empty()) {
      const std::string uid = staged.state().released().uids().begin()->second;
      staged.template Delete<ReleasedPool>(uid);
    }
  }

  State state_;
  int64_t revision_ = 0;
  int64_t incarnation_ = 1;
  std::deque<Past> past_;
  const SteadyClock& steady_;
  std::optional<storage::LaneClock> clock_{std::in_place, nullptr, &steady_};
  absl::Time time_ = absl::InfinitePast();  // of the last commit
  // Of the world, at the last commit, and at the one that is under way.
  absl::Time world_time_ = absl::InfinitePast();
  absl::Time now_ = absl::InfinitePast();
};

// Calls f(before, after) for each changed row of that kind, in order.
template <class Row, class State, class F>
void ForEachChanged(const StagedState<State>& staged, F f) {
  using Pointer = std::shared_ptr<const Row>;
  for (size_t i = 0; i < staged.changes().size(); ++i) {
    const Pointer* after = std::get_if<Pointer>(&staged.changes()[i].change.row);
    if (after == nullptr) continue;
    f(std::get<Pointer>(staged.before(i).change.row).get(), after->get());
  }
}

// Prints what happens, if `on`.
struct Trace {
  bool on = false;
  int step = 0;
  template <class... Parts>
  void operator()(const absl::Time& now, const Parts&... parts) const {
    if (!on) return;
    const std::string line = absl::StrCat(
        step, " ", absl::FormatTime("%H:%M:%E3S", now, absl::UTCTimeZone()), " ", parts..., "\n");
    std::fputs(line.c_str(), stdout);
  }
};

// What outlives every process: the four services' rows, and time. No process sees the world's own
// time, `now`: each database has its own time of day, and durations are the same for all.
struct Cloud {
  // Of the lease on lifecycle's loop. Each of the two replicas beats every kBeat, by turns.
  static constexpr absl::Duration kLeaseTtl = absl::Seconds(20);
  static constexpr absl::Duration kBeat = absl::Seconds(5);

  absl::Time now = absl::FromUnixSeconds(1'750'000'000);
  FakeSteadyClock steady = {};
  Service<lifecycle::State> lifecycle{&steady};
  Service<quota::State> quota{&steady};
  Service<capacity::State> capacity{&steady};
  Service<configuration::State> configuration{&steady};
  LeaseTable lease = {};
  Trace trace = {};
  // Called every kBeat / 2.
  std::function<void()> beat = [] {};

  // Rises with every commit of any service.
  int64_t revisions() const {
    return lifecycle.revision() + quota.revision() + capacity.revision() + configuration.revision();
  }
  void Pass(absl::Duration time) {
    for (const absl::Time end = now + time; now < end;) {
      const absl::Duration some = std::min(end, next_beat) - now;
      now += some;
      steady.Advance(some);
      if (now < next_beat) continue;
      next_beat = now + kBeat / 2;
      beat();
    }
  }

  absl::Time next_beat = now + kBeat;
};

}  // namespace muster::simulation
