#include "tests/simulation/fleet.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "services/lifecycle/core/node_machine.h"

namespace muster::simulation {
namespace {

using lifecycle::Node;
using lifecycle::NodeState;
using lifecycle::ReportNode;
using O = ReportNode::Observation;

ReportNode Seen(const Node& node, O observation) {
  return {.node = node.name, .observation = observation, .node_create_time = node.create_time};
}

absl::string_view NameOf(O observation) {
  constexpr absl::string_view kNames[lifecycle::kObservations] = {
      "boot started",  "boot failed",    "registered",    "ready",          "active",
      "idle",          "drained",        "terminated",    "unhealthy",      "recovered",
      "marked",        "unmarked",       "unschedulable", "schedulable",    "drain blocked",
      "drain goes on", "staging failed", "staged",        "removal failed", "cordoned"};
  return kNames[static_cast<size_t>(observation)];
}

}  // namespace

void Fleet::TellOf(const std::string& name) {
  const auto* row = cloud_.lifecycle.state().table<Node>().FindVersioned(name);
  if (row == nullptr) {
    views_.erase(name);
  } else {
    views_[name] = row->row;
  }
}

void Fleet::Tell() {
  for (auto it = untold_.begin(); it != untold_.end();) {
    if (random_.OneIn(4)) {
      ++it;
      continue;
    }
    TellOf(*it);
    it = untold_.erase(it);
  }
}

void Fleet::Restart() {
  views_.clear();
  untold_.clear();
  for (const auto& [name, node] : cloud_.lifecycle.state().table<Node>().rows()) {
    views_[node.row->name] = node.row;
  }
}

void Fleet::Step() {
  // The more there are, the more happens at a time.
  for (size_t i = 0; i <= views_.size() / 10 && !views_.empty(); ++i) {
    const auto it = std::next(views_.begin(), random_.Uniform(static_cast<int>(views_.size())));
    const std::shared_ptr<const Node> node = it->second;
    Act(*node);
  }
}

bool Fleet::ActAll() {
  for (const std::string& name : untold_) TellOf(name);
  untold_.clear();
  bool acted = false;
  std::vector<std::shared_ptr<const Node>> nodes;
  for (const auto& [name, node] : views_) nodes.push_back(node);
  for (const auto& node : nodes) acted |= Act(*node);
  return acted;
}

void Fleet::GoHome() {
  for (auto& [machine, body] : bodies_) {
    body.active = body.blocked = body.sick = body.marked = body.unschedulable = body.unstaged =
        false;
    body.fate = Fate::kGood;
  }
}

bool Fleet::IsOff(const std::string& machine) const {
  const auto it = bodies_.find(machine);
  return it == bodies_.end() || it->second.power == Power::kOff;
}

bool Fleet::RunsFor(const Node& node) const {
  const auto it = bodies_.find(node.machine);
  return it != bodies_.end() && it->second.node == node.name &&
         it->second.node_time == node.create_time;
}

bool Fleet::Act(const Node& node) {
  const Body before = bodies_[node.machine];
  std::optional<ReportNode> report = Next(node);
  if (!report) return false;
  if (bug_ == Bug::kLateReportObeyed) report->node_create_time = lifecycle::kNever;
  Remember({*report, node.create_time});
  const bool taken = Send(*report);
  // Nothing is turned on for a Node that is gone: not before lifecycle knows of it.
  if (!taken && report->observation == O::kBootStarted) bodies_[node.machine] = before;
  return taken;
}

bool Fleet::Send(const ReportNode& report) {
  if (random_.Percent(weather_.lost_report)) return false;
  const bool taken = cloud_.lifecycle.Run(report, cloud_.now).ok();
  cloud_.trace(cloud_.now, "agent: ", report.node, " ", NameOf(report.observation),
               taken ? "" : " (refused)");
  return taken;
}

// What was said of any Node may be heard again at any time.
void Fleet::Remember(const Said& said) {
  constexpr size_t kKept = 8;
  if (!random_.Percent(weather_.late_report)) return;
  std::vector<Said>& all = said_[said.report.node];
  if (all.size() == kKept) all.erase(all.begin() + random_.Uniform(kKept));
  all.push_back(said);
}

bool Fleet::IsOfEarlier(const Said& said) const {
  const Node* node = cloud_.lifecycle.state().table<Node>().Find(said.report.node);
  return node != nullptr && node->create_time != said.node_time;
}

bool Fleet::DeliverLate() {
  std::vector<const Said*> late;
  for (const auto& [node, all] : said_) {
    for (const Said& said : all) {
      // Rather one that another Node could take for its own.
      for (int i = IsOfEarlier(said) ? 30 : 1; i > 0; --i) late.push_back(&said);
    }
  }
  if (late.empty()) return true;
  const Said& said = *random_.Pick(late);
  const bool of_earlier = IsOfEarlier(said);
  if (of_earlier) ++late_of_others_;
  const int64_t revision = cloud_.lifecycle.revision();
  const bool taken = cloud_.lifecycle.Run(said.report, cloud_.now).ok();
  cloud_.trace(cloud_.now, "agent, late: ", said.report.node, " ", NameOf(said.report.observation),
               taken ? "" : " (refused)");
  return !of_earlier || cloud_.lifecycle.revision() == revision;
}

std::optional<ReportNode> Fleet::Next(const Node& node) {
  Body& body = bodies_[node.machine];
  switch (node.state) {
    case NodeState::kAssigned:
    case NodeState::kBooting:
      if (node.desired.phase != lifecycle::Phase::kRunning) return std::nullopt;
      return Boot(node, body);
    case NodeState::kRegistered:
      return Seen(node, body.fate == Fate::kFailsLate ? O::kBootFailed : O::kReady);
    case NodeState::kReconfiguring:
      return Boot(node, body);
    case NodeState::kProduction:
    case NodeState::kTriage:
    case NodeState::kCordoned:
      return Serve(node, body);
    case NodeState::kDraining:
      return Drain(node, body);
    case NodeState::kPreparedForTerminate:
      return Leave(node, body);
    case NodeState::kDeleted:
    case NodeState::kDeliveryFailed:
      return std::nullopt;
  }
  return std::nullopt;
}

// Also again, when a reconfigure reboot is ordered.
std::optional<ReportNode> Fleet::Boot(const Node& node, Body& body) {
  if (body.node != node.name || body.node_time != node.create_time ||
      body.order_time != node.desired.phase_time) {
    body = {.power = Power::kBooting,
            .node = node.name,
            .node_time = node.create_time,
            .order_time = node.desired.phase_time,
            .profile = node.desired.node_profile};
    if (random_.Percent(weather_.failing_boot)) {
      body.fate = random_.OneIn(3) ? Fate::kFailsLate : Fate::kFails;
    } else if (random_.Percent(weather_.hanging_boot)) {
      body.fate = Fate::kHangs;
    }
    return Seen(node, O::kBootStarted);
  }
  if (node.state == NodeState::kAssigned && random_.OneIn(2)) return Seen(node, O::kBootStarted);
  if (body.fate == Fate::kHangs) return std::nullopt;
  if (body.fate == Fate::kFails) return Seen(node, O::kBootFailed);
  body.power = Power::kOn;
  if (node.state == NodeState::kReconfiguring && lifecycle::IsBack(node)) {
    return Seen(node, body.fate == Fate::kFailsLate ? O::kBootFailed : O::kReady);
  }
  return Registered(node, body);
}

// A late copy of one of an earlier boot says otherwise, and which boot it was.
ReportNode Fleet::Registered(const Node& node, const Body& body) {
  ReportNode report = Seen(node, O::kRegistered);
  report.node_profile = body.profile;
  report.boot_id = absl::FormatTime(absl::RFC3339_full, body.order_time, absl::UTCTimeZone());
  return report;
}

// What happens on a Node by itself.
void Fleet::Live(const Node& node, Body& body) {
  if (body.active != node.observed.active || body.sick != node.observed.unhealthy) return;
  if (body.active) {
    if (random_.Percent(10) || node.desired.drain) body.active = false;
  } else if (!node.desired.cordoned && random_.Percent(weather_.work)) {
    body.active = true;
  }
  body.sick = body.sick ? !random_.Percent(10) : random_.Percent(weather_.sick);
  if (random_.Percent(weather_.marks)) body.marked = !body.marked;
  if (random_.Percent(weather_.marks)) body.unschedulable = !body.unschedulable;
  body.unstaged = random_.Percent(weather_.trouble);
}

std::optional<ReportNode> Fleet::Serve(const Node& node, Body& body) {
  Live(node, body);
  const lifecycle::Observed& known = node.observed;
  if (body.active != known.active) {
    ReportNode report = Seen(node, body.active ? O::kActive : O::kIdle);
    if (body.active) report.active_pods = {"default/job"};
    return report;
  }
  if (node.desired.cordoned && known.cordon_time == lifecycle::kNever)
    return Seen(node, O::kCordoned);
  if (body.sick != known.unhealthy) return Seen(node, body.sick ? O::kUnhealthy : O::kRecovered);
  if (body.marked != known.autoscaler_marked)
    return Seen(node, body.marked ? O::kAutoscalerMarked : O::kAutoscalerUnmarked);
  if (body.unschedulable != known.unschedulable)
    return Seen(node, body.unschedulable ? O::kUnschedulable : O::kSchedulable);
  if (!body.profile.empty() && known.node_profile != body.profile) return Registered(node, body);
  const bool staged = node.desired.node_profile == body.profile;
  if (!known.staging_error.empty() && !body.unstaged) return Seen(node, O::kStaged);
  if (!staged && known.staging_error.empty() && body.unstaged) return Seen(node, O::kStagingFailed);
  return std::nullopt;
}

std::optional<ReportNode> Fleet::Drain(const Node& node, Body& body) {
  if (!body.active) return Seen(node, O::kDrained);
  body.blocked = body.blocked ? !random_.OneIn(10) : random_.Percent(weather_.blocked_drain);
  const bool told = !node.observed.drain_blocked_by.empty();
  if (body.blocked && !node.desired.force_drain) {
    if (told) return std::nullopt;
    return Seen(node, O::kDrainBlocked);
  }
  if (told && random_.OneIn(2)) return Seen(node, O::kDrainUnblocked);
  body.active = false;
  return Seen(node, O::kDrained);
}

std::optional<ReportNode> Fleet::Leave(const Node& node, Body& body) {
  if (random_.Percent(weather_.trouble)) return Seen(node, O::kRemovalFailed);
  if (bug_ != Bug::kMachineLeftOn) body = {};
  return Seen(node, O::kTerminated);
}

}  // namespace muster::simulation
