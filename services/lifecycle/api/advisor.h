#pragma once

#include <muster/lifecycle/v1/lifecycle_service.pb.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "services/lifecycle/core/growth.h"
#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/preview.h"
#include "services/lifecycle/peers/catalogue_mirror.h"
#include "services/lifecycle/peers/peer_client.h"
#include "services/lifecycle/peers/peers.h"
#include "services/lifecycle/peers/what_if_client.h"
#include "services/lifecycle/store/lane.h"
#include "services/rpc/slow_calls.h"

namespace muster::lifecycle {

// Answers what needs the other services' opinion and writes nothing: why a pool is not where it should be, and what a mutation would
// do. On two threads of its own, because it waits for answers. Thread-safe.
class Advisor {
 public:
  // `lane` outlives the advisor. `loop` says at any time whether somebody reconciles, `obtainable` what Snapshot says of machines.
  using Obtainable = std::function<std::optional<int64_t>(const Pool&)>;
  Advisor(const Peers& peers, std::shared_ptr<const CatalogueMirror> catalogue, const Lane* lane,
          Policy policy, std::function<LoopFacts()> loop, Obtainable obtainable);

  // `fill` writes the response, or says with what the call ends instead, on one of the advisor's threads, unless nobody waits for it by then. `rows`: as SnapshotOf made them.
  void Explain(Snapshot rows, rpc::Responder responder,
               absl::AnyInvocable<void(std::vector<v1::NodePoolObstacle>)> fill);
  // `growth`: what quota says of what the mutation asks of it; nullopt: it asks for nothing.
  using Previewed = absl::AnyInvocable<absl::Status(
      v1::NodePoolPreview preview, const std::optional<v1::NodePoolPreview::Quota>& growth)>;
  void Preview(DryRun dry_run, rpc::Responder responder, Previewed fill);
  // Of what `node`, which is as the command left it, was told.
  void PreviewNode(DryRun dry_run, Node node, rpc::Responder responder,
                   absl::AnyInvocable<void(v1::NodePreview)> fill);
  // Asks quota, by `deadline`, whether a pool may grow so; waits for nothing. `then`: on another thread, for the caller for whom this
  // one works (CurrentCaller, CurrentTrace), and must not block.
  void AskQuota(const Growth& growth, absl::Time deadline, WhatIfClient::Told then) const;

 private:
  // Fills in what a pool's next pass sees besides its rows; the other services say what they would
  // answer.
  Snapshot Complete(Snapshot snapshot, absl::Time deadline) const;
  // What there is for so many more Nodes of a pool.
  v1::NodePoolPreview::Capacity AskPlaces(const Pool& pool, int64_t nodes,
                                          absl::Time deadline) const;
  // See Snapshot; also while this replica has not heard of all machines.
  std::optional<int64_t> ObtainableNow(const DryRun& dry_run, absl::Time deadline) const;
  std::vector<v1::NodePoolObstacle> ExplainNow(Snapshot rows, absl::Time deadline) const;
  v1::NodePoolPreview PreviewNow(const DryRun& dry_run, absl::Time deadline) const;
  // As it is judged of a mutation that is carried out, however the pool's charge ends. `in_the_end`: what was told of that.
  std::optional<v1::NodePoolPreview::Quota> GrowthNow(const DryRun& dry_run,
                                                      const v1::NodePoolPreview::Quota& in_the_end,
                                                      absl::Time deadline) const;
  v1::NodePreview PreviewNodeNow(const DryRun& dry_run, const Node& node,
                                 absl::Time deadline) const;

  const PeerClient peer_client_;
  const WhatIfClient what_if_;
  const std::shared_ptr<const CatalogueMirror> catalogue_;
  const Lane& lane_;
  const Policy policy_;
  const std::function<LoopFacts()> loop_;
  const Obtainable obtainable_;
  rpc::SlowCalls calls_{{.threads = 2}};
};

}  // namespace muster::lifecycle
