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

// Answers calls that have to ask the other services first and write nothing: why a pool is not
// where it should be, and what a mutation would do. Works on two threads of its own, because it
// waits for answers. Thread-safe.
class Advisor {
 public:
  // `lane` outlives the advisor. `loop` tells at any time whether a replica reconciles;
  // `obtainable` how many machines a pool could have (Snapshot::obtainable).
  using Obtainable = std::function<std::optional<int64_t>(const Pool&)>;
  Advisor(const Peers& peers, std::shared_ptr<const CatalogueMirror> catalogue, const Lane* lane,
          Policy policy, std::function<LoopFacts()> loop, Obtainable obtainable);

  // Below, `fill` writes the response on one of the advisor's threads, unless nobody waits for it
  // by then; where it returns a Status, an error ends the call instead. `rows`: as SnapshotOf made
  // them.
  void Explain(Snapshot rows, rpc::Responder responder,
               absl::AnyInvocable<void(std::vector<v1::NodePoolObstacle>)> fill);
  // `growth`: quota's answer to what the mutation asks of it; nullopt: it asks for nothing more.
  using Previewed = absl::AnyInvocable<absl::Status(v1::NodePoolPreview preview,
                                                    const std::optional<QuotaTold>& growth)>;
  void Preview(DryRun dry_run, rpc::Responder responder, Previewed fill);
  // What an order to `node` would begin. `node`: as the command left it.
  void PreviewNode(DryRun dry_run, Node node, rpc::Responder responder,
                   absl::AnyInvocable<void(v1::NodePreview)> fill);
  // Asks quota whether a pool may grow so, and does not wait. `then` is called by `deadline`, from
  // another thread or before this returns, on behalf of this thread's caller (CurrentCaller,
  // CurrentTrace); it must not block.
  void AskQuota(const Growth& growth, absl::Time deadline, WhatIfClient::Told then) const;

 private:
  // Fills in what a pool's next pass would see besides its rows: catalogue, policy, time, and what
  // the other services would answer.
  Snapshot Complete(Snapshot snapshot, absl::Time deadline) const;
  // What capacity has for `nodes` more Nodes of a pool.
  v1::NodePoolPreview::Capacity AskPlaces(const Pool& pool, int64_t nodes,
                                          absl::Time deadline) const;
  // Snapshot::obtainable. While this replica has not heard of all machines, capacity is asked.
  std::optional<int64_t> ObtainableNow(const DryRun& dry_run, absl::Time deadline) const;
  std::vector<v1::NodePoolObstacle> ExplainNow(Snapshot rows, absl::Time deadline) const;
  struct Previewing {
    v1::NodePoolPreview preview = {};
    absl::Status quota = {};  // QuotaTold::status of the preview's
  };
  Previewing PreviewNow(const DryRun& dry_run, absl::Time deadline) const;
  // Quota's answer to the growth that the mutation asks for when it is carried out, whatever the
  // pool is charged for in the end. `in_the_end`: quota's answer to that.
  std::optional<QuotaTold> GrowthNow(const DryRun& dry_run, const Previewing& in_the_end,
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
  // Without a share of all slow work: it mostly waits for the other services, and who waits would
  // hold up who works.
  rpc::SlowCalls calls_{{.threads = 2}};
};

// Refuses a call that needs an advisor where there is none: the replica has just begun, or is about
// to end.
absl::Status NoAdvisor();

}  // namespace muster::lifecycle
