#pragma once

#include <cstdint>
#include <limits>
#include <list>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace muster::linearizability {

// A call of a history, in any unit of time. `responded` == kNever: what came of it is unknown; it
// may have had its effect at any time after `invoked`, or never.
inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
struct Interval {
  int64_t invoked = 0;
  int64_t responded = kNever;
};

enum class Verdict { kLinearizable, kNotLinearizable, kUndecided };

struct SearchResult {
  Verdict verdict = Verdict::kUndecided;
  int64_t steps = 0;
  // The calls of the longest prefix of an order that was found, in that order.
  std::vector<size_t> longest = {};
};

// Whether there is an order of the calls that respects real time and in which `model` gives every
// call the answer that it got: the search of Wing and Gong with Lowe's memory of what was tried. It
// knows of nothing but the calls. Model has
//   using State; State Initial();
//   std::optional<State> Step(const State&, size_t call);  // nullopt: it would answer otherwise
//   std::string KeyOf(const State&);                       // equal states have equal keys
// A call whose outcome is unknown must be accepted by Step whatever it would answer. kUndecided
// after `max_steps` calls of Step: exponential in the number of calls that overlap, at worst.
template <class Model>
class Search {
 public:
  Search(Model& model, std::vector<Interval> calls, int64_t max_steps)
      : model_(model), calls_(std::move(calls)), max_steps_(max_steps) {}

  SearchResult Run() {
    Fill();
    done_.assign(calls_.size(), false);
    typename Model::State state = model_.Initial();
    auto at = events_.begin();
    while (open_ > 0) {
      if (result_.steps > max_steps_) return result_;
      if (at != events_.end() && !at->is_response) {
        if (!TryCall(at, state)) {
          ++at;
        } else {
          at = events_.begin();
        }
        continue;
      }
      // A call ended that could not be placed before its end: take the last one back.
      if (placed_.empty()) {
        result_.verdict = Verdict::kNotLinearizable;
        return result_;
      }
      at = TakeBack(state);
      ++at;
    }
    result_.verdict = Verdict::kLinearizable;
    return result_;
  }

 private:
  struct Event {
    size_t call = 0;
    int64_t time = 0;
    bool is_response = false;
  };
  using At = typename std::list<Event>::iterator;
  struct Placed {
    At begin = {};  // both wait in removed_
    At end = {};
    At begin_next = {};
    At end_next = {};
    typename Model::State before = {};
    bool known = false;
  };

  void Fill() {
    for (size_t call = 0; call < calls_.size(); ++call) {
      events_.push_back({call, calls_[call].invoked, false});
      if (calls_[call].responded == kNever) continue;
      events_.push_back({call, calls_[call].responded, true});
      ++open_;
    }
    // At equal times a call begins before another ends: they overlap.
    events_.sort([](const Event& a, const Event& b) {
      return std::pair(a.time, a.is_response) < std::pair(b.time, b.is_response);
    });
    responses_.assign(calls_.size(), events_.end());
    for (auto it = events_.begin(); it != events_.end(); ++it) {
      if (it->is_response) responses_[it->call] = it;
    }
  }

  // Places the call next, if the model agrees and it was not tried so before.
  bool TryCall(At at, typename Model::State& state) {
    ++result_.steps;
    const size_t call = at->call;
    std::optional<typename Model::State> next = model_.Step(state, call);
    if (!next.has_value()) return false;
    done_[call] = true;
    if (!tried_.insert(Memo(*next)).second) {
      done_[call] = false;
      return false;
    }
    Placed placed;
    placed.before = std::exchange(state, *std::move(next));
    placed.known = responses_[call] != events_.end();
    placed.begin = at;
    placed.begin_next = std::next(at);
    removed_.splice(removed_.end(), events_, at);
    if (placed.known) {
      placed.end = responses_[call];
      placed.end_next = std::next(placed.end);
      removed_.splice(removed_.end(), events_, placed.end);
      --open_;
    }
    // begin_next may have been the response itself.
    if (placed.known && placed.begin_next == placed.end) placed.begin_next = placed.end_next;
    placed_.push_back(std::move(placed));
    if (placed_.size() > result_.longest.size()) {
      result_.longest.clear();
      for (const Placed& one : placed_) result_.longest.push_back(one.begin->call);
    }
    return true;
  }

  // Undoes the last placement; returns where it began.
  At TakeBack(typename Model::State& state) {
    Placed placed = std::move(placed_.back());
    placed_.pop_back();
    state = std::move(placed.before);
    if (placed.known) {
      events_.splice(placed.end_next, removed_, placed.end);
      ++open_;
      if (placed.begin_next == placed.end_next) placed.begin_next = placed.end;
    }
    events_.splice(placed.begin_next, removed_, placed.begin);
    done_[placed.begin->call] = false;
    return placed.begin;
  }

  std::string Memo(const typename Model::State& state) const {
    std::string memo;
    unsigned char byte = 0;
    for (size_t i = 0; i < done_.size(); ++i) {
      byte = static_cast<unsigned char>(byte << 1 | (done_[i] ? 1 : 0));
      if (i % 8 == 7) memo.push_back(static_cast<char>(std::exchange(byte, 0)));
    }
    memo.push_back(static_cast<char>(byte));
    return absl::StrCat(memo, model_.KeyOf(state));
  }

  Model& model_;
  const std::vector<Interval> calls_;
  const int64_t max_steps_;
  std::list<Event> events_;
  std::list<Event> removed_;
  std::vector<At> responses_;  // end(): none
  std::vector<bool> done_;
  std::vector<Placed> placed_;
  std::unordered_set<std::string> tried_;
  size_t open_ = 0;  // calls with an answer that are not placed yet
  SearchResult result_;
};

}  // namespace muster::linearizability
