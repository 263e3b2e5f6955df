#pragma once

#include <optional>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/lifecycle/core/events.h"
#include "services/lifecycle/core/types.h"

// How reconfigure reboots change their state, and which events tell of it: the same whether a
// caller or a plan changes it.
namespace muster::lifecycle {

// Sets the state; `halt_reason`: why, read for kHalted.
void MoveTo(Reconfiguration& reconfiguration, Reconfiguration::State state,
            const std::string& halt_reason, absl::Time now);

// Whether the reconfiguration was asked for this Node.
bool IsAsked(const Reconfiguration& reconfiguration, const Node& node);

// The same for many Nodes, by a set of the named machines.
class AskedNodes {
 public:
  // The reconfiguration must outlive it. Without one, Has is true for every Node.
  explicit AskedNodes(const std::optional<Reconfiguration>& reconfiguration);

  bool Has(const Node& node) const;

 private:
  absl::flat_hash_set<absl::string_view> machines_;  // empty: all
};

// What the condition NodeReconfigurationRequired says of it: "Reconfigure reboots are paused.";
// empty: nothing, it has ended.
std::string SayReconfiguration(const Reconfiguration& reconfiguration);

// Emits the event for a reconfiguration that began or changed its state between `before` and
// `after`, if there is one.
void TellReconfiguration(const Pool& before, const Pool& after, EventLog& events);

// "1 boot failed (g100)".
std::string FailedBootsText(const std::vector<std::string>& machines);

}  // namespace muster::lifecycle
