#pragma once

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/capacity/core/state.h"
#include "services/common/released_pool.h"
#include "services/common/state.h"
#include "services/configuration/core/state.h"
#include "services/lifecycle/core/state.h"
#include "services/quota/core/state.h"

namespace muster::simulation {

// A service without threads and database: what it committed, in memory. Commands are carried out
// one after the other, as the commit lane does.
template <class S>
class Service {
 public:
  using State = S;
  // Sees every commit that changed something, before the overlay goes.
  std::function<void(const Overlay<State>&)> committed = [](const Overlay<State>&) {};
  // What is wrong with a commit itself.
  std::function<void(std::string)> wrong = [](const std::string&) {};

  template <class Command>
  auto Run(const Command& command, absl::Time now, bool validate_only = false) {
    // No two commits at the same time, and none before the last.
    time_ = std::max(now, time_ + absl::Microseconds(1));
    Overlay<State> overlay(state_, revision_);
    auto outcome = Decide(overlay, command, time_);
    if constexpr (requires { outcome.ok(); }) {
      if (!outcome.ok() && !overlay.changes().empty())
        wrong(absl::StrCat("a refused command left something behind: ",
                           absl::Status(StatusOf(outcome)).ToString()));
    }
    if constexpr (requires { state_.released(); }) {
      if (forgets_released) Forget(overlay);
    }
    if (validate_only) overlay.RollBack();
    revision_ = overlay.revision();
    if (!overlay.changes().empty()) committed(overlay);
    return outcome;
  }

  // For planted mistakes: pools that were released leave nothing behind; a row is what no decision
  // makes of it.
  bool forgets_released = false;
  template <class Row>
  void Put(Row row) {
    Overlay<State> overlay(state_, revision_);
    overlay.Put(std::move(row));
    revision_ = overlay.revision();
  }

  // What Run would answer. Writes nothing.
  template <class Command>
  auto Ask(const Command& command, absl::Time now) const {
    State copy = state_;
    Overlay<State> overlay(copy, revision_);
    return Decide(overlay, command, now);
  }

  // The process dies and loads its rows.
  void Restart() {
    State loaded;
    state_.ForEach([&](const Revised<typename State::Change>& row) {
      loaded.Apply(row.change, row.revision);
    });
    state_ = std::move(loaded);
  }

  const State& state() const { return state_; }
  int64_t revision() const { return revision_; }

 private:
  static absl::Status StatusOf(const absl::Status& status) { return status; }
  template <class T>
  static absl::Status StatusOf(const absl::StatusOr<T>& outcome) {
    return outcome.status();
  }

  static void Forget(Overlay<State>& overlay) {
    while (!overlay.state().released().uids().empty()) {
      const std::string uid = overlay.state().released().uids().begin()->second;
      overlay.template Delete<ReleasedPool>(uid);
    }
  }

  State state_;
  int64_t revision_ = 0;
  absl::Time time_ = absl::InfinitePast();  // of the last commit
};

// Calls f(before, after) for each changed row of that kind, in order.
template <class Row, class State, class F>
void ForEachChanged(const Overlay<State>& overlay, F f) {
  using Pointer = std::shared_ptr<const Row>;
  for (size_t i = 0; i < overlay.changes().size(); ++i) {
    const Pointer* after = std::get_if<Pointer>(&overlay.changes()[i].change.row);
    if (after == nullptr) continue;
    f(std::get<Pointer>(overlay.before(i).row).get(), after->get());
  }
}

// Prints what happens when somebody wants to see it.
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

// What outlives every process: the four services' rows, and time.
struct Cloud {
  absl::Time now = absl::FromUnixSeconds(1'750'000'000);
  Service<lifecycle::State> lifecycle = {};
  Service<quota::State> quota = {};
  Service<capacity::State> capacity = {};
  Service<configuration::State> configuration = {};
  Trace trace = {};
};

}  // namespace muster::simulation
