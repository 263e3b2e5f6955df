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

// A fleet of machines as far as agents can see it: Nodes in, reports with due times and what is
// desired at an API server out. Pure: what happens to each Node is Behaviour's, when is the clock's
// of the caller.
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
    kRefused,   // does not fit (any more): as above
    kLost,      // never arrived, or nobody knows: to be sent again
  };

  explicit FleetModel(const FleetOptions& options)
      : behaviour_(options), kubernetes_(options.kubernetes) {}

  // Nodes observed between the two are all there are in the history of that name. Others are
  // forgotten at the end, unless they are of another history: one that does not know them (a
  // restored past) switches nothing off. They are kept and reported on, until it knows them,
  // deletes them or makes their machine another Node. What was answered before is reported again if
  // the snapshot still asks for it.
  void BeginSnapshot();
  void EndSnapshot(absl::Time now, const std::string& incarnation);
  // The Node as the server shows it. The same once more changes nothing.
  void Observe(const lifecycle::v1::Node& node, absl::Time now);
  void Remove(absl::string_view node);
  // This share (0 to 1) of the Nodes that take work and are healthy falls unhealthy at once.
  // Returns how many.
  int64_t Fail(double share, absl::Time now);

  // When something is due next; nullopt: nothing is.
  std::optional<absl::Time> NextDue() const;
  // What is due by `now`, earliest first, at most `max_nodes` Nodes (1,000 reports take 500). Until
  // it is answered or the Node changes, a Node is not due again.
  std::vector<Due> TakeDue(absl::Time now, size_t max_nodes);
  // `retry_time`: when to send again what was lost. An answer that the Node has overtaken is
  // ignored.
  void Answered(const Due& due, Outcome outcome, absl::Time retry_time);

  // What is to be at the API server from now on, of every Node with a Kubernetes side that changed
  // since the last call; the last one of a Node counts, until there is another.
  std::vector<DesiredMachine> TakeDesired() { return std::exchange(desired_, {}); }

  size_t size() const { return nodes_.size(); }
  // Of them, those that the server's history does not know.
  size_t unknown() const { return unknown_; }

 private:
  struct Entry {
    Life life = {};
    uint64_t version = 0;  // grows with every plan
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
  // Before it is erased.
  void Forget(absl::string_view name, Entry& entry);
  void SetUnknown(Entry& entry, bool unknown);
  // Entries of that machine under other names that the history does not know: the machine went on.
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
  std::vector<DesiredMachine> desired_;
};

}  // namespace muster::fleetsim
