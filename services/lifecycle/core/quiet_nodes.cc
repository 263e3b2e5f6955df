#include "services/lifecycle/core/quiet_nodes.h"

#include "services/common/condition_names.h"
#include "services/lifecycle/core/node_machine.h"

namespace muster::lifecycle {
namespace {

// Makes the Node's work, and all that is said of it, that of `other`.
void TakeWork(Node& node, const Node& other) {
  node.observed.active = other.observed.active;
  node.observed.active_pods = other.observed.active_pods;
  node.observed.active_pod_count = other.observed.active_pod_count;
  node.observed.active_time = other.observed.active_time;
  if (node.conditions.size() != other.conditions.size()) return;
  for (size_t i = 0; i < node.conditions.size(); ++i) {
    if (node.conditions[i].type == condition::kActive &&
        other.conditions[i].type == condition::kActive)
      node.conditions[i] = other.conditions[i];
  }
}

}  // namespace

void QuietNodes::Add(const Node& node, int64_t times) {
  const bool to_come = IsInProgress(node.state);
  size_ += times;
  in_production_ += node.state == NodeState::kProduction ? times : 0;
  in_progress_ += to_come ? times : 0;
  OnProfile& on = Of(node.observed.node_profile);
  on.in_service += to_come ? 0 : times;
  if (!IsPresent(node)) return;
  on.present += times;
  on.present_to_come += to_come ? times : 0;
}

int64_t QuietNodes::present() const {
  int64_t present = 0;
  for (const OnProfile& on : profiles_) present += on.present;
  return present;
}

const QuietNodes::OnProfile* QuietNodes::Find(const std::string& node_profile) const {
  const auto it = std::find_if(profiles_.begin(), profiles_.end(), [&](const OnProfile& on) {
    return on.node_profile == node_profile;
  });
  return it == profiles_.end() ? nullptr : &*it;
}

int64_t QuietNodes::InServiceOn(const std::string& node_profile) const {
  const OnProfile* on = Find(node_profile);
  return on == nullptr ? 0 : on->in_service;
}

int64_t QuietNodes::PresentOn(const std::string& node_profile) const {
  const OnProfile* on = Find(node_profile);
  return on == nullptr ? 0 : on->present;
}

QuietNodes::OnProfile& QuietNodes::Of(const std::string& node_profile) {
  if (last_ < profiles_.size() && profiles_[last_].node_profile == node_profile)
    return profiles_[last_];
  for (last_ = 0; last_ < profiles_.size(); ++last_) {
    if (profiles_[last_].node_profile == node_profile) return profiles_[last_];
  }
  profiles_.push_back({node_profile});
  return profiles_.back();
}

bool CountsTheSame(const Node& before, const Node& after) {
  const bool to_come = IsInProgress(before.state) && IsInProgress(after.state);
  if (!to_come && before.state != after.state) return false;
  // All that is not named here counts, also what a later release adds.
  Node same = after;
  TakeWork(same, before);
  same.observed.unschedulable = before.observed.unschedulable;
  if (to_come) {
    same.state = before.state;
    same.state_time = before.state_time;
  }
  return same == before;
}

}  // namespace muster::lifecycle
