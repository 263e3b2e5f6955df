#include "services/lifecycle/peer_watches.h"

#include <grpcpp/grpcpp.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <muster/configuration/v1/configuration_service.grpc.pb.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "services/lifecycle/core/conditions.h"
#include "services/rpc/read_stream.h"
#include "services/rpc/watch_wire.h"

namespace muster::lifecycle {
namespace {

constexpr absl::Duration kReconnect = absl::Milliseconds(500);

// What the pool's rows say of its claim is what the claim says.
bool Knows(const State& state, const Pool& pool, const capacity::v1::Claim& claim) {
  if (pool.status.queued_nodes != claim.outstanding()) return false;
  const std::vector<const Node*> nodes = state.NodesOf(pool.name);
  if (nodes.size() != static_cast<size_t>(claim.machines_size())) return false;
  return std::all_of(nodes.begin(), nodes.end(), [&](const Node* node) {
    const bool reclaimed =
        std::any_of(claim.reclaims().begin(), claim.reclaims().end(),
                    [&](const auto& reclaim) { return reclaim.machine() == node->machine; });
    return reclaimed == (node->preempt_time != kNever) &&
           std::find(claim.machines().begin(), claim.machines().end(), node->machine) !=
               claim.machines().end();
  });
}

// What the pool's rows say of its configuration is what the configuration says.
bool Knows(const Pool& pool, const configuration::v1::PoolConfiguration& configuration) {
  const auto profile_of = [](const std::optional<NodeConfiguration>& known) {
    return known ? known->node_profile : "";
  };
  if (configuration.active() != pool.status.node_profile) return false;
  if (configuration.pending().node_profile() != profile_of(pool.status.pending)) return false;
  if (configuration.waiting().node_profile() != profile_of(pool.status.waiting)) return false;
  if (configuration.orders_size() > 0) {
    const auto& last = configuration.orders(configuration.orders_size() - 1);
    const bool waits = last.outcome() == configuration::v1::ConfigurationOrder::OUTCOME_WAITING;
    if (last.number() != pool.account.configuration_order) return false;
    if (waits != pool.account.configuration_order_waiting) return false;
  }
  return std::equal(configuration.revisions().begin(), configuration.revisions().end(),
                    pool.status.revisions.begin(), pool.status.revisions.end(),
                    [](const auto& told, const NodeConfiguration& known) {
                      return told.node_profile() == known.node_profile &&
                             told.disabled() == known.disabled &&
                             told.enable_count() == known.enable_count;
                    });
}

}  // namespace

PeerWatches::PeerWatches(const Peers& peers, const Lane* lane, DueSet* due)
    : peers_(peers), lane_(*lane), due_(*due) {
  for (auto follow : {&PeerWatches::FollowQuotas, &PeerWatches::FollowClaims,
                      &PeerWatches::FollowConfigurations}) {
    auto stream = std::make_unique<Stream>();
    stream->follow = [this, follow](grpc::ClientContext& context) { (this->*follow)(context); };
    streams_.push_back(std::move(stream));
  }
}

PeerWatches::~PeerWatches() { Stop(); }

void PeerWatches::Start() {
  for (const auto& stream : streams_) {
    stream->thread = std::thread([this, raw = stream.get()] { Run(*raw); });
  }
}

void PeerWatches::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    for (const auto& stream : streams_) {
      if (stream->open != nullptr) stream->open->TryCancel();
    }
    wakes_.SignalAll();
  }
  for (const auto& stream : streams_) {
    if (stream->thread.joinable()) stream->thread.join();
  }
}

void PeerWatches::Run(Stream& stream) {
  while (true) {
    grpc::ClientContext context;
    {
      MutexLock lock(mutex_);
      if (stopping_) return;
      stream.open = &context;
    }
    stream.follow(context);
    MutexLock lock(mutex_);
    stream.open = nullptr;
    if (stopping_) return;
    wakes_.WaitFor(mutex_, kReconnect);
  }
}

void PeerWatches::FollowQuotas(grpc::ClientContext& context) {
  using Response = quota::v1::WatchQuotasResponse;
  quota::v1::WatchQuotasRequest request;
  request.mutable_start()->set_bundle(true);
  const auto stub = quota::v1::QuotaService::NewStub(peers_.quota);
  const auto take = [this](const Response& message) {
    std::map<std::string, bool> moved;  // Quotas, and whether the limit itself did
    rpc::ForEachMessage(message, [&](const Response& change) {
      // A Holding's name begins with its Quota's.
      const auto end = change.key().find("/holdings/");
      if (!change.key().empty()) moved[change.key().substr(0, end)] |= end == std::string::npos;
    });
    for (const auto& [quota, limit] : moved) QuotaMoved(quota, limit);
  };
  rpc::ReadStream<Response>(
      [&](auto* reactor) { stub->async()->WatchQuotas(&context, &request, reactor); }, take);
}

void PeerWatches::QuotaMoved(absl::string_view quota, bool limit) {
  // organizations/{organization}/quotas/{zone}~{type}~{class}
  const std::vector<std::string> parts = absl::StrSplit(quota, '/');
  if (parts.size() < 4) return;
  const std::vector<std::string> words = absl::StrSplit(parts[3], '~');
  if (words.size() != 3) return;
  lane_.Peek([&](const State& state, int64_t) {
    // More room is nothing to those that have what they want. A limit may have fallen below it.
    const State::Names* pools =
        limit ? state.PoolsOnQuota(parts[1], words[0], words[1], words[2])
              : state.PoolsShortOfQuota(parts[1], words[0], words[1], words[2]);
    if (pools == nullptr) return;
    for (const std::string& name : *pools) due_.Add(name);
  });
}

void PeerWatches::FollowClaims(grpc::ClientContext& context) {
  using Response = capacity::v1::WatchCapacityResponse;
  capacity::v1::WatchCapacityRequest request;
  request.add_kinds(capacity::v1::WatchCapacityRequest::KIND_CLAIM);
  request.mutable_start()->set_bundle(true);
  const auto stub = capacity::v1::CapacityService::NewStub(peers_.capacity);
  const auto take = [this](const Response& message) {
    lane_.Peek([&](const State& state, int64_t) {
      rpc::ForEachMessage(message, [&](const Response& change) {
        const Pool* pool = state.FindPoolByUid(absl::StripPrefix(change.key(), "claims/"));
        if (pool == nullptr) return;
        if (!change.has_claim() || !Knows(state, *pool, change.claim())) due_.Add(pool->name);
      });
    });
  };
  rpc::ReadStream<Response>(
      [&](auto* reactor) { stub->async()->WatchCapacity(&context, &request, reactor); }, take);
}

void PeerWatches::FollowConfigurations(grpc::ClientContext& context) {
  using Response = configuration::v1::WatchConfigurationsResponse;
  configuration::v1::WatchConfigurationsRequest request;
  request.mutable_start()->set_bundle(true);
  const auto stub = configuration::v1::ConfigurationService::NewStub(peers_.configuration);
  const auto take = [this](const Response& message) {
    lane_.Peek([&](const State& state, int64_t) {
      rpc::ForEachMessage(message, [&](const Response& change) {
        const Pool* pool =
            state.FindPoolByUid(absl::StripPrefix(change.key(), "poolConfigurations/"));
        if (pool == nullptr || !change.has_configuration()) return;
        if (!Knows(*pool, change.configuration())) due_.Add(pool->name);
      });
    });
  };
  rpc::ReadStream<Response>(
      [&](auto* reactor) { stub->async()->WatchConfigurations(&context, &request, reactor); },
      take);
}

}  // namespace muster::lifecycle
