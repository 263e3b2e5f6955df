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
#include "services/common/from_peer.h"
#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/snapshot.h"
#include "services/lifecycle/core/state.h"
#include "services/lifecycle/peers/catalogue_mirror.h"
#include "services/lifecycle/peers/peer_breaker.h"
#include "services/lifecycle/peers/peers.h"
#include "services/lifecycle/peers/wire/peer_wire.h"

namespace muster::lifecycle {

// A pool in one pass of the loop: what is asked of the other services, and what was answered.
struct PoolPass {
  Snapshot snapshot = {};
  std::string incarnation = {};  // of the journal's history that the rows belong to
  Demand demand = {};
  // Fingerprints of what the watches would show of the answers (PrintOf); 0: no answer came.
  size_t claim_print = 0;
  size_t configuration_print = 0;
  // What is known of the claim's machines, which capacity then need not tell again (KnownClaims).
  // Once it has answered: the print of its answer, whose facts are in the snapshot.
  KnownClaim known_claim = {};
};

// Fills in the snapshot's catalogue, and from it and the rows what is to be asked.
void AddDemand(PoolPass& pass, const CatalogueMirror& catalogue);

// Asks the other services for a whole batch of pools, by three calls at the same time. An answer
// that does not come within the timeout is kAway.
class PeerClient {
 public:
  // What a service did that was asked. kFailed: it is there, and fails at something of what it was
  // asked. Of several the worst, which is the last.
  enum class Heard { kAnswered, kFailed, kAway };

  explicit PeerClient(const Peers& peers);
  // With breakers: a service that stays silent is not asked any more until it has answered a probe.
  // Then `on_back` is called, from any thread; the end of the PeerClient waits for it. Ask, Probe
  // and Forget are for one thread.
  PeerClient(const Peers& peers, const SteadyClock* clock, PeerBreaker::OnBack on_back);

  // Sends the probes whose time has come, and does not wait for them.
  void Probe() const;
  // Forgets what was not answered: a replica that does not lead any more leaves it to the next
  // leader.
  void Forget() const;
  // The breakers of the three services; empty for a client that was made without.
  std::vector<std::shared_ptr<const PeerBreaker>> breakers() const;

  // Fills in the `answers` to what is asked; those that hold KnownAnswers (core/snapshot.h) stay.
  // At most 1,000 passes. Blocks for at most about `timeout`. Returns what quota did.
  Heard Ask(absl::Span<PoolPass> passes, absl::Duration timeout) const;
  // Like Ask, but for what each would answer: nothing is written anywhere. If the leader has asked
  // under a later generation since the pool was read, that is refused (GENERATION_TOO_OLD), as in
  // Ask.
  void Check(absl::Span<PoolPass> passes, absl::Duration timeout) const;

 private:
  struct Guard;  // of one service

  template <class Calls>
  Heard AskBy(absl::Span<PoolPass> passes, absl::Duration timeout) const;

  const std::shared_ptr<quota::v1::QuotaService::Stub> quota_;
  const std::shared_ptr<capacity::v1::CapacityService::Stub> capacity_;
  const std::shared_ptr<configuration::v1::ConfigurationService::Stub> configuration_;
  std::vector<std::shared_ptr<Guard>> guards_;  // of quota, capacity, configuration; or none
  const std::unique_ptr<muster::error::SilenceLog> silence_ =
      std::make_unique<muster::error::SilenceLog>();  // without guards
};

}  // namespace muster::lifecycle
