#pragma once

#include <muster/lifecycle/v1/lifecycle_service.pb.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "services/common/job_queue.h"
#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/preview.h"
#include "services/lifecycle/lane.h"
#include "services/lifecycle/peers/catalogue_mirror.h"
#include "services/lifecycle/peers/peer_client.h"
#include "services/lifecycle/peers/peers.h"
#include "services/lifecycle/peers/what_if_client.h"

namespace muster::lifecycle {

// PeerReplies what needs the other services' opinion and writes nothing: why a pool is not where it
// should be, and what a mutation would do. On two threads of its own, because it waits for answers.
// Thread-safe. As it ends, questions that wait are dropped: their callers' Responders answer for
// themselves.
class Advisor {
 public:
  // `lane` outlives the advisor. `loop` says at any time whether somebody reconciles.
  Advisor(const Peers& peers, std::shared_ptr<const CatalogueMirror> catalogue, const Lane* lane,
          Policy policy, std::function<LoopFacts()> loop);

  // Calls `done` on one of the advisor's threads, at `deadline` at about the latest; never when the
  // advisor ends first. `rows`: as SnapshotOf made them.
  void Explain(Snapshot rows, absl::Time deadline,
               std::function<void(std::vector<v1::NodePoolObstacle>)> done);
  void Preview(DryRun dry_run, absl::Time deadline, std::function<void(v1::NodePoolPreview)> done);

 private:
  // Fills in what a pool's next pass sees besides its rows; the other services say what they would
  // answer.
  Snapshot Complete(Snapshot snapshot, absl::Time deadline) const;
  // Of an autoscaled pool whose holding quota answered so; nullopt: of another, or not known.
  std::optional<Grantable> GrantableNow(const DryRun& dry_run,
                                        const PeerReply<HoldingFacts>& holding,
                                        absl::Time deadline) const;
  v1::NodePoolPreview PreviewNow(const DryRun& dry_run, absl::Time deadline) const;

  const PeerClient peer_client_;
  const WhatIfClient what_if_;
  const std::shared_ptr<const CatalogueMirror> catalogue_;
  const Lane& lane_;
  const Policy policy_;
  const std::function<LoopFacts()> loop_;
  JobQueue<absl::AnyInvocable<void()>> jobs_;
};

}  // namespace muster::lifecycle
