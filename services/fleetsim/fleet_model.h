#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"

namespace muster::fleetsim {

// How the simulated fleet behaves. Durations marked "mean" vary from Node to Node.
struct FleetOptions {
  uint64_t seed = 1;
  absl::Duration boot_time = absl::Seconds(3);  // mean, from BOOTING to registered or failed
  absl::Duration ready_time = absl::Milliseconds(500);  // mean, from registered to ready
  absl::Duration drain_time = absl::Seconds(2);         // mean, from DRAINING to drained
  absl::Duration terminate_time = absl::Seconds(2);     // mean, from PREPARED_FOR_TERMINATE to off
  double spread = 0.3;           // 0 to 1: the above vary by this fraction of themselves
  double boot_failure_rate = 0;  // 0 to 1: share of boots that fail
  absl::Duration work_arrival = absl::ZeroDuration();  // mean idle time until work starts; 0: never
  absl::Duration work_duration = absl::Minutes(10);    // mean time that work takes
};

// A fleet of machines as far as agents can see it: Nodes in, reports with due times out. Pure: no
// clock, no threads, no randomness but a hash of seed, machine, attempt and purpose, so that
// neither the order of messages nor a restart changes what happens to a machine. Level-triggered:
// what is reported follows from the Node as the server last showed it, and times count from the
// server's `state_time`, so nothing is lost with this process.
//
//   ASSIGNED, to be RUNNING, profile known -> BOOT_STARTED at once
//   BOOTING                                -> after boot_time REGISTERED, or BOOT_FAILED
//   REGISTERED                             -> after ready_time READY
//   PRODUCTION, idle, not cordoned         -> after work_arrival ACTIVE
//   PRODUCTION or CORDONED, active         -> after work_duration IDLE
//   DRAINING                               -> after drain_time, at its deadline at the latest, IDLE
//   if active, DRAINED PREPARED_FOR_TERMINATE                 -> after terminate_time TERMINATED
//
// Not thread-safe.
class FleetModel {
 public:
  // What is due for one Node: its reports in order, to be sent together.
  struct Due {
    std::string node = {};
    uint64_t version = 0;                    // for Answered
    absl::Time time = absl::InfinitePast();  // since when it is due and its Node known
    std::vector<lifecycle::v1::NodeReport> reports = {};
  };
  enum class Answer {
    kAccepted,  // the Node will change and be observed again
    kRefused,   // does not fit (any more): as above
    kLost,      // never arrived, or nobody knows: to be sent again
  };

  explicit FleetModel(const FleetOptions& options) : options_(options) {}

  // Nodes observed between the two are all there are; others are forgotten at the end. What was
  // answered before is reported again if the snapshot still asks for it.
  void BeginSnapshot();
  void EndSnapshot();
  // The Node as the server shows it. The same once more changes nothing.
  void Observe(const lifecycle::v1::Node& node, absl::Time now);
  void Remove(absl::string_view node);

  // When something is due next; nullopt: nothing is.
  std::optional<absl::Time> NextDue() const;
  // What is due by `now`, earliest first, at most `max_nodes` Nodes (1,000 reports take 500). Until
  // it is answered or the Node changes, a Node is not due again.
  std::vector<Due> TakeDue(absl::Time now, size_t max_nodes);
  // `retry_time`: when to send again what was lost. An answer that the Node has overtaken is
  // ignored.
  void Answered(const Due& due, Answer answer, absl::Time retry_time);

  size_t size() const { return nodes_.size(); }

 private:
  enum class Action {
    kNone,
    kStartBoot,
    kFinishBoot,
    kReady,
    kStartWork,
    kFinishWork,
    kDrained,
    kTerminated
  };

  // What of a Node matters here.
  struct View {
    lifecycle::v1::Node::State state = {};
    absl::Time state_time = absl::InfinitePast();
    absl::Time create_time = absl::InfinitePast();
    lifecycle::v1::NodeDesired::Phase phase = {};
    std::string profile = {};
    bool cordoned = false;
    absl::Time drain_deadline = absl::InfiniteFuture();
    bool active = false;
    absl::Time active_time = absl::InfinitePast();
    bool operator==(const View&) const = default;
  };
  struct Entry {
    std::string machine = {};
    View view = {};
    absl::Time seen_time = absl::InfinitePast();  // when the view last changed, by our clock
    uint32_t attempt = 0;                         // how often the machine was a Node before
    uint32_t works = 0;                           // how often work started or ended
    uint64_t version = 0;                         // grows with every plan
    Action action = Action::kNone;
    absl::Time due = absl::InfiniteFuture();
    bool queued = false;
    bool answered = false;
    bool in_snapshot = false;
  };

  static View ViewOf(const lifecycle::v1::Node& node);
  // A number in [0, 1) that is always the same for this Node's attempt and purpose.
  double Draw(const Entry& entry, uint64_t purpose, uint64_t count = 0) const;
  absl::Duration Around(absl::Duration mean, double draw) const;
  // What to do next with the Node and when.
  std::pair<Action, absl::Time> Next(const Entry& entry) const;
  bool BootFails(const Entry& entry) const;
  void Plan(absl::string_view name, Entry& entry);
  void Enqueue(absl::string_view name, Entry& entry, absl::Time due);
  void Dequeue(absl::string_view name, Entry& entry);
  std::vector<lifecycle::v1::NodeReport> Reports(absl::string_view name, const Entry& entry) const;

  const FleetOptions options_;
  absl::node_hash_map<std::string, Entry> nodes_;  // by name; the queue points at the names
  absl::btree_set<std::pair<absl::Time, absl::string_view>> queue_;
  absl::flat_hash_map<std::string, uint32_t> attempts_;  // by machine
  bool snapshot_ = false;
};

}  // namespace muster::fleetsim
