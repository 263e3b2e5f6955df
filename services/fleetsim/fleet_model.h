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
#include "services/fleetsim/behaviour.h"
#include "services/fleetsim/desired_machine.h"

namespace muster::fleetsim {

// A fleet of machines as far as agents can see it. Takes Nodes; gives reports with the times at
// which they are due, and what is desired at an API server. Pure: Behaviour decides what happens to
// each Node, and callers say what time it is.
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
  enum class Outcome {
    kAccepted,  // the Node will change and be observed again
    kRefused,   // the report does not fit (any more); the Node will be observed again, too
    kLost,      // it did not arrive, or nobody knows whether: to be sent again
  };

  explicit FleetModel(const FleetOptions& options)
      : behaviour_(options), kubernetes_(options.kubernetes) {}

  // The Nodes observed between the two calls are all that the server's history `incarnation` has. A
  // Node that is not among them is forgotten and its machine switched off; not so when the history
  // is another one than at the last snapshot (the server was restored to a past): then the Node
  // counts as unknown, and is kept and reported on until the server shows it, deletes it or makes
  // its machine another Node. What was answered before is reported again if the snapshot still asks
  // for it.
  void BeginSnapshot();
  void EndSnapshot(absl::Time now, const std::string& incarnation);
  // Takes the Node as the server shows it. An equal Node again changes nothing.
  void Observe(const lifecycle::v1::Node& node, absl::Time now);
  void Remove(absl::string_view node);
  // Lets this share (0 to 1) of the healthy Nodes in production fall unhealthy at once. Returns
  // their number.
  int64_t Fail(double share, absl::Time now);

  // When something is due next; nullopt: nothing is.
  std::optional<absl::Time> NextDue() const;
  // What is due by `now`, earliest first, at most `max_nodes` Nodes (1,000 reports take 500). Until
  // it is answered or the Node changes, a Node is not due again.
  std::vector<Due> TakeDue(absl::Time now, size_t max_nodes);
  // `retry_time`: when to send again what was lost. Ignored if the Node has changed since it was
  // due.
  void Answered(const Due& due, Outcome outcome, absl::Time retry_time);

  // What is desired at the API server, of each Node with a Kubernetes side for which that changed
  // since the last call. Of several for one Node the last one counts.
  std::vector<DesiredMachine> TakeDesired() { return std::exchange(desired_, {}); }

  size_t size() const { return nodes_.size(); }
  // How many of the Nodes the server's history does not know.
  size_t unknown() const { return unknown_; }

 private:
  struct Entry {
    Life life = {};
    uint64_t version = 0;  // another with every plan
    Action action = Action::kNone;
    absl::Time due = absl::InfiniteFuture();
    bool queued = false;
    bool answered = false;
    bool in_snapshot = false;
    bool unknown = false;  // to the server's history
    DesiredMachine desired = {};
  };

  void Plan(absl::string_view name, Entry& entry, absl::Time now);
  void SetDesired(Entry& entry, DesiredMachine desired);
  // To be called before the entry is erased: its machine is to be off.
  void Forget(absl::string_view name, Entry& entry);
  void SetUnknown(Entry& entry, bool unknown);
  // Erases unknown entries of that machine under other names than `name`: the machine is another
  // Node now, so it is not switched off.
  void DropUnknown(absl::string_view machine, absl::string_view name);
  void Enqueue(absl::string_view name, Entry& entry, absl::Time due);
  void Dequeue(absl::string_view name, Entry& entry);

  const Behaviour behaviour_;
  const std::optional<std::string> kubernetes_;
  absl::node_hash_map<std::string, Entry> nodes_;  // by name; the queue points at the names
  absl::btree_set<std::pair<absl::Time, absl::string_view>> queue_;
  absl::flat_hash_map<std::string, uint32_t> attempts_;  // by machine
  std::optional<std::string> incarnation_;               // of the last snapshot
  size_t unknown_ = 0;
  uint64_t mass_failures_ = 0;
  uint64_t last_version_ = 0;  // of all entries: the next Node of a name has none of a former one's
  std::vector<DesiredMachine> desired_;
};

}  // namespace muster::fleetsim
