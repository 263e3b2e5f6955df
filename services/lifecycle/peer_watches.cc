#include "services/lifecycle/peer_watches.h"

#include <grpcpp/grpcpp.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <muster/configuration/v1/configuration_service.grpc.pb.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "services/lifecycle/heard_wire.h"
#include "services/rpc/read_stream.h"
#include "services/rpc/watch_wire.h"

namespace muster::lifecycle {
namespace {

constexpr absl::Duration kReconnect = absl::Milliseconds(500);

// Machines that change together, as a rack that fails does, make one look.
constexpr absl::Duration kStockSettles = absl::Milliseconds(200);

// What the pools of a quota leave each other is told of autoscaled ones at most this often: they may
// be many, and each moves all the time.
constexpr absl::Duration kRoomSettles = absl::Seconds(30);

constexpr char kClaims[] = "claims/";
constexpr char kMachines[] = "machines/";
constexpr char kConfigurations[] = "poolConfigurations/";

template <class Response>
bool IsSnapshotEnd(const Response& change) {
  return change.type() == type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END;
}

// Reads capacity's resources of a kind to the end of the stream.
void FollowCapacity(grpc::ClientContext& context, const std::shared_ptr<grpc::Channel>& capacity,
                    capacity::v1::WatchCapacityRequest::Kind kind,
                    const std::function<void(const capacity::v1::WatchCapacityResponse&)>& take) {
  capacity::v1::WatchCapacityRequest request;
  request.add_kinds(kind);
  request.mutable_start()->set_bundle(true);
  const auto stub = capacity::v1::CapacityService::NewStub(capacity);
  rpc::ReadStream<capacity::v1::WatchCapacityResponse>(
      [&](auto* reactor) { stub->async()->WatchCapacity(&context, &request, reactor); }, take);
}

}  // namespace

PeerWatches::PeerWatches(const Peers& peers, const Lane* lane, DelayQueue* due)
    : peers_(peers), lane_(*lane), due_(*due) {
  for (auto follow : {&PeerWatches::FollowQuotas, &PeerWatches::FollowClaims,
                      &PeerWatches::FollowMachines, &PeerWatches::FollowConfigurations}) {
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
  heard_quotas_.BeginSnapshot();
  const auto take = [this](const Response& message) {
    std::map<std::string, bool> moved;  // Quotas, and whether the limit itself did
    rpc::ForEachMessage(message, [&](const Response& change) {
      if (IsSnapshotEnd(change)) heard_quotas_.EndSnapshot();
      // A deleted one makes room, too.
      const size_t print = change.has_quota() || change.has_holding() ? 1 : 2;
      if (change.key().empty() ||
          !heard_quotas_.IsNews(change.key(), {change.revision(), 0, print}))
        return;
      // A Holding's name begins with its Quota's.
      const auto end = change.key().find("/holdings/");
      moved[change.key().substr(0, end)] |= end == std::string::npos;
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
    if (pools != nullptr) {
      for (const std::string& name : *pools) due_.Add(name);
    }
    const State::Names* autoscaled =
        limit ? nullptr : state.AutoscaledOnQuota(parts[1], words[0], words[1], words[2]);
    if (autoscaled == nullptr) return;
    for (const std::string& name : *autoscaled) due_.AddIn(name, kRoomSettles);
  });
}

void PeerWatches::FollowClaims(grpc::ClientContext& context) {
  using Response = capacity::v1::WatchCapacityResponse;
  heard_claims_.BeginSnapshot();
  const auto take = [this](const Response& message) {
    lane_.Peek([&](const State& state, int64_t) {
      rpc::ForEachMessage(message, [&](const Response& change) {
        if (IsSnapshotEnd(change)) heard_claims_.EndSnapshot();
        if (!absl::StartsWith(change.key(), kClaims)) return;
        if (!change.has_claim()) {
          heard_claims_.Forget(change.key());
        } else if (!heard_claims_.IsNews(
                       change.key(),
                       {change.revision(), change.claim().generation(), PrintOf(change.claim())})) {
          return;
        }
        const Pool* pool = state.FindPoolByUid(absl::StripPrefix(change.key(), kClaims));
        if (pool != nullptr) due_.Add(pool->name);
      });
    });
  };
  FollowCapacity(context, peers_.capacity, capacity::v1::WatchCapacityRequest::KIND_CLAIM, take);
}

HeardStock::InventoryKeys PeerWatches::HearStock(
    const capacity::v1::WatchCapacityResponse& message) {
  using Response = capacity::v1::WatchCapacityResponse;
  HeardStock::InventoryKeys changed;
  MutexLock lock(stock_mutex_);
  // Called here, under the lock, which the analysis does not see.
  rpc::ForEachMessage(message, [&](const Response& change) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (IsSnapshotEnd(change)) heard_stock_.EndSnapshot(changed);
    if (change.has_machine()) {
      heard_stock_.Take(change.key(), StockOf(change.machine()), changed);
    } else if (absl::StartsWith(change.key(), kMachines)) {
      heard_stock_.Forget(change.key(), changed);
    }
  });
  return changed;
}

std::optional<int64_t> PeerWatches::Obtainable(const Pool& pool) const {
  if (!pool.spec.autoscaling || pool.deleting()) return std::nullopt;
  MutexLock lock(stock_mutex_);
  return heard_stock_.Obtainable({pool.zone, pool.spec.instance_type}, pool.uid, pool.spec.spot());
}

void PeerWatches::FollowMachines(grpc::ClientContext& context) {
  using Response = capacity::v1::WatchCapacityResponse;
  {
    MutexLock lock(stock_mutex_);
    heard_stock_.BeginSnapshot();
  }
  const auto take = [this](const Response& message) {
    const HeardStock::InventoryKeys changed = HearStock(message);
    if (!changed.empty()) StockMoved(changed);
    bool whole = false;
    rpc::ForEachMessage(message, [&](const Response& change) { whole |= IsSnapshotEnd(change); });
    if (whole) StockIsKnown();
  };
  FollowCapacity(context, peers_.capacity, capacity::v1::WatchCapacityRequest::KIND_MACHINE, take);
}

void PeerWatches::StockMoved(const HeardStock::InventoryKeys& inventories) {
  lane_.Peek([&](const State& state, int64_t) {
    for (const auto& [zone, instance_type] : inventories) {
      const State::Names* pools = state.PoolsShortOfCapacity(zone, instance_type);
      if (pools == nullptr) continue;
      for (const std::string& name : *pools) due_.AddIn(name, kStockSettles);
    }
  });
}

void PeerWatches::StockIsKnown() {
  lane_.Peek([&](const State& state, int64_t) {
    for (const auto& [name, pool] : state.table<Pool>().rows()) {
      if (pool.row->spec.autoscaling) due_.AddIn(name, kStockSettles);
    }
  });
}

void PeerWatches::FollowConfigurations(grpc::ClientContext& context) {
  using Response = configuration::v1::WatchConfigurationsResponse;
  configuration::v1::WatchConfigurationsRequest request;
  request.mutable_start()->set_bundle(true);
  const auto stub = configuration::v1::ConfigurationService::NewStub(peers_.configuration);
  heard_configurations_.BeginSnapshot();
  const auto take = [this](const Response& message) {
    lane_.Peek([&](const State& state, int64_t) {
      rpc::ForEachMessage(message, [&](const Response& change) {
        if (IsSnapshotEnd(change)) heard_configurations_.EndSnapshot();
        if (!absl::StartsWith(change.key(), kConfigurations)) return;
        if (!change.has_configuration()) return heard_configurations_.Forget(change.key());
        if (!heard_configurations_.IsNews(change.key(),
                                          {change.revision(), change.configuration().generation(),
                                           PrintOf(change.configuration())})) {
          return;
        }
        const Pool* pool = state.FindPoolByUid(absl::StripPrefix(change.key(), kConfigurations));
        if (pool != nullptr) due_.Add(pool->name);
      });
    });
  };
  rpc::ReadStream<Response>(
      [&](auto* reactor) { stub->async()->WatchConfigurations(&context, &request, reactor); },
      take);
}

void PeerWatches::Asking(absl::Span<const PoolPass> passes) {
  for (const PoolPass& pass : passes) {
    if (pass.demand.claim) heard_claims_.Asking(absl::StrCat(kClaims, pass.snapshot.pool->uid));
    if (pass.demand.configuration) {
      heard_configurations_.Asking(absl::StrCat(kConfigurations, pass.snapshot.pool->uid));
    }
  }
}

void PeerWatches::Answered(absl::Span<const PoolPass> passes) {
  for (const PoolPass& pass : passes) {
    const std::string& uid = pass.snapshot.pool->uid;
    bool news =
        pass.demand.claim && heard_claims_.Answered(absl::StrCat(kClaims, uid), pass.claim_print);
    news |= pass.demand.configuration &&
            heard_configurations_.Answered(absl::StrCat(kConfigurations, uid),
                                           pass.configuration_print);
    if (news) due_.Add(pass.snapshot.pool->name);
  }
}

}  // namespace muster::lifecycle
