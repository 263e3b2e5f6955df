#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "services/common/status_macros.h"
#include "tests/bench/work.h"

// Holds: every call holds one Node or none in turn, for pools of the caller's own, so that every
// operation changes something.
namespace muster::bench {
namespace {

using quota::v1::BatchSyncHoldingsRequest;
using quota::v1::BatchSyncHoldingsResponse;
using quota::v1::GetHoldingRequest;
using quota::v1::Holding;
using quota::v1::HoldingAnswer;
using quota::v1::HoldingRequest;
using quota::v1::QuotaService;
using quota::v1::SyncHoldingRequest;
using quota::v1::SyncHoldingResponse;

constexpr size_t kKeys = 1'000;  // of the spread works
constexpr size_t kBatch = 500;
constexpr size_t kBatchCallers = 4;

std::string QuotaName(size_t key) {
  return absl::StrCat("organizations/bench-", key, "/quotas/US-EAST-04A~gd-8xa100-i128~default");
}

// Sets limits that are never reached.
absl::Status SetUpKeys(const Connections& connections, size_t keys) {
  const auto stub = QuotaService::NewStub(connections.Of(0).channel());
  for (size_t key = 0; key < keys; ++key) {
    quota::v1::UpdateQuotaRequest request;
    request.mutable_quota()->set_name(QuotaName(key));
    request.mutable_quota()->set_limit(1'000'000);
    request.set_allow_missing(true);
    RETURN_IF_ERROR(Ask(*stub, &QuotaService::Stub::UpdateQuota, request).status());
  }
  return absl::OkStatus();
}

// Asks in turn for one Node and for none.
class Holder {
 public:
  explicit Holder(std::string name) : name_(std::move(name)), generation_(FirstGeneration()) {}

  const std::string& name() const { return name_; }
  void Next(HoldingRequest& request) {
    ++generation_;
    request.set_name(name_);
    request.set_nodes(generation_ % 2);
    request.set_generation(generation_);
  }
  bool IsAnsweredBy(const HoldingAnswer& answer) const {
    return answer.verdict() == HoldingAnswer::VERDICT_UNDER && answer.nodes() == generation_ % 2;
  }

 private:
  std::string name_;
  int64_t generation_;  // goes on from run to run, so that no call is refused as old
};
using Holders = std::vector<Holder>;

// How holdings are spread: caller `c` of `callers` gets keys c, c + callers... of `keys`.
struct Spread {
  std::string work = {};
  size_t keys = 1;
  size_t callers = 1;
};

Holder HolderOf(const Spread& spread, size_t pool) {
  return Holder(absl::StrCat(QuotaName(pool % spread.keys), "/holdings/", spread.work, "-", pool));
}

// The keys of one caller, a holder each.
std::shared_ptr<Holders> HoldersOf(const Spread& spread, size_t caller) {
  auto holders = std::make_shared<Holders>();
  for (size_t pool = caller; pool < std::max(spread.keys, spread.callers); pool += spread.callers)
    holders->push_back(HolderOf(spread, pool));
  return holders;
}

std::unique_ptr<Caller> HoldCaller(const Connections& connections, const Spread& spread,
                                   size_t caller) {
  const auto holders = HoldersOf(spread, caller);
  const auto turn = std::make_shared<size_t>(0);
  return MakeCaller<QuotaService, SyncHoldingRequest, SyncHoldingResponse>(
      connections.Of(caller), &QuotaService::Stub::PrepareAsyncSyncHolding,
      [=](SyncHoldingRequest& request) {
        *turn = (*turn + 1) % holders->size();
        (*holders)[*turn].Next(*request.mutable_holding());
      },
      [=](const SyncHoldingResponse& response) {
        return Outcome{1, (*holders)[*turn].IsAnsweredBy(response.answer()) ? 0 : 1};
      });
}

std::unique_ptr<Caller> BatchCaller(const Connections& connections, const Spread& spread,
                                    size_t caller) {
  const auto holders = std::make_shared<Holders>();
  for (size_t i = 0; i < kBatch; ++i) holders->push_back(HolderOf(spread, caller * kBatch + i));
  return MakeCaller<QuotaService, BatchSyncHoldingsRequest, BatchSyncHoldingsResponse>(
      connections.Of(caller), &QuotaService::Stub::PrepareAsyncBatchSyncHoldings,
      [=](BatchSyncHoldingsRequest& request) {
        for (size_t i = 0; i < kBatch; ++i) {
          const int at = static_cast<int>(i);
          (*holders)[i].Next(at < request.holdings_size() ? *request.mutable_holdings(at)
                                                          : *request.add_holdings());
        }
      },
      [=](const BatchSyncHoldingsResponse& response) {
        Outcome outcome{kBatch, 0};
        for (size_t i = 0; i < kBatch; ++i) {
          const int at = static_cast<int>(i);
          const bool good = at < response.results_size() &&
                            (*holders)[i].IsAnsweredBy(response.results(at).answer());
          if (!good) ++outcome.failed;
        }
        return outcome;
      });
}

// Holds, and reads what it holds, in turn.
class HoldAndRead : public Caller {
 public:
  HoldAndRead(const Connections& connections, const Spread& spread, size_t caller)
      : hold_(HoldCaller(connections, spread, caller)),
        read_(MakeCaller<QuotaService, GetHoldingRequest, Holding>(
            connections.Of(caller), &QuotaService::Stub::PrepareAsyncGetHolding,
            [name = HolderOf(spread, caller).name()](GetHoldingRequest& request) {
              request.set_name(name);
            },
            [](const Holding&) { return Outcome{}; })) {}

  void Issue(Listener& listener) override {
    reads_ = !reads_;
    (reads_ ? read_ : hold_)->Issue(listener);
  }

 private:
  const std::unique_ptr<Caller> hold_;
  const std::unique_ptr<Caller> read_;
  bool reads_ = true;
};

}  // namespace

std::vector<Work> QuotaWorks(const Connections& connections) {
  std::vector<Work> works;
  const auto add = [&](const std::string& name, size_t keys, size_t callers, auto make) {
    const Spread spread{absl::StrReplaceAll(name, {{"_", "-"}}), keys, callers};
    std::vector<std::string> yardsticks = {kBestYardstick};
    if (name == "hold_hot_256") yardsticks.emplace_back("pgbench_hot_64");
    works.push_back(ClosedLoop(
        name, yardsticks, callers,
        [&connections, spread, make](size_t caller) { return make(connections, spread, caller); },
        [&connections, keys] { return SetUpKeys(connections, keys); }));
  };
  for (const size_t callers : {1, 64, 256, 1024})
    add(absl::StrCat("hold_hot_", callers), 1, callers, HoldCaller);
  for (const size_t callers : {256, 1024})
    add(absl::StrCat("hold_spread_", callers), kKeys, callers, HoldCaller);
  add("hold_reads_256", 1, 256, [](const Connections& on, const Spread& spread, size_t caller) {
    return std::make_unique<HoldAndRead>(on, spread, caller);
  });
  add("hold_batch_500", 1, kBatchCallers, BatchCaller);
  add("hold_spread_batch_500", kKeys, kBatchCallers, BatchCaller);
  return works;
}

}  // namespace muster::bench
