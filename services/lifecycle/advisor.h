#pragma once

#include <muster/lifecycle/v1/lifecycle_service.pb.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "services/common/mutex.h"
#include "services/lifecycle/catalogue_mirror.h"
#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/preview.h"
#include "services/lifecycle/lane.h"
#include "services/lifecycle/peer_client.h"
#include "services/lifecycle/peers.h"
#include "services/lifecycle/what_if_client.h"

namespace muster::lifecycle {

// Answers what needs the other services' opinion and writes nothing: why a pool is not where it
// should be, and what a mutation would do. On two threads of its own, because it waits for answers.
// Thread-safe.
class Advisor {
 public:
  // `lane` outlives the advisor.
  Advisor(const Peers& peers, std::shared_ptr<const CatalogueMirror> catalogue, const Lane* lane,
          Policy policy);
  // Ends the threads; questions that wait are dropped.
  ~Advisor();

  // Calls `done` on one of the advisor's threads, at `deadline` at about the latest; never when the
  // advisor ends first. `rows`: as SnapshotOf made them.
  void Explain(Snapshot rows, absl::Time deadline,
               std::function<void(std::vector<v1::NodePoolObstacle>)> done);
  void Preview(DryRun dry_run, absl::Time deadline, std::function<void(v1::NodePoolPreview)> done);

 private:
  void Enqueue(std::function<void()> job);
  void Work();
  // Fills in what a pool's next pass sees besides its rows; the other services say what they would
  // answer.
  Snapshot Complete(Snapshot snapshot, absl::Time deadline) const;
  // Of an autoscaled pool whose holding quota answered so; nullopt: of another, or not known.
  std::optional<Grantable> GrantableNow(const DryRun& dry_run, const Answer<HoldingAnswer>& holding,
                                        absl::Time deadline) const;
  v1::NodePoolPreview PreviewNow(const DryRun& dry_run, absl::Time deadline) const;

  const PeerClient peer_client_;
  const WhatIfClient what_if_;
  const std::shared_ptr<const CatalogueMirror> catalogue_;
  const Lane& lane_;
  const Policy policy_;
  Mutex mutex_;
  CondVar wakes_;
  bool stopping_ MUSTER_GUARDED_BY(mutex_) = false;
  std::deque<std::function<void()>> jobs_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace muster::lifecycle
