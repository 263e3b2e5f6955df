#pragma once

#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <muster/configuration/v1/configuration_service.grpc.pb.h>
#include <muster/lifecycle/v1/lifecycle.pb.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <memory>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "services/lifecycle/catalogue_mirror.h"
#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/snapshot.h"
#include "services/lifecycle/core/state.h"
#include "services/lifecycle/peer_breaker.h"
#include "services/lifecycle/peers.h"

namespace muster::lifecycle {

// A pool as one pass of the loop sees it: rows that nobody changes any more, what is asked and what
// was answered.
struct Picture {
  std::shared_ptr<const Cluster> cluster = {};
  std::shared_ptr<const Pool> pool = {};
  std::vector<std::shared_ptr<const Node>> rows = {};  // keeps `nodes` alive
  std::vector<const Node*> nodes = {};
  int64_t version = 0;
  std::string incarnation = {};  // of the history that the rows are of
  CatalogueFacts catalogue = {};
  Demand demand = {};
  Answers answers = {};
  // Of what the watches would show of the answers (PrintOf); 0: no answer came.
  size_t claim_print = 0;
  size_t configuration_print = 0;
};

// The rows of a pool; nullopt: there is no such pool. Cheap: for within a lane's Peek or Read.
std::optional<Picture> PictureOf(const State& state, const std::string& pool);
// Adds to what capacity answered which machines are Nodes of another pool.
void AddTaken(const State& state, Picture& picture);
// Adds the catalogue and what is to be asked.
void Complete(Picture& picture, const CatalogueMirror& catalogue);

// Asks the other services for a whole batch of pools: three calls, at the same time. What does not
// come within the timeout is an answer too (kAway).
class PeerClient {
 public:
  explicit PeerClient(const Peers& peers);
  // With breakers: a service that stays silent is not waited for until it answers a probe. Then
  // `on_back` is called, from any thread, perhaps after the PeerClient is gone. One thread calls Ask and
  // Probe.
  PeerClient(const Peers& peers, const SteadyClock* clock, PeerBreaker::OnBack on_back);

  // Sends the probes whose time has come, and does not wait for them.
  void Probe() const;
  // None without breakers.
  std::vector<std::shared_ptr<const PeerBreaker>> breakers() const;

  // Fills in `answers`, which must be empty. At most 1,000 pictures. Blocks for at most about
  // `timeout`.
  void Ask(absl::Span<Picture> pictures, absl::Duration timeout) const;
  // The same, of what each would answer: nothing is written anywhere, and no generation counts.
  void Check(absl::Span<Picture> pictures, absl::Duration timeout) const;

  // What quota would say of a pool that is charged for so many Nodes; `delta` is not set. Like the
  // next one it writes nothing anywhere, and blocks for at most about `timeout`.
  v1::NodePoolPreview::Quota AskQuota(const Pool& pool, int64_t charge,
                                      absl::Duration timeout) const;
  // What there is for so many more Nodes of a pool, whoever waits for it; no place is told.
  v1::NodePoolPreview::Capacity AskPlaces(const Pool& pool, int64_t nodes,
                                          absl::Duration timeout) const;
  // What is being reclaimed from spot for a pool's claim; nothing as well when it is not told.
  ReclaimedFor AskReclaimed(const std::string& pool_uid, absl::Duration timeout) const;

 private:
  struct Guard;  // of one service

  template <class Calls>
  void AskBy(absl::Span<Picture> pictures, absl::Duration timeout) const;

  const std::shared_ptr<quota::v1::QuotaService::Stub> quota_;
  const std::shared_ptr<capacity::v1::CapacityService::Stub> capacity_;
  const std::shared_ptr<configuration::v1::ConfigurationService::Stub> configuration_;
  std::vector<std::shared_ptr<Guard>> guards_;  // of quota, capacity, configuration; or none
};

}  // namespace muster::lifecycle
