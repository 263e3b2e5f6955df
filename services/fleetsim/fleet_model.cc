#include "services/fleetsim/fleet_model.h"

#include <algorithm>

#include "absl/strings/match.h"

namespace muster::fleetsim {
namespace {

using lifecycle::v1::Node;

// The purpose of Fail's first draw (Behaviour::Draw); each later call takes the next number.
constexpr uint64_t kMassFailure = 1'000;

constexpr char kZoneLabel[] = "topology.kubernetes.io/zone";
constexpr char kInstanceTypeLabel[] = "node.kubernetes.io/instance-type";

}  // namespace

void FleetModel::Enqueue(absl::string_view name, Entry& entry, absl::Time due) {
  Dequeue(name, entry);
  entry.due = due;
  entry.queued = true;
  queue_.emplace(due, name);
}

void FleetModel::Dequeue(absl::string_view name, Entry& entry) {
  if (!entry.queued) return;
  queue_.erase({entry.due, name});
  entry.queued = false;
}

void FleetModel::Plan(absl::string_view name, Entry& entry, absl::Time now) {
  // An action that is due at the API server stays wanted until the Node shows it, and holds back no
  // other action.
  std::vector<Action> wanted;
  Behaviour::Step next = {Action::kNone, absl::InfiniteFuture()};
  for (const Behaviour::Step& step : behaviour_.Steps(entry.life)) {
    if (step.second <= now && !behaviour_.IsReported(entry.life, step.first)) {
      wanted.push_back(step.first);
    } else if (step.second < next.second) {
      next = step;
    }
  }
  entry.version = ++last_version_;
  entry.action = next.first;
  entry.answered = false;
  Dequeue(name, entry);
  if (next.first != Action::kNone) Enqueue(name, entry, next.second);
  if (entry.life.kubernetes)
    SetDesired(entry, DesiredOf(entry.life, behaviour_.WorkOf(entry.life), wanted));
}

void FleetModel::SetDesired(Entry& entry, DesiredMachine desired) {
  if (desired == entry.desired) return;
  entry.desired = std::move(desired);
  desired_.push_back(entry.desired);
}

void FleetModel::Forget(absl::string_view name, Entry& entry) {
  Dequeue(name, entry);
  if (!entry.life.kubernetes) return;
  entry.life.view.state = Node::STATE_DELETED;
  SetDesired(entry, DesiredOf(entry.life, {}, {}));
}

void FleetModel::BeginSnapshot() {
  for (auto& [name, entry] : nodes_) entry.in_snapshot = false;
}

void FleetModel::SetUnknown(Entry& entry, bool unknown) {
  if (std::exchange(entry.unknown, unknown) == unknown) return;
  unknown ? ++unknown_ : --unknown_;
}

void FleetModel::DropUnknown(absl::string_view machine, absl::string_view name) {
  for (auto it = nodes_.begin(); unknown_ > 0 && it != nodes_.end();) {
    auto& [other, entry] = *it;
    if (!entry.unknown || other == name || entry.life.machine != machine) {
      ++it;
      continue;
    }
    Dequeue(other, entry);
    SetUnknown(entry, false);
    nodes_.erase(it++);
  }
}

void FleetModel::EndSnapshot(absl::Time now, const std::string& incarnation) {
  const bool other = incarnation_ && *incarnation_ != incarnation;
  incarnation_ = incarnation;
  for (auto it = nodes_.begin(); it != nodes_.end();) {
    auto& [name, entry] = *it;
    if (!entry.in_snapshot && other) SetUnknown(entry, true);
    if (!entry.in_snapshot && !entry.unknown) {
      Forget(name, entry);
      nodes_.erase(it++);
      continue;
    }
    if (entry.answered) Plan(name, entry, now);
    ++it;
  }
}

void FleetModel::Observe(const Node& node, absl::Time now) {
  auto [it, added] = nodes_.try_emplace(node.name());
  Entry& entry = it->second;
  entry.in_snapshot = true;
  SetUnknown(entry, false);
  if (added) DropUnknown(node.machine(), node.name());
  NodeView view = Behaviour::ViewOf(node);
  if (!added && view == entry.life.view) return;
  if (added || view.create_time != entry.life.view.create_time) {
    entry.life = {.machine = node.machine(),
                  .kubernetes = kubernetes_ && absl::StartsWith(node.name(), *kubernetes_),
                  .attempt = attempts_[node.machine()]++};
  }
  const auto& labels = node.desired().labels();
  if (const auto zone = labels.find(kZoneLabel); zone != labels.end())
    entry.life.zone = zone->second;
  if (const auto type = labels.find(kInstanceTypeLabel); type != labels.end())
    entry.life.instance_type = type->second;
  Behaviour::See(entry.life, std::move(view), now);
  Plan(it->first, entry, now);
}

int64_t FleetModel::Fail(double share, absl::Time now) {
  const uint64_t purpose = kMassFailure + mass_failures_++;
  std::vector<std::pair<double, absl::string_view>> healthy;
  for (const auto& [name, entry] : nodes_) {
    const bool up = entry.life.view.state == Node::STATE_PRODUCTION &&
                    !entry.life.has(Trait::kUnhealthy) &&
                    entry.life.condemned_time == absl::InfiniteFuture();
    if (up) healthy.emplace_back(behaviour_.Draw(entry.life, purpose), name);
  }
  std::sort(healthy.begin(), healthy.end());
  healthy.resize(static_cast<size_t>(share * static_cast<double>(healthy.size())));
  for (const auto& [draw, name] : healthy) {
    Entry& entry = nodes_.find(name)->second;
    entry.life.condemned_time = now;
    Plan(name, entry, now);
  }
  return static_cast<int64_t>(healthy.size());
}

void FleetModel::Remove(absl::string_view node) {
  const auto it = nodes_.find(node);
  if (it == nodes_.end()) return;
  SetUnknown(it->second, false);
  Forget(it->first, it->second);
  nodes_.erase(it);
}

std::optional<absl::Time> FleetModel::NextDue() const {
  if (queue_.empty()) return std::nullopt;
  return queue_.begin()->first;
}

std::vector<FleetModel::Due> FleetModel::TakeDue(absl::Time now, size_t max_nodes) {
  std::vector<Due> due;
  while (!queue_.empty() && queue_.begin()->first <= now && due.size() < max_nodes) {
    const absl::string_view name = queue_.begin()->second;
    Entry& entry = nodes_.find(name)->second;
    if (!behaviour_.IsReported(entry.life, entry.action)) {
      Plan(name, entry, now);
      continue;
    }
    Dequeue(name, entry);
    due.push_back({.node = std::string(name),
                   .version = entry.version,
                   .time = std::max(entry.due, entry.life.seen_time),
                   .reports = behaviour_.Reports(name, entry.life, entry.action)});
  }
  return due;
}

void FleetModel::Answered(const Due& due, Outcome outcome, absl::Time retry_time) {
  const auto it = nodes_.find(due.node);
  if (it == nodes_.end() || it->second.version != due.version) return;
  if (outcome == Outcome::kLost) {
    Enqueue(it->first, it->second, retry_time);
  } else {
    it->second.answered = true;
  }
}

}  // namespace muster::fleetsim
