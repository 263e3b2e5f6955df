#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/linearizability/call.h"

namespace muster::linearizability {

// The journal of a schema: the order that the system itself claims for its calls.
template <class State>
struct Journal {
  struct Row {
    int64_t revision = 0;
    std::string batch = {};
    Revised<typename State::Change> change = {};
    std::string bytes = {};  // as the journal has them; empty: deleted
    std::string mark = {};   // tells which calls may have written it
    absl::Time time = {};    // the latest that stands in it
  };
  // The state before the first of `rows`, and its revision.
  State before = {};
  int64_t revision = 0;
  std::vector<Row> rows = {};
  // How far the times that stand in a row may lie after that of its decision.
  absl::Duration ahead = {};
  std::function<std::string(const Revised<typename State::Change>&)> encode = {};
};

struct WitnessResult {
  std::vector<std::string> violations = {};
  int64_t writes = 0;  // calls that changed something, each at its place in the journal
  int64_t others = 0;  // calls that changed nothing, each at a place where the core says the same
  int64_t unknown_done = 0;  // of the writes, those that nobody acknowledged
};

// Whether the journal's order is one that makes the history linearizable:
//  * every row was written by a call, and the core, on the state before it, gives exactly these
//    rows and exactly this answer; a call that failed has written none;
//  * every other answered call has a place at which the core changes nothing and gives this answer;
//  * a call that ended before another began has its place before the other's.
// Places of calls that changed nothing are chosen as early as possible, which leaves most room to
// all others. An order that passes is a proof; who proposed it does not matter. A history that
// passes no longer depends on the journal being right, one that fails might be linearizable in
// another order.
template <class State>
class Witness {
 public:
  Witness(const Journal<State>& journal, const std::vector<Call<State>>& calls)
      : journal_(journal), calls_(calls), places_(calls.size()) {}

  WitnessResult Run() {
    if (!Replay()) return result_;
    IndexMarks();
    // Rows that several calls may have written are given to one of them by a guess. A guess that
    // proves wrong is not made again. If no guess works, the result is what the first ones
    // violated.
    WitnessResult first;
    for (int guesses = 0; guesses < kMaxGuesses; ++guesses) {
      const size_t before = wrong_.size();
      result_ = {};
      places_.assign(calls_.size(), {});
      AssignRows();
      PlaceInTime();
      if (guesses == 0) first = result_;
      if (wrong_.size() == before) break;
    }
    return result_.violations.empty() ? result_ : first;
  }

 private:
  static constexpr size_t kMaxViolations = 20;
  static constexpr int kMaxGuesses = 20;
  static constexpr int64_t kNowhere = -1;
  struct Place {
    int64_t first = kNowhere;  // the first revision that it wrote
    int64_t last = kNowhere;   // the last, or that of the state that it saw
  };

  void Violate(const std::string& what) {
    if (result_.violations.size() < kMaxViolations) result_.violations.push_back(what);
  }
  State& StateAt(int64_t revision) {
    return states_[static_cast<size_t>(revision - journal_.revision)];
  }
  int64_t last_revision() const {
    return journal_.revision + static_cast<int64_t>(journal_.rows.size());
  }
  const typename Journal<State>::Row& RowOf(int64_t revision) const {
    return journal_.rows[static_cast<size_t>(revision - journal_.revision - 1)];
  }

  static bool Has(const State& state, const typename State::Change& change) {
    return std::visit(
        [&](const auto& row) {
          using Row =
              std::remove_const_t<typename std::remove_reference_t<decltype(row)>::element_type>;
          return state.template table<Row>().Find(change.key) != nullptr;
        },
        change.row);
  }

  bool Replay() {
    states_ = {journal_.before};
    for (size_t i = 0; i < journal_.rows.size(); ++i) {
      const auto& row = journal_.rows[i];
      if (row.revision != journal_.revision + static_cast<int64_t>(i) + 1) {
        Violate(absl::StrCat("The journal has revision ", row.revision, " at place ", i + 1,
                             " after ", journal_.revision, "."));
        return false;
      }
      if (row.change.change.deleted() && !Has(states_.back(), row.change.change)) {
        Violate(absl::StrCat("Revision ", row.revision, " deletes ", row.change.change.key,
                             ", which is not there."));
        return false;
      }
      times_[row.batch] = std::max(times_[row.batch], row.time);
      states_.push_back(states_.back());
      states_.back().Apply(row.change.change, row.revision);
    }
    return true;
  }

  void IndexMarks() {
    for (size_t call = 0; call < calls_.size(); ++call) {
      if (calls_[call].outcome == Outcome::kFailed) continue;
      for (const std::string& mark : calls_[call].marks)
        writers_[mark].emplace(calls_[call].interval.invoked, call);
    }
  }

  // How many rows from `first` on the core, on the state before them, has the call write; 0: not
  // these.
  int64_t Explains(size_t call, int64_t first) {
    int64_t rows = 0;
    for (absl::Duration ahead; rows == 0 && ahead <= journal_.ahead; ahead += absl::Microseconds(1))
      rows = ExplainsAt(call, first, times_[RowOf(first).batch] - ahead);
    return rows;
  }
  int64_t ExplainsAt(size_t call, int64_t first, absl::Time time) {
    StagedState<State> staged(StateAt(first - 1), first - 1);
    const Answer answer = calls_[call].decide(staged, time);
    const auto changes = staged.changes();
    staged.RollBack();
    if (calls_[call].outcome == Outcome::kAnswered && answer != calls_[call].answer) return 0;
    if (last_revision() - first + 1 < static_cast<int64_t>(changes.size())) return 0;
    for (const auto& change : changes) {
      const auto& row = RowOf(change.revision);
      if (change.change.kind() != row.change.change.kind() ||
          change.change.key != row.change.change.key ||
          (change.change.deleted() ? "" : journal_.encode(change)) != row.bytes)
        return 0;
    }
    return static_cast<int64_t>(changes.size());
  }

  // Whether an answered call may as well have come right after the row `last`, changing nothing.
  bool MayFollow(size_t call, int64_t last) {
    StagedState<State> staged(StateAt(last), last);
    const Answer answer = calls_[call].decide(staged, TimeAfter(last));
    const bool same = staged.changes().empty() && answer == calls_[call].answer;
    staged.RollBack();
    return same;
  }

  // Gives the rows from `first` on to one of the calls that some row of the batch points to: to one
  // that has no other place, else to that which began first.
  bool AssignAt(int64_t& first) {
    std::set<std::pair<int64_t, size_t>> pointed_to;
    for (int64_t at = first; at <= last_revision() && RowOf(at).batch == RowOf(first).batch; ++at) {
      if (const auto it = writers_.find(RowOf(at).mark); it != writers_.end())
        pointed_to.insert(it->second.begin(), it->second.end());
    }
    size_t chosen = calls_.size();
    int64_t last = kNowhere;
    for (const auto& [invoked, call] : pointed_to) {
      if (places_[call].last != kNowhere || wrong_.contains({call, first})) continue;
      const int64_t count = Explains(call, first);
      if (count == 0) continue;
      const bool only_here =
          calls_[call].outcome == Outcome::kAnswered && !MayFollow(call, first + count - 1);
      if (chosen != calls_.size() && !only_here) continue;
      chosen = call;
      last = first + count - 1;
      if (only_here) break;
    }
    if (chosen == calls_.size()) return false;
    places_[chosen] = {first, last};
    first = last + 1;
    ++result_.writes;
    if (calls_[chosen].outcome == Outcome::kUnknown) ++result_.unknown_done;
    return true;
  }

  void AssignRows() {
    boundaries_ = {journal_.revision};
    for (int64_t at = journal_.revision + 1; at <= last_revision();) {
      if (!AssignAt(at)) {
        Violate(absl::StrCat("Revision ", at, " (", RowOf(at).mark,
                             "): no call can have written it as the core decides."));
        ++at;
      }
      boundaries_.push_back(at - 1);
    }
  }

  // When the next row was decided, or the last.
  absl::Time TimeAfter(int64_t revision) {
    if (journal_.rows.empty()) return absl::UnixEpoch();
    return times_[RowOf(std::min(revision + 1, last_revision())).batch];
  }

  // The earliest place from `bound` on at which the core has the call change nothing and answer so.
  int64_t PlaceOfOther(const Call<State>& call, int64_t bound) {
    for (auto it = std::lower_bound(boundaries_.begin(), boundaries_.end(), bound);
         it != boundaries_.end(); ++it) {
      StagedState<State> staged(StateAt(*it), *it);
      const Answer answer = call.decide(staged, TimeAfter(*it));
      const bool same = staged.changes().empty() && answer == call.answer;
      staged.RollBack();
      if (same) return *it;
    }
    return kNowhere;
  }

  // A call that finds no place may be the writer of a row that was given to another one.
  void TakeBackFrom(size_t index) {
    for (size_t other = 0; other < calls_.size(); ++other) {
      const int64_t first = places_[other].first;
      if (other == index || first == kNowhere) continue;
      const auto it = writers_.find(RowOf(first).mark);
      if (it == writers_.end()) continue;
      if (!it->second.contains({calls_[index].interval.invoked, index})) continue;
      if (Explains(index, first) > 0) wrong_.emplace(other, first);
    }
  }

  // Gives every call its place, in the order in which they began.
  void PlaceInTime() {
    std::vector<size_t> order(calls_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return calls_[a].interval.invoked < calls_[b].interval.invoked;
    });
    // Calls that have their place, the first to end on top.
    std::priority_queue<std::pair<int64_t, int64_t>, std::vector<std::pair<int64_t, int64_t>>,
                        std::greater<>>
        ends;
    int64_t bound = journal_.revision;  // of all that ended before the call began
    for (const size_t index : order) {
      // Each call without a place is looked for everywhere: with so many, more would say no more.
      if (result_.violations.size() >= kMaxViolations) return;
      const Call<State>& call = calls_[index];
      while (!ends.empty() && ends.top().first < call.interval.invoked) {
        bound = std::max(bound, ends.top().second);
        ends.pop();
      }
      Place& place = places_[index];
      if (place.first != kNowhere) {
        if (place.first <= bound) {
          wrong_.emplace(index, place.first);
          Violate(absl::StrCat(call.what, " wrote revision ", place.first,
                               ", but began after a call that saw revision ", bound));
        }
      } else if (call.outcome == Outcome::kAnswered) {
        place.last = PlaceOfOther(call, bound);
        if (place.last == kNowhere) {
          TakeBackFrom(index);
          Violate(absl::StrCat(call.what, ": the core gives its answer at no place from revision ",
                               bound, " on: ", call.told));
          continue;
        }
        ++result_.others;
      }
      if (call.outcome == Outcome::kAnswered) ends.emplace(call.interval.responded, place.last);
    }
  }

  const Journal<State>& journal_;
  const std::vector<Call<State>>& calls_;
  std::vector<State> states_;  // [i]: after the first i rows
  std::map<std::string, absl::Time>
      times_;  // of a batch: all its commands were decided at one time
  std::map<std::string, std::set<std::pair<int64_t, size_t>>> writers_;
  std::set<std::pair<size_t, int64_t>> wrong_;  // calls that cannot have written the row
  std::vector<Place> places_;
  std::vector<int64_t> boundaries_;  // revisions between two calls
  WitnessResult result_;
};

}  // namespace muster::linearizability
