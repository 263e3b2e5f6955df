#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"
#include "services/kubernetes/metrics.h"
#include "services/kubernetes/repeated_failure.h"

namespace muster::kubernetes {

// Whether Muster is to be obeyed where it does not know what is in the cluster.
//
// Muster's database may be restored to a past (or lose its last commits): its history bears another
// name then (`incarnation`), and what is younger than that past is unknown to it, running work or
// not. So nothing is removed in a history only because it does not know it, until that history is
// accepted: by itself once it knows everything that is in the cluster; by a person's word; and what
// was seen on both sides in a history may go in it. Which one is accepted is kept outside of the
// process (`read`, `write`). Thread-safe.
class History {
 public:
  enum class Verdict {
    kObey,  // remove it
    kWait,  // it is not known yet which history this is: ask again soon
    kKeep,  // leave it, and show it
  };
  // What is in the cluster, or was made from there, and not known to Muster, by name.
  struct Unknown {
    std::vector<std::string> nodes = {};       // v1 Nodes
    std::vector<std::string> node_pools = {};  // Muster's, without an object of their uid
    bool empty() const { return nodes.empty() && node_pools.empty(); }
  };
  struct Parts {
    Metrics* metrics = nullptr;
    // The name of the history that was accepted last; empty: none was.
    std::function<absl::StatusOr<std::string>()> read = {};
    std::function<absl::Status(const std::string& incarnation)> write = {};
    std::function<Unknown()> look = {};
    // Shown once for each Node while Muster stays in the history: there again, it is another
    // matter.
    std::function<void(const std::string& node, const std::string& incarnation)> show = {};
    // These are to be reconciled again: they need no longer be kept.
    std::function<void(const Unknown&)> again = {};
    const SteadyClock* steady = TheSteadyClock();
  };

  explicit History(Parts parts) : parts_(std::move(parts)) {}

  // A snapshot of Muster begins: which history it is of is known at its end (Enter).
  void Leave();
  void Enter(const std::string& incarnation);

  // The history that Muster is in; nullopt: not known now. Take it before what is held against it.
  std::optional<std::string> current() const;
  // Counts the snapshots that it was entered by; nullopt: one is being taken.
  std::optional<int64_t> stay() const;
  // Whether all that it says is to be obeyed.
  bool accepted() const;
  // Both sides knew the object of that uid in that history.
  void See(const std::optional<std::string>& incarnation, const std::string& uid);
  // What is to become of something, by its uid, that Muster does not know, or whose object is not
  // there.
  Verdict Judge(const std::string& uid) const;
  // Counts, for the metrics, that something was kept; `kind`: node, node_pool.
  void CountKept(absl::string_view kind) { parts_.metrics->Withheld(kind); }

  // Accepts the history if that is due; shows what stands against it. To be called every now and
  // then, and once before anything is removed.
  void Look();

 private:
  bool AcceptedLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // False: another history began meanwhile.
  bool Accept(const std::string& incarnation);
  void Show(const Unknown& unknown, const std::string& incarnation);
  // Nothing stands against the history any more.
  void EndShow(Unknown kept);

  const Parts parts_;
  // Used by the thread that calls Look alone.
  Unknown shown_;
  absl::flat_hash_set<std::string> told_;  // Nodes that were shown
  std::string told_in_;
  RepeatedFailure unread_;
  RepeatedFailure unwritten_;
  mutable Mutex mutex_;
  std::optional<std::string> current_ MUSTER_GUARDED_BY(mutex_);
  int64_t entered_ MUSTER_GUARDED_BY(mutex_) = 0;  // times
  std::optional<std::string> accepted_ MUSTER_GUARDED_BY(mutex_);
  absl::flat_hash_set<std::string> seen_ MUSTER_GUARDED_BY(mutex_);  // in seen_in_
  std::string seen_in_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::kubernetes
