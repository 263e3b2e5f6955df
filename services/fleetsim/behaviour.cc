#include "services/fleetsim/behaviour.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/fnv.h"
#include "services/rpc/client/cordon_time.h"

namespace muster::fleetsim {
namespace {

using lifecycle::v1::Node;
using lifecycle::v1::NodeDesired;

// What a number is drawn for. A trait's turns are drawn for kTrait and its number.
enum Purpose : uint64_t {
  kBoot = 1,
  kBootFailure,
  kReadiness,
  kDrainTime,
  kTermination,
  kWorkClass,
  kPods,
  kBlock,
  kBlockTime,
  kStagingFailure,
  kRemovalFailure,
  kTrait = 100
};

// Longest exponential time, in means.
constexpr double kMostMeans = 10;
// Most Pods of one Node's work.
constexpr double kMostPods = 20;

// SplitMix64: spreads neighbouring numbers over all 64 bits.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

absl::Time ToTime(const google::protobuf::Timestamp& time, absl::Time otherwise) {
  if (time.seconds() == 0 && time.nanos() == 0) return otherwise;
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

absl::Duration Exponential(absl::Duration mean, double draw) {
  return mean * std::min(-std::log(1 - draw), kMostMeans);
}

std::pair<Action, absl::Time> Nothing() { return {Action::kNone, absl::InfiniteFuture()}; }

// A server whose clock is ahead must not make the fleet wait for it.
absl::Time Since(const Life& life, absl::Time time) { return std::min(time, life.seen_time); }

bool Runs(const NodeView& view) {
  return view.phase == NodeDesired::PHASE_RUNNING && !view.profile.empty();
}

uint32_t WorkNumber(const Life& life) {
  return life.turns[static_cast<size_t>(Trait::kActive)] / 2;
}

}  // namespace

std::string BootIdOf(absl::Time create_time, absl::Time phase_time) {
  return absl::StrCat(absl::ToUnixMicros(create_time), "-", absl::ToUnixMicros(phase_time));
}

NodeView Behaviour::ViewOf(const Node& node) {
  const NodeDesired& desired = node.desired();
  const lifecycle::v1::NodeObserved& observed = node.observed();
  const auto ails = [&observed](absl::string_view reason) {
    return observed.unhealthy() && absl::StrContains(observed.health_message(), reason);
  };
  return {.state = node.state(),
          .state_time = ToTime(node.state_time(), absl::InfinitePast()),
          .create_time = ToTime(node.create_time(), absl::InfinitePast()),
          .phase = desired.phase(),
          .phase_time = ToTime(desired.phase_time(), absl::InfinitePast()),
          .profile = desired.node_profile(),
          .booted_profile = observed.node_profile(),
          .boot_id = observed.boot_id(),
          .back = observed.has_boot_time() && observed.node_profile() == desired.node_profile(),
          .cordoned = desired.cordoned(),
          .cordon_told = observed.has_cordon_time(),
          .cordon_time = rpc::CordonTimeOf(node),
          .drain = desired.drain(),
          .force_drain = desired.force_drain(),
          .drain_time = ToTime(desired.drain_time(), absl::InfinitePast()),
          .drain_deadline = ToTime(desired.drain_deadline(), absl::InfiniteFuture()),
          .traits = {observed.active(), observed.unhealthy(), observed.autoscaler_marked(),
                     observed.unschedulable()},
          .active_time = ToTime(observed.active_time(), absl::InfinitePast()),
          .drain_blocked = !observed.drain_blocked_by().empty(),
          .staging_failed = !observed.staging_error().empty(),
          .removal_failed = !observed.removal_error().empty(),
          .kubelet_stopped = ails(kKubeletStopped),
          .kubelet_silent = ails(kNodeStatusUnknown)};
}

void Behaviour::See(Life& life, NodeView view, absl::Time now) {
  if (view.state == Node::STATE_RECONFIGURING && life.view.state != view.state) ++life.reboots;
  if (view.profile != life.view.profile) life.staged = false;
  if (life.view.staging_failed && !view.staging_failed) life.staged = true;
  for (size_t i = 0; i < kTraits; ++i) {
    if (view.traits[i] == life.view.traits[i]) continue;
    ++life.turns[i];
    life.turned[i] = now;
  }
  life.stopped = view.kubelet_stopped || (view.kubelet_silent && life.stopped);
  life.view = std::move(view);
  if (life.has(Trait::kUnhealthy)) life.condemned_time = absl::InfiniteFuture();
  life.seen_time = now;
}

double Behaviour::Draw(const Life& life, uint64_t purpose, uint64_t count) const {
  const uint64_t machine = Mix(options_.seed) ^ Fnv1a(life.machine);
  const uint64_t bits = Mix(Mix(Mix(machine) ^ life.attempt) ^ (purpose << 32) ^ count);
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

absl::Duration Behaviour::Around(absl::Duration mean, double draw) const {
  return mean * (1 + options_.spread * (2 * draw - 1));
}

bool Behaviour::BootFails(const Life& life) const {
  return Draw(life, kBootFailure, life.reboots) < options_.boot_failure_rate;
}

Work Behaviour::WorkOf(const Life& life) const {
  const uint32_t number = WorkNumber(life);
  const double draw = Draw(life, kWorkClass, number);
  Work work{.number = number,
            .pods = 1 + static_cast<int64_t>(kMostPods * Draw(life, kPods, number)),
            .grace_period = Around(options_.grace_period, Draw(life, kDrainTime, number))};
  if (draw < options_.interruptible_share) {
    work.kind = Work::Class::kInterruptible;
  } else if (draw < options_.interruptible_share + options_.graceful_share) {
    work.kind = Work::Class::kGraceful;
  }
  return work;
}

absl::Duration Behaviour::DrainTime(const Life& life) const {
  if (life.has(Trait::kActive)) {
    const Work work = WorkOf(life);
    if (work.kind == Work::Class::kInterruptible) return absl::ZeroDuration();
    if (work.kind == Work::Class::kGraceful) return work.grace_period;
  }
  return Around(options_.drain_time, Draw(life, kDrainTime, WorkNumber(life)));
}

Behaviour::Step Behaviour::NextBoot(const Life& life) const {
  const NodeView& view = life.view;
  if (!Runs(view)) return Nothing();
  const absl::Time since = Since(life, view.state_time);
  if (view.state == Node::STATE_ASSIGNED) return {Action::kStartBoot, since};
  const absl::Time ready =
      life.seen_time + Around(options_.ready_time, Draw(life, kReadiness, life.reboots));
  if (view.state == Node::STATE_REGISTERED)
    return {Action::kReady, since + (ready - life.seen_time)};
  if (view.state == Node::STATE_RECONFIGURING && view.back) return {Action::kReady, ready};
  return {Action::kFinishBoot, since + Around(options_.boot_time, Draw(life, kBoot, life.reboots))};
}

Behaviour::Step Behaviour::NextRemoval(const Life& life) const {
  if (life.view.phase != NodeDesired::PHASE_TERMINATED) return Nothing();
  const absl::Duration takes = Around(options_.terminate_time, Draw(life, kTermination));
  if (life.view.removal_failed) return {Action::kTerminated, life.seen_time + takes};
  const bool fails = Draw(life, kRemovalFailure) < options_.removal_failure_rate;
  return {fails ? Action::kFailRemoval : Action::kTerminated,
          Since(life, life.view.state_time) + takes};
}

Behaviour::Step Behaviour::NextDrain(const Life& life) const {
  const NodeView& view = life.view;
  const bool draining = view.state == Node::STATE_DRAINING;
  if (!draining && !(view.drain && life.has(Trait::kActive))) return Nothing();
  const Action done = draining ? Action::kDrained : Action::kFinishWork;
  if (view.force_drain) return {done, life.seen_time};
  absl::Time since =
      Since(life, view.drain_time == absl::InfinitePast() ? view.state_time : view.drain_time);
  const uint64_t work = WorkNumber(life);
  const bool blocked = life.has(Trait::kActive) && WorkOf(life).kind == Work::Class::kGuarded &&
                       Draw(life, kBlock, work) < options_.drain_block_rate;
  if (blocked || view.drain_blocked) {
    const absl::Time end =
        since + Exponential(options_.drain_block_time, Draw(life, kBlockTime, work));
    const Step next =
        view.drain_blocked ? Step{Action::kUnblockDrain, end} : Step{Action::kBlockDrain, since};
    const bool over = !view.drain_blocked && life.seen_time >= end;
    if (!over) return next.second < view.drain_deadline ? next : Step{done, view.drain_deadline};
    since = end;
  }
  return {done, std::min(view.drain_deadline, since + DrainTime(life))};
}

Behaviour::Step Behaviour::NextStaging(const Life& life) const {
  const NodeView& view = life.view;
  if (!Runs(view)) return Nothing();
  const absl::Time at =
      life.seen_time + Around(options_.ready_time, Draw(life, kReadiness, life.reboots));
  if (view.staging_failed) return {Action::kStage, at};
  if (view.booted_profile == view.profile || life.staged ||
      Draw(life, kStagingFailure, Fnv1a(view.profile)) >= options_.staging_failure_rate)
    return Nothing();
  return {Action::kFailStaging, at};
}

Behaviour::Step Behaviour::NextTrait(const Life& life, Trait trait) const {
  struct Turning {
    Action comes;
    Action goes;
    absl::Duration arrival;
    absl::Duration duration;
  };
  const Turning all[kTraits] = {
      {Action::kStartWork, Action::kFinishWork, options_.work_arrival, options_.work_duration},
      {Action::kFail, Action::kRecover, options_.failure_arrival, options_.recovery_arrival},
      {Action::kMark, Action::kUnmark, options_.mark_arrival, options_.mark_duration},
      {Action::kCordon, Action::kUncordon, options_.cordon_arrival, options_.cordon_duration}};
  const size_t number = static_cast<size_t>(trait);
  const Turning& turning = all[number];
  const bool goes = life.has(trait);
  const bool idle = !life.has(Trait::kActive);
  const bool free = life.view.state == Node::STATE_PRODUCTION && !life.view.cordoned;
  const bool condemned = life.condemned_time != absl::InfiniteFuture();
  if (trait == Trait::kUnhealthy && condemned && !goes) return {Action::kFail, life.condemned_time};
  const absl::Duration mean = goes ? turning.duration : turning.arrival;
  // A mean of 0 ends work, marks and cordons at once, but begins nothing and heals nothing.
  if (mean == absl::ZeroDuration() && (!goes || trait == Trait::kUnhealthy)) return Nothing();
  if (!goes && !free) return Nothing();
  if (!goes && trait == Trait::kActive && life.has(Trait::kUnschedulable)) return Nothing();
  if (!goes && trait == Trait::kMarked && !idle) return Nothing();
  absl::Time since = Since(life, life.view.state_time);
  if (trait == Trait::kActive && life.view.active_time != absl::InfinitePast()) {
    const absl::Time turned = Since(life, life.view.active_time);
    since = goes ? turned : std::max(since, turned);
  } else if (life.turned[number] != absl::InfinitePast()) {
    since = goes ? life.turned[number] : std::max(since, life.turned[number]);
  }
  return {goes ? turning.goes : turning.comes,
          since + Exponential(mean, Draw(life, kTrait + number, life.turns[number]))};
}

std::vector<Behaviour::Step> Behaviour::Steps(const Life& life) const {
  switch (life.view.state) {
    case Node::STATE_ASSIGNED:
    case Node::STATE_BOOTING:
    case Node::STATE_REGISTERED:
    case Node::STATE_RECONFIGURING:
      return {NextBoot(life)};
    case Node::STATE_PREPARED_FOR_TERMINATE:
      return {NextRemoval(life)};
    case Node::STATE_DRAINING:
      // Work at the API server may end by itself meanwhile.
      return {life.kubernetes ? NextTrait(life, Trait::kActive) : NextDrain(life)};
    case Node::STATE_PRODUCTION:
    case Node::STATE_TRIAGE:
    case Node::STATE_CORDONED:
      break;
    case Node::STATE_DELETED:
    case Node::STATE_DELIVERY_FAILED:
    case Node::STATE_UNSPECIFIED:
    case lifecycle::v1::Node_State_Node_State_INT_MIN_SENTINEL_DO_NOT_USE_:
    case lifecycle::v1::Node_State_Node_State_INT_MAX_SENTINEL_DO_NOT_USE_:
      return {};
  }
  std::vector<Step> steps;
  if (!life.kubernetes) {
    steps.push_back(NextDrain(life));
    if (life.view.cordoned && !life.view.cordon_told)
      steps.push_back({Action::kTellCordon, life.seen_time});
  }
  if (life.view.state == Node::STATE_PRODUCTION) steps.push_back(NextStaging(life));
  for (size_t i = 0; i < kTraits; ++i) steps.push_back(NextTrait(life, static_cast<Trait>(i)));
  return steps;
}

}  // namespace muster::fleetsim
