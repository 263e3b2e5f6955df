#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "tests/simulation/random.h"

namespace muster::simulation {

// The network between processes: what is sent arrives at once, later, more than once, in any order,
// or never; and some of it again long after everybody has forgotten it.
class Network {
 public:
  using Message = std::function<void()>;
  enum class Fate { kArrives, kLost, kAnswerLost, kLate };

  // Both must outlive it; `weather` may change.
  Network(Random& random, const Weather& weather) : random_(random), weather_(weather) {}

  bool quota_away = false;
  bool capacity_away = false;
  bool configuration_away = false;
  bool catalogue_known = true;

  // Decides what becomes of a call. For kArrives and kAnswerLost the sender itself carries it out;
  // `message` does the same, for when it arrives later or again.
  Fate Send(bool away, const Message& message) {
    if (away || random_.Percent(weather_.lost_call)) return Fate::kLost;
    Remember(message);
    if (random_.Percent(weather_.late_call)) {
      under_way_.push_back(message);
      return Fate::kLate;
    }
    if (random_.Percent(weather_.repeated)) under_way_.push_back(message);
    return random_.Percent(weather_.lost_answer) ? Fate::kAnswerLost : Fate::kArrives;
  }
  // Lets it arrive some time.
  void Delay(Message message) { under_way_.push_back(std::move(message)); }

  // Lets one of the messages under way arrive; it may stay, to arrive again. False: there is none.
  bool DeliverOne() {
    if (under_way_.empty()) return false;
    const auto i = static_cast<size_t>(random_.Uniform(static_cast<int>(under_way_.size())));
    const Message message = under_way_[i];
    if (!random_.Percent(weather_.repeated))
      under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(i));
    message();
    return true;
  }
  // All that is under way arrives.
  void DeliverAll() {
    while (DeliverOne()) {
    }
  }
  // Much of what was ever sent arrives once more, in any order.
  void Replay() {
    while (!sent_.empty()) {
      const auto i = static_cast<size_t>(random_.Uniform(static_cast<int>(sent_.size())));
      const Message message = std::move(sent_[i]);
      sent_.erase(sent_.begin() + static_cast<std::ptrdiff_t>(i));
      message();
    }
  }

 private:
  // Keeps a random sample of all messages that were ever sent.
  void Remember(const Message& message) {
    constexpr int kKept = 60;
    ++sent_count_;
    if (sent_.size() < kKept) {
      sent_.push_back(message);
    } else if (const int i = random_.Uniform(sent_count_); i < kKept) {
      sent_[static_cast<size_t>(i)] = message;
    }
  }

  Random& random_;
  const Weather& weather_;
  std::vector<Message> under_way_;
  std::vector<Message> sent_;
  int sent_count_ = 0;
};

}  // namespace muster::simulation
