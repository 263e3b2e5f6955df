#include "services/fleetsim/fleet_model.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace muster::fleetsim {
namespace {

using lifecycle::v1::Node;
using lifecycle::v1::NodeDesired;
using lifecycle::v1::NodeReport;

// What a number is drawn for.
enum Purpose : uint64_t {
  kBoot = 1,
  kFailure,
  kReadiness,
  kIdleTime,
  kWorkTime,
  kDrain,
  kTermination
};

// Longest idle or work time, in means.
constexpr double kMostMeans = 10;

// SplitMix64: spreads neighbouring numbers over all 64 bits.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t HashOf(absl::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

absl::Time ToTime(const google::protobuf::Timestamp& time, absl::Time otherwise) {
  if (time.seconds() == 0 && time.nanos() == 0) return otherwise;
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

absl::Duration Exponential(absl::Duration mean, double draw) {
  return mean * std::min(-std::log(1 - draw), kMostMeans);
}

NodeReport Report(absl::string_view node, NodeReport::Observation observation) {
  NodeReport report;
  report.set_node(std::string(node));
  report.set_observation(observation);
  return report;
}

}  // namespace

FleetModel::View FleetModel::ViewOf(const Node& node) {
  const NodeDesired& desired = node.desired();
  return {.state = node.state(),
          .state_time = ToTime(node.state_time(), absl::InfinitePast()),
          .create_time = ToTime(node.create_time(), absl::InfinitePast()),
          .phase = desired.phase(),
          .profile = desired.node_profile(),
          .cordoned = desired.cordoned(),
          .drain_deadline = ToTime(desired.drain_deadline(), absl::InfiniteFuture()),
          .active = node.observed().active(),
          .active_time = ToTime(node.observed().active_time(), absl::InfinitePast())};
}

double FleetModel::Draw(const Entry& entry, uint64_t purpose, uint64_t count) const {
  const uint64_t machine = Mix(options_.seed) ^ HashOf(entry.machine);
  const uint64_t bits = Mix(Mix(Mix(machine) ^ entry.attempt) ^ (purpose << 32) ^ count);
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

absl::Duration FleetModel::Around(absl::Duration mean, double draw) const {
  return mean * (1 + options_.spread * (2 * draw - 1));
}

bool FleetModel::BootFails(const Entry& entry) const {
  return Draw(entry, kFailure) < options_.boot_failure_rate;
}

std::pair<FleetModel::Action, absl::Time> FleetModel::Next(const Entry& entry) const {
  const View& view = entry.view;
  // A server whose clock is ahead must not make the fleet wait for it.
  const absl::Time since = std::min(view.state_time, entry.seen_time);
  const absl::Time work_since = view.active_time == absl::InfinitePast()
                                    ? since
                                    : std::min(view.active_time, entry.seen_time);
  const std::pair<Action, absl::Time> nothing = {Action::kNone, absl::InfiniteFuture()};
  const bool run = view.phase == NodeDesired::PHASE_RUNNING && !view.profile.empty();
  const auto work_ends = [&] {
    return std::pair(
        Action::kFinishWork,
        work_since + Exponential(options_.work_duration, Draw(entry, kWorkTime, entry.works)));
  };
  switch (view.state) {
    case Node::STATE_ASSIGNED:
      return run ? std::pair(Action::kStartBoot, since) : nothing;
    case Node::STATE_BOOTING:
      if (!run) return nothing;
      return {Action::kFinishBoot, since + Around(options_.boot_time, Draw(entry, kBoot))};
    case Node::STATE_REGISTERED:
      if (!run) return nothing;
      return {Action::kReady, since + Around(options_.ready_time, Draw(entry, kReadiness))};
    case Node::STATE_PRODUCTION: {
      if (view.active) return work_ends();
      if (view.cordoned || options_.work_arrival == absl::ZeroDuration()) return nothing;
      const absl::Duration idle =
          Exponential(options_.work_arrival, Draw(entry, kIdleTime, entry.works));
      return {Action::kStartWork, std::max(since, work_since) + idle};
    }
    case Node::STATE_CORDONED:
      return view.active ? work_ends() : nothing;
    case Node::STATE_DRAINING:
      return {Action::kDrained, std::min(view.drain_deadline,
                                         since + Around(options_.drain_time, Draw(entry, kDrain)))};
    case Node::STATE_PREPARED_FOR_TERMINATE:
      if (view.phase != NodeDesired::PHASE_TERMINATED) return nothing;
      return {Action::kTerminated,
              since + Around(options_.terminate_time, Draw(entry, kTermination))};
    case Node::STATE_RECONFIGURING:
    case Node::STATE_TRIAGE:
    case Node::STATE_DELETED:
    case Node::STATE_DELIVERY_FAILED:
    case Node::STATE_UNSPECIFIED:
    case lifecycle::v1::Node_State_Node_State_INT_MIN_SENTINEL_DO_NOT_USE_:
    case lifecycle::v1::Node_State_Node_State_INT_MAX_SENTINEL_DO_NOT_USE_:
      return nothing;
  }
  return nothing;
}

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

void FleetModel::Plan(absl::string_view name, Entry& entry) {
  const auto [action, due] = Next(entry);
  ++entry.version;
  entry.action = action;
  entry.answered = false;
  Dequeue(name, entry);
  if (action != Action::kNone) Enqueue(name, entry, due);
}

void FleetModel::BeginSnapshot() {
  snapshot_ = true;
  for (auto& [name, entry] : nodes_) entry.in_snapshot = false;
}

void FleetModel::EndSnapshot() {
  snapshot_ = false;
  for (auto it = nodes_.begin(); it != nodes_.end();) {
    auto& [name, entry] = *it;
    if (!entry.in_snapshot) {
      Dequeue(name, entry);
      nodes_.erase(it++);
      continue;
    }
    if (entry.answered) Plan(name, entry);
    ++it;
  }
}

void FleetModel::Observe(const Node& node, absl::Time now) {
  auto [it, added] = nodes_.try_emplace(node.name());
  Entry& entry = it->second;
  entry.in_snapshot = true;
  View view = ViewOf(node);
  if (!added && view == entry.view) return;
  if (added || view.create_time != entry.view.create_time) {
    entry.machine = node.machine();
    entry.attempt = attempts_[node.machine()]++;
    entry.works = 0;
  } else if (view.active != entry.view.active) {
    ++entry.works;
  }
  entry.view = std::move(view);
  entry.seen_time = now;
  Plan(it->first, entry);
}

void FleetModel::Remove(absl::string_view node) {
  const auto it = nodes_.find(node);
  if (it == nodes_.end()) return;
  Dequeue(it->first, it->second);
  nodes_.erase(it);
}

std::optional<absl::Time> FleetModel::NextDue() const {
  if (queue_.empty()) return std::nullopt;
  return queue_.begin()->first;
}

std::vector<NodeReport> FleetModel::Reports(absl::string_view name, const Entry& entry) const {
  std::vector<NodeReport> reports;
  switch (entry.action) {
    case Action::kNone:
      break;
    case Action::kStartBoot:
      reports.push_back(Report(name, NodeReport::OBSERVATION_BOOT_STARTED));
      reports.back().set_node_profile(entry.view.profile);
      break;
    case Action::kFinishBoot:
      if (BootFails(entry)) {
        reports.push_back(Report(name, NodeReport::OBSERVATION_BOOT_FAILED));
        reports.back().set_message(
            "no answer from the machine after it was switched on (simulated)");
      } else {
        reports.push_back(Report(name, NodeReport::OBSERVATION_REGISTERED));
        reports.back().set_node_profile(entry.view.profile);
      }
      break;
    case Action::kReady:
      reports.push_back(Report(name, NodeReport::OBSERVATION_READY));
      break;
    case Action::kStartWork:
      reports.push_back(Report(name, NodeReport::OBSERVATION_ACTIVE));
      reports.back().add_active_pods(absl::StrCat("work-", entry.machine, "-", entry.works / 2));
      break;
    case Action::kFinishWork:
      reports.push_back(Report(name, NodeReport::OBSERVATION_IDLE));
      break;
    case Action::kDrained:
      if (entry.view.active) reports.push_back(Report(name, NodeReport::OBSERVATION_IDLE));
      reports.push_back(Report(name, NodeReport::OBSERVATION_DRAINED));
      break;
    case Action::kTerminated:
      reports.push_back(Report(name, NodeReport::OBSERVATION_TERMINATED));
      break;
  }
  return reports;
}

std::vector<FleetModel::Due> FleetModel::TakeDue(absl::Time now, size_t max_nodes) {
  std::vector<Due> due;
  while (!queue_.empty() && queue_.begin()->first <= now && due.size() < max_nodes) {
    const absl::string_view name = queue_.begin()->second;
    Entry& entry = nodes_.find(name)->second;
    Dequeue(name, entry);
    due.push_back({.node = std::string(name),
                   .version = entry.version,
                   .time = std::max(entry.due, entry.seen_time),
                   .reports = Reports(name, entry)});
  }
  return due;
}

void FleetModel::Answered(const Due& due, Answer answer, absl::Time retry_time) {
  const auto it = nodes_.find(due.node);
  if (it == nodes_.end() || it->second.version != due.version) return;
  if (answer == Answer::kLost) {
    Enqueue(it->first, it->second, retry_time);
  } else {
    it->second.answered = true;
  }
}

}  // namespace muster::fleetsim
