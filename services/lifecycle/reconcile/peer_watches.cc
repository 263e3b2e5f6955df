#include "services/lifecycle/reconcile/peer_watches.h"

#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <muster/configuration/v1/configuration_service.grpc.pb.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "services/common/resource_name.h"
#include "services/common/timestamp.h"
#include "services/lifecycle/peers/wire/peer_wire.h"
#include "services/lifecycle/reconcile/machine_mirror_wire.h"
#include "services/rpc/client/bundle.h"

namespace muster::lifecycle {
namespace {

// From the end of a stream until the next attempt.
constexpr absl::Duration kReconnect = absl::Milliseconds(500);

// Machines that change together, as when a rack fails, make a pool due once.
constexpr absl::Duration kStockSettles = absl::Milliseconds(200);

// How often an autoscaled pool is due, at most, because other pools of its quota left it more or
// less room: they may be many, and each moves all the time.
constexpr absl::Duration kRoomSettles = absl::Seconds(30);

constexpr char kHolding[] = "organizations/*/quotas/*/holdings/*";
constexpr char kClaims[] = "claims/";
constexpr char kMachines[] = "machines/";
constexpr char kConfigurations[] = "poolConfigurations/";

template <class Response>
bool IsSnapshotEnd(const Response& change) {
  return change.type() == type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END;
}

// By its shape: an organization may be called as a collection is.
bool IsHolding(absl::string_view key) { return MatchName(kHolding, key).has_value(); }

// True at the end of a snapshot of another history than the stream before had: the service was
// restored to a past. What it has lost is in no snapshot, and its pools must ask for it anew before
// others take its place. `known`: the history that was told last; updated.
template <class Response>
bool IsOfAnotherHistory(const Response& change, std::string& known) {
  if (!IsSnapshotEnd(change) || change.incarnation() == known) return false;
  return !std::exchange(known, change.incarnation()).empty();
}

// Every stream begins with a snapshot.
rpc::Watch::Options WithSnapshots(rpc::Watch::Stream stream, std::function<void()> begin) {
  return {.stream = std::move(stream),
          .resumes = false,
          .first_retry = kReconnect,
          .last_retry = kReconnect,
          .begins = [begin = std::move(begin)](bool) { begin(); }};
}

// Streams capacity's resources of one kind to `take`.
rpc::Watch::Stream StreamOfCapacity(
    const std::shared_ptr<grpc::Channel>& capacity, capacity::v1::WatchCapacityRequest::Kind kind,
    std::function<void(const capacity::v1::WatchCapacityResponse&)> take) {
  capacity::v1::WatchCapacityRequest request;
  request.add_kinds(kind);
  const std::shared_ptr<capacity::v1::CapacityService::Stub> stub =
      capacity::v1::CapacityService::NewStub(capacity);
  return rpc::StreamOf<capacity::v1::WatchCapacityResponse>(
      request, [stub](auto... call) { stub->async()->WatchCapacity(call...); }, std::move(take));
}

// Makes the pool of that uid due, if there is one.
void AddByUid(const State& state, absl::string_view uid, DelayQueue& due) {
  if (const Pool* pool = state.FindPoolByUid(uid)) due.Add(pool->name);
}

}  // namespace

void AddAll(const State& state, DelayQueue& due) {
  for (const auto& [name, pool] : state.table<Pool>().rows()) due.Add(name);
}

PeerWatches::PeerWatches(const Peers& peers, const Lane* lane, DelayQueue* due,
                         std::function<void()> quota_in_doubt)
    : peers_(peers), lane_(*lane), due_(*due), quota_in_doubt_(std::move(quota_in_doubt)) {
  for (auto watch : {&PeerWatches::WatchQuotas, &PeerWatches::WatchClaims,
                     &PeerWatches::WatchMachines, &PeerWatches::WatchConfigurations}) {
    watches_.push_back(std::make_unique<rpc::Watch>((this->*watch)()));
  }
}

PeerWatches::~PeerWatches() { Stop(); }

void PeerWatches::Start() {
  for (const auto& watch : watches_) watch->Start();
}

void PeerWatches::Stop() {
  for (const auto& watch : watches_) watch->Stop();
}

PeerWatches::QuotaMove PeerWatches::MoveOf(const quota::v1::WatchQuotasResponse& change) {
  const std::string& key = change.key();
  if (!change.has_quota() && !change.has_holding()) {
    quota_filter_.Forget(key);
    return IsHolding(key) ? QuotaMove::kMoreRoom : QuotaMove::kLimit;
  }
  if (change.has_quota()) {
    const bool news = quota_filter_.IsNews(key, {change.revision(), 0, 1});
    return news ? QuotaMove::kLimit : QuotaMove::kNone;
  }
  // All that matters of a holding is how many Nodes it is for, and not by which request.
  const size_t before = quota_filter_.PrintOf(key);
  const size_t now = static_cast<size_t>(change.holding().nodes()) + 1;
  const int64_t moved = absl::ToUnixMicros(FromTimestamp(change.holding().update_time()));
  if (!quota_filter_.IsNews(key, {moved, 0, now})) return QuotaMove::kNone;
  // What happened before a snapshot was not told: the holding may have been larger meanwhile.
  const bool unseen = change.type() == type::v1::WATCH_EVENT_TYPE_SNAPSHOT;
  return unseen || now <= before ? QuotaMove::kMoreRoom : QuotaMove::kLessRoom;
}

rpc::Watch::Options PeerWatches::WatchQuotas() {
  using Response = quota::v1::WatchQuotasResponse;
  const std::shared_ptr<quota::v1::QuotaService::Stub> stub =
      quota::v1::QuotaService::NewStub(peers_.quota);
  // Whether the stream has told anything: by gRPC's threads, and read once these are done with it.
  const auto told = std::make_shared<bool>(false);
  const auto take = [this, told,
                     history = std::make_shared<std::string>()](const Response& message) {
    *told = true;
    std::map<std::string, QuotaMove> moved;  // Quotas, by all that moved them
    const auto note = [&](const std::string& key, QuotaMove move) {
      QuotaMove& of = moved[IsHolding(key) ? std::string(ParentOf(key)) : key];
      of = std::max(of, move);
    };
    rpc::ForEachMessage(message, [&](const Response& change) {
      if (IsSnapshotEnd(change)) {
        for (const std::string& gone : quota_filter_.EndSnapshot())
          note(gone, IsHolding(gone) ? QuotaMove::kMoreRoom : QuotaMove::kLimit);
      }
      if (IsOfAnotherHistory(change, *history))
        lane_.Peek([&](const State& state, int64_t) { AddAll(state, due_); });
      if (!change.key().empty()) note(change.key(), MoveOf(change));
    });
    for (const auto& [quota, move] : moved) QuotaMoved(quota, move);
  };
  rpc::Watch::Options options =
      WithSnapshots(rpc::StreamOf<Response>(
                        quota::v1::WatchQuotasRequest(),
                        [stub](auto... call) { stub->async()->WatchQuotas(call...); }, take),
                    [this] {
                      quota_in_doubt_();
                      quota_filter_.BeginSnapshot();
                    });
  options.ended = [this, told](const absl::Status&) {
    if (std::exchange(*told, false)) quota_in_doubt_();
  };
  return options;
}

void PeerWatches::QuotaMoved(absl::string_view quota, QuotaMove move) {
  const auto key = ParseQuotaName(quota);
  if (!key || move == QuotaMove::kNone) return;
  const bool limit = move == QuotaMove::kLimit;
  lane_.Peek([&](const State& state, int64_t) {
    // A changed limit matters to all pools. More room matters only to those that are short of it.
    // Less room matters to none: those that are short got nothing while there was more.
    const State::Names* pools =
        limit ? state.PoolsOnQuota(key->organization, key->zone, key->instance_type,
                                   key->compute_class)
        : move == QuotaMove::kMoreRoom
            ? state.PoolsShortOfQuota(key->organization, key->zone, key->instance_type,
                                      key->compute_class)
            : nullptr;
    if (pools != nullptr) {
      for (const std::string& name : *pools) due_.Add(name);
    }
    const State::Names* autoscaled =
        limit ? nullptr
              : state.AutoscaledOnQuota(key->organization, key->zone, key->instance_type,
                                        key->compute_class);
    if (autoscaled == nullptr) return;
    for (const std::string& name : *autoscaled) due_.AddIn(name, kRoomSettles);
  });
}

rpc::Watch::Options PeerWatches::WatchClaims() {
  using Response = capacity::v1::WatchCapacityResponse;
  const auto take = [this, history = std::make_shared<std::string>()](const Response& message) {
    lane_.Peek([&](const State& state, int64_t) {
      const auto make_due = [&](absl::string_view key) {
        AddByUid(state, absl::StripPrefix(key, kClaims), due_);
      };
      rpc::ForEachMessage(message, [&](const Response& change) {
        if (IsSnapshotEnd(change)) absl::c_for_each(claim_filter_.EndSnapshot(), make_due);
        if (IsOfAnotherHistory(change, *history)) AddAll(state, due_);
        if (!absl::StartsWith(change.key(), kClaims)) return;
        if (!change.has_claim()) {
          claim_filter_.Forget(change.key());
        } else if (!claim_filter_.IsNews(
                       change.key(),
                       {change.revision(), change.claim().generation(), PrintOf(change.claim())})) {
          return;
        }
        make_due(change.key());
      });
    });
  };
  return WithSnapshots(
      StreamOfCapacity(peers_.capacity, capacity::v1::WatchCapacityRequest::KIND_CLAIM, take),
      [this] { claim_filter_.BeginSnapshot(); });
}

PeerWatches::MachineNews PeerWatches::MirrorMachines(
    const capacity::v1::WatchCapacityResponse& message) {
  using Response = capacity::v1::WatchCapacityResponse;
  MachineNews news;
  MutexLock lock(machines_mutex_);
  // Called here, under the lock, which the analysis does not see.
  rpc::ForEachMessage(message, [&](const Response& change) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (IsSnapshotEnd(change)) machines_.EndSnapshot(news.inventories);
    if (change.has_machine()) {
      if (machines_.Take(change.key(), MirroredMachine(change.machine()), news.inventories))
        news.holders.insert(change.machine().claim());
    } else if (absl::StartsWith(change.key(), kMachines)) {
      machines_.Forget(change.key(), news.inventories);
    }
  });
  return news;
}

std::optional<int64_t> PeerWatches::Obtainable(const Pool& pool) const {
  if (!pool.spec.autoscaling || pool.deleting()) return std::nullopt;
  MutexLock lock(machines_mutex_);
  return machines_.Obtainable({pool.zone, pool.spec.instance_type}, pool.uid, pool.spec.spot());
}

rpc::Watch::Options PeerWatches::WatchMachines() {
  using Response = capacity::v1::WatchCapacityResponse;
  const auto take = [this](const Response& message) {
    const MachineNews news = MirrorMachines(message);
    if (!news.inventories.empty()) MachinesMoved(news);
    bool whole = false;
    rpc::ForEachMessage(message, [&](const Response& change) { whole |= IsSnapshotEnd(change); });
    if (whole) MachinesAreKnown();
  };
  return WithSnapshots(
      StreamOfCapacity(peers_.capacity, capacity::v1::WatchCapacityRequest::KIND_MACHINE, take),
      [this] {
        MutexLock lock(machines_mutex_);
        machines_.BeginSnapshot();
      });
}

void PeerWatches::MachinesMoved(const MachineNews& news) {
  lane_.Peek([&](const State& state, int64_t) {
    for (const auto& [zone, instance_type] : news.inventories) {
      const State::Names* pools = state.PoolsShortOfCapacity(zone, instance_type);
      if (pools == nullptr) continue;
      for (const std::string& name : *pools) due_.AddIn(name, kStockSettles);
    }
    // A pool that has what it asked for becomes invalid when no machine matches any more. Changes
    // of machines that it does not hold reach it by the resync.
    for (const std::string& uid : news.holders) {
      const Pool* pool = state.FindPoolByUid(uid);
      if (pool != nullptr && !pool->spec.node_affinity.empty())
        due_.AddIn(pool->name, kStockSettles);
    }
  });
}

void PeerWatches::MachinesAreKnown() {
  lane_.Peek([&](const State& state, int64_t) {
    for (const auto& [name, pool] : state.table<Pool>().rows()) {
      if (pool.row->spec.autoscaling) due_.AddIn(name, kStockSettles);
    }
  });
}

rpc::Watch::Options PeerWatches::WatchConfigurations() {
  using Response = configuration::v1::WatchConfigurationsResponse;
  const std::shared_ptr<configuration::v1::ConfigurationService::Stub> stub =
      configuration::v1::ConfigurationService::NewStub(peers_.configuration);
  const auto take = [this, history = std::make_shared<std::string>()](const Response& message) {
    lane_.Peek([&](const State& state, int64_t) {
      const auto make_due = [&](absl::string_view key) {
        AddByUid(state, absl::StripPrefix(key, kConfigurations), due_);
      };
      rpc::ForEachMessage(message, [&](const Response& change) {
        if (IsSnapshotEnd(change)) absl::c_for_each(configuration_filter_.EndSnapshot(), make_due);
        if (IsOfAnotherHistory(change, *history)) AddAll(state, due_);
        if (!absl::StartsWith(change.key(), kConfigurations)) return;
        if (!change.has_configuration()) {
          configuration_filter_.Forget(change.key());
        } else if (!configuration_filter_.IsNews(
                       change.key(), {change.revision(), change.configuration().generation(),
                                      PrintOf(change.configuration())})) {
          return;
        }
        make_due(change.key());
      });
    });
  };
  return WithSnapshots(
      rpc::StreamOf<Response>(
          configuration::v1::WatchConfigurationsRequest(),
          [stub](auto... call) { stub->async()->WatchConfigurations(call...); }, take),
      [this] { configuration_filter_.BeginSnapshot(); });
}

void PeerWatches::Asking(absl::Span<const PoolPass> passes) {
  for (const PoolPass& pass : passes) {
    if (pass.demand.claim) claim_filter_.Asking(absl::StrCat(kClaims, pass.snapshot.pool->uid));
    if (pass.demand.configuration) {
      configuration_filter_.Asking(absl::StrCat(kConfigurations, pass.snapshot.pool->uid));
    }
  }
}

void PeerWatches::Answered(absl::Span<const PoolPass> passes) {
  for (const PoolPass& pass : passes) {
    const std::string& uid = pass.snapshot.pool->uid;
    const Demand& demand = pass.demand;
    bool news = demand.claim && claim_filter_.Answered(absl::StrCat(kClaims, uid), pass.claim_print,
                                                       demand.claim->release);
    news |= demand.configuration &&
            configuration_filter_.Answered(absl::StrCat(kConfigurations, uid),
                                           pass.configuration_print, demand.configuration->release);
    if (news) due_.Add(pass.snapshot.pool->name);
  }
}

}  // namespace muster::lifecycle
