#include "services/lifecycle/api/advisor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/deadline.h"
#include "services/common/error.h"
#include "services/common/error_reasons.h"
#include "services/lifecycle/api/on_behalf.h"
#include "services/lifecycle/core/explain.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/wire/lifecycle_wire.h"
#include "services/lifecycle/wire/times.h"

namespace muster::lifecycle {
namespace {

constexpr size_t kMaxObstacles = 200;
// The longest wait for an answer of another service, within the caller's deadline.
constexpr absl::Duration kAskTimeout = absl::Seconds(5);
// What is left of the caller's deadline to answer him.
constexpr absl::Duration kMargin = absl::Milliseconds(100);

absl::Duration TimeoutOf(absl::Time deadline) {
  return std::clamp(deadline - NowForDeadlines() - kMargin, absl::ZeroDuration(), kAskTimeout);
}

// Adds what capacity says of the Nodes that it would be asked for.
void TellClaim(const Preview& told, v1::NodePoolPreview::Capacity& out) {
  if (!told.claim.here()) {
    if (out.problem().empty())
      out.set_problem(absl::StrCat("Capacity could not be asked: ", told.claim.error));
    return;
  }
  const ClaimFacts& claim = told.claim.value;
  if (claim.outstanding == 0) return;
  if (claim.queue) {
    out.set_place(claim.queue->place);
    out.set_nodes_ahead(claim.queue->nodes_ahead);
  }
  // Even Nodes that can never come have a place in the queue. kSufficient here is a reason that a
  // newer capacity service gives and this release does not know.
  using Reason = ClaimFacts::Reason;
  if (claim.reason != Reason::kQueued && claim.reason != Reason::kSufficient)
    out.set_problem(told.capacity);
}

// How often a pool in motion is looked at anew.
constexpr int kMostTries = 5;
constexpr absl::Duration kTryAgain = absl::Milliseconds(20);

// True when the leader has asked for the pool since its rows were read, as it does with nearly
// every step of a pool in motion: that the services refused to answer then says nothing.
bool WereOvertaken(const PeerReplies& answers) {
  const auto overtaken = [](const auto& reply) {
    return reply.refused(muster::error::kGenerationTooOld) ||
           reply.refused(muster::error::kGenerationReused);
  };
  return overtaken(answers.holding) || overtaken(answers.claim) || overtaken(answers.configuration);
}

}  // namespace

Advisor::Advisor(const Peers& peers, std::shared_ptr<const CatalogueMirror> catalogue,
                 const Lane* lane, Policy policy, std::function<LoopFacts()> loop,
                 Obtainable obtainable)
    : peer_client_(peers),
      what_if_(peers),
      catalogue_(std::move(catalogue)),
      lane_(*lane),
      policy_(policy),
      loop_(std::move(loop)),
      obtainable_(std::move(obtainable)) {}

void Advisor::Explain(Snapshot rows, rpc::Responder responder,
                      absl::AnyInvocable<void(std::vector<v1::NodePoolObstacle>)> fill) {
  calls_.Add(std::move(responder), [this, rows = std::move(rows),
                                    fill = std::move(fill)](rpc::Responder& waiting) mutable {
    std::vector<v1::NodePoolObstacle> told = ExplainNow(std::move(rows), waiting.deadline());
    waiting.Reply([&] { fill(std::move(told)); });
  });
}

void Advisor::Preview(DryRun dry_run, rpc::Responder responder, Previewed fill) {
  calls_.Add(std::move(responder), [this, dry_run = std::move(dry_run),
                                    fill = std::move(fill)](rpc::Responder& waiting) mutable {
    Previewing told = PreviewNow(dry_run, waiting.deadline());
    const auto growth = GrowthNow(dry_run, told, waiting.deadline());
    waiting.Reply([&] { return fill(std::move(told.preview), growth); });
  });
}

void Advisor::PreviewNode(DryRun dry_run, Node node, rpc::Responder responder,
                          absl::AnyInvocable<void(v1::NodePreview)> fill) {
  calls_.Add(std::move(responder), [this, dry_run = std::move(dry_run), node = std::move(node),
                                    fill = std::move(fill)](rpc::Responder& waiting) mutable {
    v1::NodePreview told = PreviewNodeNow(dry_run, node, waiting.deadline());
    waiting.Reply([&] { fill(std::move(told)); });
  });
}

void Advisor::AskQuota(const Growth& growth, absl::Time deadline, WhatIfClient::Told then) const {
  what_if_.AskQuota(growth.pool, growth.charge, TimeoutOf(deadline),
                    [caller = OnBehalf(), then = std::move(then)](QuotaTold told) mutable {
                      caller.Do([&] { then(std::move(told)); });
                    });
}

std::vector<v1::NodePoolObstacle> Advisor::ExplainNow(Snapshot rows, absl::Time deadline) const {
  const std::string name = rows.pool->name;
  Snapshot snapshot = Complete(std::move(rows), deadline);
  for (int tries = 0; WereOvertaken(snapshot.answers) && tries < kMostTries; ++tries) {
    // A replica that does not lead learns of the leader's step in a moment.
    if (tries > 0) absl::SleepFor(kTryAgain);
    std::optional<Snapshot> anew =
        lane_.Peek([&](const State& state, int64_t) { return SnapshotOf(state, name); });
    if (!anew) break;
    snapshot = Complete(*std::move(anew), deadline);
  }
  if (snapshot.answers.claim.here() && snapshot.answers.claim.value.outstanding > 0) {
    snapshot.answers.claim.value.reclaimed =
        what_if_.AskReclaimed(snapshot.pool->uid, TimeoutOf(deadline));
  }
  snapshot.loop = loop_();
  std::vector<v1::NodePoolObstacle> told;
  for (const Obstacle& obstacle : lifecycle::Explain(snapshot, Plan(snapshot))) {
    if (told.size() == kMaxObstacles) break;
    told.push_back(ToProto(obstacle));
  }
  return told;
}

Snapshot Advisor::Complete(Snapshot snapshot, absl::Time deadline) const {
  PoolPass pass{std::move(snapshot)};
  pass.snapshot.now = lane_.clock().Now();  // of what is asked
  AddDemand(pass, *catalogue_);
  peer_client_.Check(absl::MakeSpan(&pass, 1), TimeoutOf(deadline));
  lane_.Peek([&](const State& state, int64_t) { AddTaken(state, pass.snapshot); });
  pass.snapshot.policy = policy_;
  pass.snapshot.now = lane_.clock().Now();
  return std::move(pass.snapshot);
}

v1::NodePoolPreview::Capacity Advisor::AskPlaces(const Pool& pool, int64_t nodes,
                                                 absl::Time deadline) const {
  const std::optional<TypeFacts> type = catalogue_->Type(pool.spec.instance_type);
  return what_if_.AskPlaces(pool, nodes, type ? type->nodes_per_rack : 0, TimeoutOf(deadline));
}

std::optional<int64_t> Advisor::ObtainableNow(const DryRun& dry_run, absl::Time deadline) const {
  const Pool& pool = dry_run.after;
  if (!pool.spec.autoscaling || pool.deleting()) return std::nullopt;
  if (const std::optional<int64_t> known = obtainable_(pool)) return known;
  const v1::NodePoolPreview::Capacity places = AskPlaces(pool, 1, deadline);
  if (!places.problem().empty()) return std::nullopt;
  const int64_t own = std::count_if(
      dry_run.nodes.begin(), dry_run.nodes.end(),
      [](const Node& node) { return !IsReturnable(node.state) && node.preempt_time == kNever; });
  return own + places.free_nodes() + places.reclaimable_nodes();
}

Advisor::Previewing Advisor::PreviewNow(const DryRun& dry_run, absl::Time deadline) const {
  // Asked once only: what the rehearsal assigns would still be told as free.
  const std::optional<int64_t> obtainable = ObtainableNow(dry_run, deadline);
  const lifecycle::Preview told = Rehearse(dry_run, [&](const State& state) {
    Snapshot snapshot = Complete(*SnapshotOf(state, dry_run.after.name), deadline);
    snapshot.obtainable = obtainable;
    return snapshot;
  });
  QuotaTold quota = what_if_.AskQuota(dry_run.after, told.charge, TimeoutOf(deadline));
  v1::NodePoolPreview out;
  out.set_invalid(told.invalid);
  *out.mutable_quota() = std::move(quota.numbers);
  out.mutable_quota()->set_delta(told.charge_delta);
  if (told.more_nodes > 0) {
    *out.mutable_capacity() = AskPlaces(dry_run.after, told.more_nodes, deadline);
    TellClaim(told, *out.mutable_capacity());
  }
  for (const std::string& machine : told.victims) out.add_victims(machine);
  out.set_victim_count(told.victim_count);
  out.set_waiting_victims(told.waiting_victims);
  if (told.grantable) {
    out.set_grantable_nodes(told.grantable->nodes);
    out.set_grantable_nodes_bound_by(told.grantable->bound_by);
  }
  const std::string known = dry_run.before ? dry_run.before->status.node_profile : "";
  if (told.active != known) out.set_node_profile(told.active);
  out.set_pending_node_profile(told.pending);
  out.set_nodes_to_reboot(told.nodes_to_reboot);
  return {std::move(out), std::move(quota.status)};
}

std::optional<QuotaTold> Advisor::GrowthNow(const DryRun& dry_run, const Previewing& in_the_end,
                                            absl::Time deadline) const {
  const Pool* before = dry_run.before ? &*dry_run.before : nullptr;
  const std::optional<Growth> growth =
      GrowthBetween(before, dry_run.after, std::ssize(dry_run.nodes));
  if (!growth) return std::nullopt;
  const v1::NodePoolPreview::Quota& asked = in_the_end.preview.quota();
  if (growth->charge == asked.nodes()) return QuotaTold{asked, in_the_end.quota};
  return what_if_.AskQuota(growth->pool, growth->charge, TimeoutOf(deadline));
}

v1::NodePreview Advisor::PreviewNodeNow(const DryRun& dry_run, const Node& node,
                                        absl::Time deadline) const {
  const NodePreview told = RehearseNode(dry_run, node, [&](const State& state) {
    Snapshot snapshot = Complete(*SnapshotOf(state, dry_run.after.name), deadline);
    snapshot.loop = loop_();
    return snapshot;
  });
  v1::NodePreview out;
  const v1::Node after = ToProto(Versioned<Node>{std::make_shared<const Node>(told.node), 0});
  out.set_state(after.state());
  *out.mutable_desired() = after.desired();
  for (const Obstacle& obstacle : told.obstacles) *out.add_obstacles() = ToProto(obstacle);
  return out;
}

absl::Status NoAdvisor() {
  return muster::error::Unavailable(
      "This replica cannot ask the other services now: it has just begun, or is about to end.");
}

}  // namespace muster::lifecycle
