#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "tests/kubernetes/adapter/adapter_stack.h"

// What the tests of failures have in common: NodePools whose Nodes are full of Pods, and what must
// hold of a cluster whatever happened to it.
namespace muster::testing {

// A NodePool that may drain Nodes with work when it is scaled down.
nlohmann::json WorkingPool(const std::string& name, int64_t nodes);

// Sends the request until it succeeds; what stands in its way will pass. Throws after a minute.
void RetryUntilOk(const std::function<absl::Status()>& request);

// The names of its v1 Nodes, sorted.
std::vector<std::string> NodesOf(AdapterStack& stack, const std::string& pool);

// Puts a Pod of each kind on a v1 Node: interruptable, graceful (it takes `grace` to end), plain,
// `web` (see BlockDrains), and one of a DaemonSet. Returns the names of those that a drain moves.
std::vector<std::string> FillNode(AdapterStack& stack, const std::string& node,
                                  absl::Duration grace = absl::Seconds(2));
// No `web` Pod may be evicted, until AllowDrains.
void BlockDrains(AdapterStack& stack);
void AllowDrains(AdapterStack& stack);

// How often the adapter asked each Pod of `pods` to leave, by deletes and evictions that were
// granted. The fake server only.
std::map<std::string, int> EvictionModes(AdapterStack& stack, const std::vector<std::string>& pods);
// All evictions that the API server granted since it began, whoever asked.
int64_t GrantedEvictions(AdapterStack& stack);

// Waits until each event of Muster is at the API server, once and with its count. Returns what is
// still wrong when patience is over, as text for people; empty: nothing.
std::string AwaitEvents(AdapterStack& stack);

// Waits for so many renewals of the adapter's Lease, which are the clock of these tests.
bool AwaitRenewals(AdapterStack& stack, int renewals);

// The version of every NodePool, Node, Pod, Namespace and event, by path and name.
std::map<std::string, std::string> Versions(AdapterStack& stack);
// What of Versions differs between the two, a line each.
std::string Differences(const std::map<std::string, std::string>& before,
                        const std::map<std::string, std::string>& after);
// Waits until the adapter has written nothing for some renewals of its Lease. Returns what it still
// writes when patience is over, as text for people; empty: it is quiet.
std::string AwaitQuiet(AdapterStack& stack);

// Counts the changes of NodePools, Nodes and Pods as a watch brings them: the clock by which tests
// choose their moments.
class ChangeCounter {
 public:
  explicit ChangeCounter(AdapterStack& stack);
  ~ChangeCounter();

  // Waits until so many more changes came, or `over` holds for that NodePool (null: there is none),
  // or nothing came for a while.
  void AwaitChanges(int changes, const std::string& pool,
                    const std::function<bool(const nlohmann::json&)>& over);
  // Waits until the watch has seen `wanted` deletions of Nodes, and returns how many it saw: fewer
  // if patience is over. It sees them later than a list does, above all after it was cut.
  int AwaitDeletedNodes(int wanted) const;

 private:
  struct Shared;
  const std::unique_ptr<Shared> shared_;
};

// The v1 Nodes that are there: name to uid.
std::map<std::string, std::string> NodeUids(AdapterStack& stack);

// What is there, in a few lines, and the logs: for failure messages.
std::string Describe(AdapterStack& stack);

// Waits until the adapter has ended by itself. Returns its exit code; -1: it did not end.
int AwaitAdapterEnd(AdapterStack& stack, size_t replica = 0,
                    absl::Duration patience = absl::Seconds(60));

}  // namespace muster::testing
