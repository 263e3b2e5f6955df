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
  // Between two renewals of one Node, as a kubelet's. In real time, whatever the fleet's speed.
  absl::Duration interval = absl::Seconds(10);
  absl::Duration first_retry = absl::Milliseconds(100);
  absl::Duration last_retry = absl::Seconds(5);
};

// Decides when which Node's lease is written or deleted. The renewals of many Nodes spread over the
// interval; if requests take too long for it, all of them come later alike. Times are of a
// SteadyClock. Pure; not thread-safe.
class LeaseBook {
 public:
  // One request. For each lease there is at most one at a time.
  struct Task {
    std::string node = {};
    std::string uid = {};  // of the v1 Node
    bool ends = false;     // to be deleted
    absl::Duration taken = -absl::InfiniteDuration();
  };
  enum class Outcome {
    kDone,
    kFailed,       // because of this lease
    kUnreachable,  // because of the server: all other requests would fail too
  };

  explicit LeaseBook(const LeaseOptions& options) : options_(options) {}

  // A kubelet speaks for the Node of that uid: its lease is renewed, the first time at once.
  void Renew(const std::string& node, const std::string& uid, absl::Duration now);
  // No kubelet speaks for the Node for now: its lease is left alone.
  void Leave(const std::string& node);
  // The Node is gone for good: its lease is deleted, if we ever wrote one.
  void End(const std::string& node, absl::Duration now);

  // When Take has something; infinite: nothing is due.
  absl::Duration NextDue() const;
  // A task that is due by `now`, the longest due first. Each must be answered by Done.
  std::optional<Task> Take(absl::Duration now);
  // `pause`: the least time until it is tried again, if it failed.
  void Done(const Task& task, Outcome outcome, absl::Duration pause, absl::Duration now);

  // Leases that are kept renewed.
  int64_t kept() const { return kept_; }

 private:
  enum class Course { kLeft, kKept, kEnding };
  struct Lease {
    Course course = Course::kLeft;
    std::string uid = {};
    bool written = false;  // a request to write it was made
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
