#include "services/lifecycle/peers/peer_books.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "services/common/deadline.h"
#include "services/common/from_peer.h"
#include "services/common/generation.h"
#include "services/common/latch.h"
#include "services/common/status_macros.h"
#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/peers/wire/peer_wire.h"

namespace muster::lifecycle {
namespace {

namespace qv1 = quota::v1;
namespace cv1 = capacity::v1;
namespace fv1 = configuration::v1;

// The timeout of one page, or one request of a release.
constexpr absl::Duration kCallTimeout = absl::Seconds(20);
// The longest wait for a linearizable read of our own state.
constexpr absl::Duration kReadTimeout = absl::Seconds(20);
// Rows of a page; fewer if that is too large for a message, as claims with many machines may be.
constexpr int kPageSize = 500;

absl::StatusOr<HoldingEntry> EntryOf(const qv1::Holding& holding) {
  auto quota = ParseQuotaName(holding.name());
  if (!quota || quota->pool_uid.empty())
    return absl::InternalError(absl::StrCat("Not the name of a Holding: ", holding.name()));
  return HoldingEntry{std::move(quota->pool_uid),
                      holding.name(),
                      std::move(quota->organization),
                      std::move(quota->zone),
                      std::move(quota->instance_type),
                      std::move(quota->compute_class),
                      holding.nodes(),
                      holding.generation(),
                      holding.pool()};
}

ClaimEntry EntryOf(const cv1::Claim& claim) {
  ClaimEntry entry;
  entry.pool_uid = std::string(absl::StripPrefix(claim.name(), "claims/"));
  entry.zone = claim.zone();
  entry.instance_type = claim.instance_type();
  entry.compute_class = claim.compute_class() == type::v1::COMPUTE_CLASS_SPOT ? "spot" : "default";
  entry.machines.assign(claim.machines().begin(), claim.machines().end());
  entry.generation = claim.generation();
  entry.pool = claim.pool();
  entry.organization = claim.organization();
  return entry;
}

// Rows are immutable: their pointers are cheap to copy under the reader's lock.
struct PoolRows {
  std::shared_ptr<const Pool> pool = {};
  std::vector<std::shared_ptr<const Node>> nodes = {};
};

// Lifecycle's own page.
struct PoolsPage {
  std::vector<PoolRows> rows = {};
  int64_t history_floor = 0;
};

PoolsPage PoolsPageOf(const State& state) {
  PoolsPage pools;
  if (const Lease* lease = state.table<Lease>().Find(Lease::kName))
    pools.history_floor = lease->generation_floor;
  std::vector<PoolRows>& all = pools.rows;
  all.reserve(state.table<Pool>().rows().size());
  for (const auto& [name, pool] : state.table<Pool>().rows()) {
    PoolRows rows{pool.row, {}};
    state.ForEachNodeOf(name, [&](const Versioned<Node>& node) { rows.nodes.push_back(node.row); });
    all.push_back(std::move(rows));
  }
  return pools;
}

absl::StatusOr<int64_t> After(int64_t generation) {
  if (generation >= kNewestGeneration - 1)
    return absl::FailedPreconditionError("There is no generation after the one it has.");
  return generation + 1;
}

}  // namespace

PeerBooks::PeerBooks(const Peers& peers, Lane* lane)
    : lane_(*lane),
      quota_(qv1::QuotaService::NewStub(peers.quota)),
      capacity_(cv1::CapacityService::NewStub(peers.capacity)),
      configuration_(fv1::ConfigurationService::NewStub(peers.configuration)) {}

void PeerBooks::Cancel() {
  calls_.Stop();
  const MutexLock lock(mutex_);
  cancelled_ = true;
  for (const auto& end : reads_) end();
}

template <class T, class Take>
absl::StatusOr<T> PeerBooks::ReadNow(Take take) {
  const auto answer = std::make_shared<Awaited<absl::StatusOr<T>>>();
  const auto cancel = [answer] { answer->Set(absl::CancelledError("Lifecycle stops.")); };
  std::list<std::function<void()>>::iterator open;
  {
    const MutexLock lock(mutex_);
    open = reads_.insert(reads_.end(), cancel);
    if (cancelled_) cancel();
  }
  lane_.Read(
      [answer, take = std::move(take)](const absl::Status& status, const State* state, int64_t) {
        answer->Set(status.ok() ? absl::StatusOr<T>(take(*state)) : status);
      },
      NowForDeadlines() + kReadTimeout);
  absl::StatusOr<T> read = answer->WaitFor(kReadTimeout)
                               .value_or(absl::DeadlineExceededError(
                                   "Lifecycle's own state could not be read in time."));
  const MutexLock lock(mutex_);
  reads_.erase(open);
  return read;
}

template <class Stub, class Request, class Response, class Take>
absl::Status PeerBooks::Pages(absl::string_view peer, Stub& stub,
                              grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                           Response*),
                              Request request, Take take) {
  request.set_page_size(kPageSize);
  do {
    const absl::StatusOr<Response> response = calls_.Call(kCallTimeout, stub, method, request);
    if (absl::IsResourceExhausted(response.status()) && request.page_size() > 1 &&
        !muster::error::DetailOf(response.status())) {
      request.set_page_size(request.page_size() / 4 + 1);  // the page is too large for a message
      continue;
    }
    RETURN_IF_ERROR(muster::error::FromPeer(response.status(), peer));
    RETURN_IF_ERROR(take(*response));
    request.set_page_token(response->next_page_token());
    if (request.page_token().empty()) return absl::OkStatus();
  } while (true);
}

absl::StatusOr<Books> PeerBooks::Read() {
  Books books;
  qv1::ListHoldingsRequest holdings;
  holdings.set_parent("organizations/-/quotas/-");
  RETURN_IF_ERROR(Pages("Quota", *quota_, &qv1::QuotaService::Stub::ListHoldings, holdings,
                        [&](const qv1::ListHoldingsResponse& page) -> absl::Status {
                          for (const qv1::Holding& holding : page.holdings()) {
                            ASSIGN_OR_RETURN(HoldingEntry entry, EntryOf(holding));
                            books.holdings.push_back(std::move(entry));
                          }
                          return absl::OkStatus();
                        }));
  RETURN_IF_ERROR(Pages("Capacity", *capacity_, &cv1::CapacityService::Stub::ListClaims,
                        cv1::ListClaimsRequest(), [&](const cv1::ListClaimsResponse& page) {
                          for (const cv1::Claim& claim : page.claims())
                            books.claims.push_back(EntryOf(claim));
                          return absl::OkStatus();
                        }));
  RETURN_IF_ERROR(Pages(
      "Configuration", *configuration_, &fv1::ConfigurationService::Stub::ListPoolConfigurations,
      fv1::ListPoolConfigurationsRequest(), [&](const fv1::ListPoolConfigurationsResponse& page) {
        for (const fv1::PoolConfiguration& configuration : page.configurations()) {
          books.configurations.push_back(
              {std::string(absl::StripPrefix(configuration.name(), "poolConfigurations/")),
               configuration.generation()});
        }
        return absl::OkStatus();
      }));
  ASSIGN_OR_RETURN(const PoolsPage pools, ReadNow<PoolsPage>(&PoolsPageOf));
  books.history_floor = pools.history_floor;
  for (const PoolRows& rows : pools.rows) {
    std::vector<const Node*> nodes;
    for (const auto& node : rows.nodes) nodes.push_back(node.get());
    books.pools.push_back(lifecycle::EntryOf(*rows.pool, nodes));
  }
  return books;
}

absl::StatusOr<bool> PeerBooks::HasPool(absl::string_view uid) {
  return ReadNow<bool>(
      [uid = std::string(uid)](const State& state) { return state.FindPoolByUid(uid) != nullptr; });
}

absl::Status PeerBooks::Release(const HoldingEntry& holding) {
  qv1::SyncHoldingRequest request;
  ASSIGN_OR_RETURN(const int64_t generation, After(holding.generation));
  request.mutable_holding()->set_name(holding.name);
  request.mutable_holding()->set_generation(generation);
  request.mutable_holding()->set_pool(holding.pool);
  request.mutable_holding()->set_release(true);
  return calls_.Call(kCallTimeout, *quota_, &qv1::QuotaService::Stub::SyncHolding, request)
      .status();
}

absl::Status PeerBooks::Sync(const ClaimEntry& claim, int64_t generation, size_t from, size_t count,
                             bool release) {
  cv1::SyncClaimRequest request;
  cv1::ClaimRequest& ask = *request.mutable_claim();
  ask.set_pool_uid(claim.pool_uid);
  ask.set_generation(generation);
  ask.set_zone(claim.zone);
  ask.set_instance_type(claim.instance_type);
  ask.set_compute_class(claim.compute_class == "spot" ? type::v1::COMPUTE_CLASS_SPOT
                                                      : type::v1::COMPUTE_CLASS_DEFAULT);
  ask.set_pool(claim.pool);
  // If it is not known, the claim has none and accepts any.
  ask.set_organization(claim.organization.empty() ? "unknown" : claim.organization);
  ask.set_release(release);
  for (size_t i = from; i < from + count; ++i) {
    cv1::MachineReturn* back = ask.add_returns();
    back->set_machine(claim.machines[i]);
    back->set_reason(cv1::MachineReturn::REASON_RELEASED);
  }
  return calls_.Call(kCallTimeout, *capacity_, &cv1::CapacityService::Stub::SyncClaim, request)
      .status();
}

absl::Status PeerBooks::Release(const ClaimEntry& claim) {
  int64_t generation = claim.generation;
  size_t from = 0;
  // One request takes back only so many machines. All of them ask for no Nodes any more.
  for (; claim.machines.size() - from > kMaxReturns; from += kMaxReturns) {
    ASSIGN_OR_RETURN(generation, After(generation));
    RETURN_IF_ERROR(Sync(claim, generation, from, kMaxReturns, false));
  }
  ASSIGN_OR_RETURN(generation, After(generation));
  return Sync(claim, generation, from, claim.machines.size() - from, true);
}

absl::Status PeerBooks::Release(const ConfigurationEntry& configuration) {
  fv1::SyncPoolConfigurationRequest request;
  ASSIGN_OR_RETURN(const int64_t generation, After(configuration.generation));
  request.mutable_configuration()->set_pool_uid(configuration.pool_uid);
  request.mutable_configuration()->set_generation(generation);
  request.mutable_configuration()->set_release(true);
  return calls_
      .Call(kCallTimeout, *configuration_, &fv1::ConfigurationService::Stub::SyncPoolConfiguration,
            request)
      .status();
}

}  // namespace muster::lifecycle
