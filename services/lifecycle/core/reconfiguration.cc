#include "services/lifecycle/core/reconfiguration.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/common/count_text.h"
#include "services/lifecycle/core/text.h"

namespace muster::lifecycle {
namespace {

using RState = Reconfiguration::State;

std::string HaltText(const Reconfiguration& reconfiguration) {
  return absl::StrCat("Reconfigure reboots are halted", BecauseText(reconfiguration.halt_reason));
}

void Tell(const Pool& pool, bool began, EventLog& events) {
  const Reconfiguration& is = *pool.reconfiguration;
  const auto emit = [&](EventReason reason, absl::string_view message) {
    events.Emit(pool.uid, pool.name, reason, message);
  };
  switch (is.state) {
    case RState::kRunning:
      return began ? emit(EventReason::kNodePoolReconfigureStarted,
                          "Reconfigure reboots were asked for.")
                   : emit(EventReason::kNodePoolReconfigureResumed, "Reconfigure reboots go on.");
    case RState::kPaused:
      return emit(EventReason::kNodePoolReconfigurePaused, "Reconfigure reboots are paused.");
    case RState::kHalted:
      return emit(EventReason::kNodePoolReconfigureHalted, HaltText(is));
    case RState::kDone:
      return emit(
          EventReason::kNodePoolReconfigureDone,
          absl::StrCat("Reconfigure reboots are done: ", CountText(is.rebooted_nodes, "Node"),
                       " rebooted", is.failed_machines.empty() ? "" : ", ",
                       FailedBootsText(is.failed_machines), "."));
    case RState::kCancelled:
      return emit(EventReason::kNodePoolReconfigureCancelled, "Reconfigure reboots are cancelled.");
  }
}

}  // namespace

void MoveTo(Reconfiguration& reconfiguration, RState state, const std::string& halt_reason,
            absl::Time now) {
  reconfiguration.state = state;
  reconfiguration.state_time = now;
  reconfiguration.halt_reason = state == RState::kHalted ? halt_reason : "";
}

bool IsAsked(const Reconfiguration& reconfiguration, const Node& node) {
  const std::vector<std::string>& asked = reconfiguration.machines;
  return asked.empty() || std::find(asked.begin(), asked.end(), node.machine) != asked.end();
}

AskedNodes::AskedNodes(const std::optional<Reconfiguration>& reconfiguration) {
  if (!reconfiguration) return;
  machines_.insert(reconfiguration->machines.begin(), reconfiguration->machines.end());
}

bool AskedNodes::Has(const Node& node) const {
  return machines_.empty() || machines_.contains(node.machine);
}

std::string SayReconfiguration(const Reconfiguration& reconfiguration) {
  switch (reconfiguration.state) {
    case RState::kRunning:
      return "Reconfigure reboots are under way.";
    case RState::kPaused:
      return "Reconfigure reboots are paused.";
    case RState::kHalted:
      return HaltText(reconfiguration);
    case RState::kDone:
    case RState::kCancelled:
      return "";
  }
  return "";
}

void TellReconfiguration(const Pool& before, const Pool& after, EventLog& events) {
  if (!after.reconfiguration) return;
  const bool began =
      !before.reconfiguration || before.reconfiguration->number != after.reconfiguration->number;
  if (began || before.reconfiguration->state != after.reconfiguration->state)
    Tell(after, began, events);
}

std::string FailedBootsText(const std::vector<std::string>& machines) {
  if (machines.empty()) return "";
  return absl::StrCat(CountText(static_cast<int64_t>(machines.size()), "boot"), " failed (",
                      ListText(machines), ")");
}

}  // namespace muster::lifecycle
