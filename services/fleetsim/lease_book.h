#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/node_hash_map.h"
#include "absl/time/time.h"

namespace muster::fleetsim {

struct LeaseOptions {
  // Of one Node's renewals, as a kubelet's: Kubernetes' time, whatever that of the fleet.
  absl::Duration interval = absl::Seconds(10);
  absl::Duration first_retry = absl::Milliseconds(100);
  absl::Duration last_retry = absl::Seconds(5);
};

// Which Node's lease is to be written or deleted when. Those of many Nodes spread over the
// interval; where requests take longer than it has room for, it grows for all alike. Times are of a
// SteadyClock. Pure; not thread-safe.
class LeaseBook {
 public:
  // One request. Of one lease there is one at a time.
  struct Task {
    std::string node = {};
    std::string uid = {};  // of the v1 Node
    bool ends = false;     // to be deleted
    absl::Duration taken = -absl::InfiniteDuration();
  };
  enum class Outcome {
    kDone,
    kFailed,       // it is about this lease
    kUnreachable,  // about the server: all others would fail too
  };

  explicit LeaseBook(const LeaseOptions& options) : options_(options) {}

  // A kubelet speaks for the Node of that uid: its lease is renewed, the first time at once.
  void Renew(const std::string& node, const std::string& uid, absl::Duration now);
  // None does, for now.
  void Leave(const std::string& node);
  // The Node is gone and will not come back: so goes its lease, if we ever wrote one.
  void End(const std::string& node, absl::Duration now);

  // When there is something to do; infinite: nothing is known of.
  absl::Duration NextDue() const;
  // What is due by `now`, the longest due first. To be answered with Done.
  std::optional<Task> Take(absl::Duration now);
  // `pause`: at least so long, if it did not succeed.
  void Done(const Task& task, Outcome outcome, absl::Duration pause, absl::Duration now);

  // Leases that are kept renewed.
  int64_t kept() const { return kept_; }

 private:
  enum class Course { kLeft, kKept, kEnding };
  struct Lease {
    Course course = Course::kLeft;
    std::string uid = {};
    bool written = false;  // perhaps
    bool busy = false;
    bool queued = false;
    bool spread = false;  // it has its place in the interval
    absl::Duration due = -absl::InfiniteDuration();
    int failures = 0;  // in a row
  };
  using Leases = absl::node_hash_map<std::string, Lease>;

  void Set(Lease& lease, Course course);
  void Enqueue(const std::string& node, Lease& lease, absl::Duration due);
  void Dequeue(const std::string& node, Lease& lease);

  const LeaseOptions options_;
  Leases leases_;
  absl::btree_set<std::pair<absl::Duration, std::string>> queue_;
  int64_t kept_ = 0;
  int unreachable_ = 0;  // in a row
  absl::Duration not_before_ = -absl::InfiniteDuration();
};

}  // namespace muster::fleetsim
