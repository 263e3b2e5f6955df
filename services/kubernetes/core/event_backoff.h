#pragma once

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"

namespace muster::kubernetes {

// When events are written while the API server refuses some of them, or all. A refused event waits
// behind all others, so that it is in nobody's way. Of the refused events the one that was refused
// least often is tried first, at growing intervals; when such a retry is due it goes before all
// others, even if ever more of them come and are refused for the first time. Nobody knows whether
// the server refuses one event or all: so all writes pause for a moment after a refusal, for longer
// with each in a row. Once a refused event is taken, the obstacle is gone, and the other refused
// ones need not wait. Not thread-safe. `now`: of a SteadyClock.
class EventBackoff {
 public:
  // The first pause after a refusal: of all writes; and until a refused event is tried again.
  static constexpr absl::Duration kFirstRest = absl::Milliseconds(50);
  static constexpr absl::Duration kFirstRetry = absl::Seconds(2);
  // The longest. By the first the server is asked as often as client-go does where nobody set a
  // rate; by the second events are written again within a minute of the right to do so.
  static constexpr absl::Duration kLongestRest = absl::Milliseconds(500);
  static constexpr absl::Duration kLongestRetry = absl::Seconds(30);

  // The API server refused the event of that name; that may be about this one, or about all.
  void Refused(const std::string& event, absl::Duration now);
  // It gave no answer, or asked to wait.
  void Away(absl::Duration now, absl::Duration at_least);
  void Written(const std::string& event);
  // It will not be tried again.
  void Dropped(const std::string& event);
  // One of those that were refused is tried: what comes of it decides for the others.
  void Trying(absl::Duration now);

  int RefusalsOf(const std::string& event) const;
  // Nothing is written before.
  absl::Duration rest_until() const { return rest_until_; }
  // Nothing that was refused is tried before.
  absl::Duration retry_time() const { return retry_time_; }
  // One that was refused is tried before all others.
  bool RetryIsDue(absl::Duration now) const { return IsSet() && now >= retry_time_; }

 private:
  // False: the refused events need not wait, or there are none.
  bool IsSet() const { return retry_time_ > -absl::InfiniteDuration(); }

  int in_row_ = 0;
  absl::Duration rest_until_ = -absl::InfiniteDuration();
  absl::Duration retry_time_ = -absl::InfiniteDuration();
  absl::flat_hash_map<std::string, int> refusals_;
};

}  // namespace muster::kubernetes
