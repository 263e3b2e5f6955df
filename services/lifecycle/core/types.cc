#include "services/lifecycle/core/types.h"

namespace muster::lifecycle {
namespace {

// What an element takes beside its texts: lengths, and numbers and times that it may have.
constexpr size_t kBytesAnElement = 16;

size_t JournalBytesOf(const std::string& text) { return text.size() + kBytesAnElement; }

size_t JournalBytesOf(const Taint& taint) {
  return taint.key.size() + taint.value.size() + taint.effect.size() + kBytesAnElement;
}

size_t JournalBytesOf(const std::pair<const std::string, std::string>& entry) {
  return entry.first.size() + entry.second.size() + kBytesAnElement;
}

// Messages quote what agents said.
size_t JournalBytesOf(const Condition& condition) { return condition.message.get().size(); }

template <class Elements>
size_t JournalBytesOfAll(const Elements& elements) {
  size_t bytes = 0;
  for (const auto& element : elements) bytes += JournalBytesOf(element);
  return bytes;
}

size_t JournalBytesOf(const Affinity& affinity) {
  size_t bytes = 0;
  for (const auto& term : affinity) {
    for (const AffinityExpression& expression : term)
      bytes += JournalBytesOf(expression.key) + JournalBytesOfAll(expression.values);
  }
  return bytes;
}

}  // namespace

size_t Pool::JournalBytes() const {
  size_t bytes = JournalBytesOfAll(spec.node_labels) + JournalBytesOfAll(spec.node_annotations) +
                 JournalBytesOfAll(spec.node_taints) + JournalBytesOf(spec.node_affinity) +
                 JournalBytesOf(spec.description) + JournalBytesOfAll(account.leaving_racks) +
                 JournalBytesOfAll(account.boot_failures.machines) +
                 JournalBytesOfAll(status.conditions) + JournalBytesOfAll(status.summary);
  for (const NodeConfiguration& revision : status.revisions)
    bytes += JournalBytesOf(revision.node_profile) + JournalBytesOfAll(revision.summary);
  if (reconfiguration) {
    bytes += JournalBytesOfAll(reconfiguration->machines) +
             JournalBytesOfAll(reconfiguration->failed_machines);
  }
  return bytes;
}

size_t Node::JournalBytes() const {
  return JournalBytesOfAll(desired.labels) + JournalBytesOfAll(desired.annotations) +
         JournalBytesOfAll(desired.taints) + JournalBytesOfAll(observed.active_pods) +
         JournalBytesOfAll(conditions) + observed.health_message.size() +
         observed.drain_blocked_by.size() + observed.staging_error.size() +
         observed.removal_error.size();
}

}  // namespace muster::lifecycle
