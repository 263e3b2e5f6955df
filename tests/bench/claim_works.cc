#include <muster/capacity/v1/capacity_service.grpc.pb.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "tests/bench/machines.h"
#include "tests/bench/work.h"

// Claims: every call wants one machine or gives it back in turn, for pools of the caller's own.
namespace muster::bench {
namespace {

using capacity::v1::BatchSyncClaimsRequest;
using capacity::v1::BatchSyncClaimsResponse;
using capacity::v1::CapacityService;
using capacity::v1::Claim;
using capacity::v1::ClaimRequest;
using capacity::v1::MachineReturn;
using capacity::v1::SyncClaimRequest;

constexpr size_t kBatch = 500;
constexpr size_t kBatchCallers = 4;
constexpr size_t kSpreadCallers = 256;

// Wants one machine, and gives back what it got, in turn.
class Claimer {
 public:
  Claimer(const Inventories& inventories, const std::string& work, size_t pool)
      : generation_(FirstGeneration()) {
    const int inventory = static_cast<int>(pool) % inventories.count();
    uid_ = absl::StrCat(work, "-", pool);
    zone_ = inventories.Zone(inventory % inventories.zones);
    type_ = inventories.Type(inventory / inventories.zones);
  }

  void Next(ClaimRequest& request) {
    request.set_pool_uid(uid_);
    request.set_generation(++generation_);
    request.set_organization("bench");
    request.set_zone(zone_);
    request.set_instance_type(type_);
    request.set_nodes(held_.empty() ? 1 : 0);
    request.clear_returns();
    if (held_.empty()) return;
    MachineReturn& back = *request.add_returns();
    back.set_machine(held_);
    back.set_reason(MachineReturn::REASON_RELEASED);
  }
  // Whether `claim` has what was wanted.
  bool Take(const Claim& claim) {
    const bool good = claim.machines_size() == (held_.empty() ? 1 : 0);
    if (claim.machines().empty()) {
      held_.clear();
    } else {
      held_ = claim.machines(0);
    }
    return good;
  }

 private:
  std::string uid_;
  std::string zone_;
  std::string type_;
  int64_t generation_;
  std::string held_;
};
using Claimers = std::vector<Claimer>;

// Where a work claims, and the name that its claims bear.
struct Site {
  Inventories inventories = {};
  std::string work = {};
  size_t callers = 1;
};

// With more inventories than callers a caller has a claim on each inventory of its share.
std::shared_ptr<Claimers> ClaimersOf(const Site& site, size_t caller) {
  auto claimers = std::make_shared<Claimers>();
  const auto inventories = static_cast<size_t>(site.inventories.count());
  for (size_t pool = caller; pool < std::max(inventories, site.callers); pool += site.callers)
    claimers->emplace_back(site.inventories, site.work, pool);
  return claimers;
}

std::unique_ptr<Caller> ClaimCaller(const Connections& connections, const Site& site,
                                    size_t caller) {
  const auto claimers = ClaimersOf(site, caller);
  const auto turn = std::make_shared<size_t>(0);
  return MakeCaller<CapacityService, SyncClaimRequest, Claim>(
      connections.Of(caller), &CapacityService::Stub::PrepareAsyncSyncClaim,
      [=](SyncClaimRequest& request) {
        *turn = (*turn + 1) % claimers->size();
        (*claimers)[*turn].Next(*request.mutable_claim());
      },
      [=](const Claim& claim) {
        return Outcome{1, (*claimers)[*turn].Take(claim) ? 0 : 1};
      });
}

std::unique_ptr<Caller> BatchCaller(const Connections& connections, const Site& site,
                                    size_t caller) {
  const auto claimers = std::make_shared<Claimers>();
  for (size_t i = 0; i < kBatch; ++i)
    claimers->emplace_back(site.inventories, site.work, caller * kBatch + i);
  return MakeCaller<CapacityService, BatchSyncClaimsRequest, BatchSyncClaimsResponse>(
      connections.Of(caller), &CapacityService::Stub::PrepareAsyncBatchSyncClaims,
      [=](BatchSyncClaimsRequest& request) {
        for (size_t i = 0; i < kBatch; ++i) {
          const int at = static_cast<int>(i);
          (*claimers)[i].Next(at < request.claims_size() ? *request.mutable_claims(at)
                                                         : *request.add_claims());
        }
      },
      [=](const BatchSyncClaimsResponse& response) {
        Outcome outcome{kBatch, 0};
        for (size_t i = 0; i < kBatch; ++i) {
          const int at = static_cast<int>(i);
          const bool good = at < response.results_size() && response.results(at).has_claim() &&
                            (*claimers)[i].Take(response.results(at).claim());
          if (!good) ++outcome.failed;
        }
        return outcome;
      });
}

}  // namespace

std::vector<Work> ClaimWorks(const Connections& connections) {
  std::vector<Work> works;
  const auto add = [&](const std::string& name, const Inventories& inventories, size_t callers,
                       auto make) {
    const Site site{inventories, absl::StrReplaceAll(name, {{"_", "-"}}), callers};
    works.push_back(ClosedLoop(
        name, {kBestYardstick}, callers,
        [&connections, site, make](size_t caller) { return make(connections, site, caller); },
        [&connections, inventories] { return SetUp(connections, inventories); }));
  };
  for (const size_t callers : {1, 64, 256, 1024})
    add(absl::StrCat("claim_hot_", callers), HotInventories(), callers, ClaimCaller);
  add("claim_spread_256", WideInventories(), kSpreadCallers, ClaimCaller);
  add("claim_batch_500", HotInventories(), kBatchCallers, BatchCaller);
  return works;
}

}  // namespace muster::bench
