#pragma once

#include <grpcpp/grpcpp.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "services/common/error.h"
#include "services/common/mutex.h"
#include "services/lifecycle/peers/testing/fake_feed.h"
#include "services/rpc/status.h"

// For tests: quota behind real gRPC, in a few lines. Thread-safe.
namespace muster::lifecycle {

class FakeQuota final : public quota::v1::QuotaService::Service {
 public:
  void SetLimit(const std::string& quota, int64_t limit) {
    {
      MutexLock lock(mutex_);
      limit_ = limit;
    }
    quota::v1::WatchQuotasResponse message;
    message.set_type(type::v1::WATCH_EVENT_TYPE_CHANGED);
    message.set_key(quota);
    message.mutable_quota()->set_name(quota);
    feed_.Push(message);
  }
  // The watches tell of a Holding whose number changed last at that second; what is decided stays
  // as it is.
  void TellHolding(const std::string& name, int64_t nodes, int64_t generation, int64_t moved) {
    quota::v1::WatchQuotasResponse message;
    message.set_type(type::v1::WATCH_EVENT_TYPE_CHANGED);
    message.set_key(name);
    message.mutable_holding()->set_name(name);
    message.mutable_holding()->set_nodes(nodes);
    message.mutable_holding()->set_generation(generation);
    message.mutable_holding()->mutable_update_time()->set_seconds(moved);
    feed_.Push(message);
  }
  void DropWatches() { feed_.Drop(); }
  // It cannot be watched.
  void SetWatchesAway(bool away) {
    watches_away_ = away;
    feed_.Drop();
  }
  int refused_watches() const { return refused_watches_; }
  // Those that were begun.
  int watches() { return feed_.watches(); }
  void SetAway(bool away) {
    MutexLock lock(mutex_);
    refusal_ = away ? NobodyThere() : grpc::Status::OK;
  }
  // What every request is answered with; OK: what is decided.
  void SetRefusal(grpc::Status refusal) {
    MutexLock lock(mutex_);
    refusal_ = std::move(refusal);
  }
  // What the next requests are answered with, one by one; OK: what is decided.
  void SetNextRefusals(std::deque<grpc::Status> refusals) {
    MutexLock lock(mutex_);
    next_refusals_ = std::move(refusals);
  }
  // Fails at every request that asks for the holding whose name ends so; empty: at none.
  void SetPoison(std::string suffix) {
    MutexLock lock(mutex_);
    poison_ = std::move(suffix);
  }
  // What every entry of a request is answered with; OK: what is decided.
  void SetEntryRefusal(absl::Status refusal) {
    MutexLock lock(mutex_);
    entry_refusal_ = std::move(refusal);
  }
  // Answers all entries of a request but the last.
  void SetForgetful(bool forgetful) {
    MutexLock lock(mutex_);
    forgetful_ = forgetful;
  }
  // Requests of older generations are refused.
  void SetKnownGeneration(int64_t generation) {
    MutexLock lock(mutex_);
    known_ = generation;
  }
  // Before the next CheckQuota is answered, and once.
  void BeforeCheck(std::function<void()> then) {
    MutexLock lock(mutex_);
    before_check_ = std::move(then);
  }
  // It was restored to a time before it knew anything.
  void Restore() {
    {
      MutexLock lock(mutex_);
      holdings_.clear();
      asked_.clear();
      decided_.clear();
    }
    feed_.Restore();
  }
  // Since then, in order.
  std::vector<quota::v1::HoldingRequest> asked() {
    MutexLock lock(mutex_);
    return asked_;
  }
  // Those of them that were answered by what is decided.
  std::vector<quota::v1::HoldingRequest> decided() {
    MutexLock lock(mutex_);
    return decided_;
  }
  // Nodes charged, by holding.
  std::map<std::string, int64_t> holdings() {
    MutexLock lock(mutex_);
    return holdings_;
  }

  grpc::Status BatchSyncHoldings(grpc::ServerContext*,
                                 const quota::v1::BatchSyncHoldingsRequest* request,
                                 quota::v1::BatchSyncHoldingsResponse* response) override {
    MutexLock lock(mutex_);
    asked_.insert(asked_.end(), request->holdings().begin(), request->holdings().end());
    for (const auto& asked : request->holdings()) {
      if (!poison_.empty() && absl::EndsWith(asked.name(), poison_))
        return grpc::Status(grpc::StatusCode::INTERNAL, "It fails.");
    }
    if (!next_refusals_.empty()) {
      const grpc::Status refusal = std::move(next_refusals_.front());
      next_refusals_.pop_front();
      if (!refusal.ok()) return refusal;
    }
    if (refusal_.ok())
      decided_.insert(decided_.end(), request->holdings().begin(), request->holdings().end());
    return Decide(*request, holdings_, *response);
  }
  grpc::Status CheckQuota(grpc::ServerContext*, const quota::v1::CheckQuotaRequest* request,
                          quota::v1::CheckQuotaResponse* response) override {
    std::function<void()> before;
    {
      MutexLock lock(mutex_);
      before = std::exchange(before_check_, nullptr);
    }
    if (before) before();
    MutexLock lock(mutex_);
    std::map<std::string, int64_t> copy = holdings_;
    return Decide(*request, copy, *response);
  }
  // Its books are not played.
  grpc::Status ListHoldings(grpc::ServerContext*, const quota::v1::ListHoldingsRequest*,
                            quota::v1::ListHoldingsResponse*) override {
    return NobodyThere();
  }
  grpc::Status WatchQuotas(grpc::ServerContext* context, const quota::v1::WatchQuotasRequest*,
                           grpc::ServerWriter<quota::v1::WatchQuotasResponse>* writer) override {
    if (watches_away_) {
      ++refused_watches_;
      return NobodyThere();
    }
    return feed_.Serve(*context, {}, *writer);
  }

 private:
  template <class Request, class Response>
  grpc::Status Decide(const Request& request, std::map<std::string, int64_t>& holdings,
                      Response& response) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!refusal_.ok()) return refusal_;
    for (const auto& ask : request.holdings()) {
      if (!entry_refusal_.ok()) {
        *response.add_results()->mutable_error() = rpc::ToRpcStatus(entry_refusal_);
        continue;
      }
      if (ask.generation() != 0 && ask.generation() < known_) {
        *response.add_results()->mutable_error() = rpc::ToRpcStatus(
            muster::error::Make(absl::StatusCode::kAborted, "The request is older than the last.",
                                {.reason = "GENERATION_TOO_OLD",
                                 .metadata = {{"last_generation", std::to_string(known_)}}}));
        continue;
      }
      auto* answer = response.add_results()->mutable_answer();
      int64_t& nodes = holdings[ask.name()];
      const int64_t wanted = ask.at_least() ? std::max(ask.nodes(), nodes) : ask.nodes();
      const bool fits = wanted <= nodes || wanted <= limit_;
      if (fits) nodes = wanted;
      answer->set_nodes(nodes);
      answer->set_verdict(fits ? quota::v1::HoldingAnswer::VERDICT_UNDER
                               : quota::v1::HoldingAnswer::VERDICT_OVER);
      if (ask.release()) holdings.erase(ask.name());
    }
    if (forgetful_) response.mutable_results()->RemoveLast();
    return grpc::Status::OK;
  }

  FakeFeed<quota::v1::WatchQuotasResponse> feed_;
  std::atomic<bool> watches_away_ = false;
  std::atomic<int> refused_watches_ = 0;
  Mutex mutex_;
  std::vector<quota::v1::HoldingRequest> asked_ MUSTER_GUARDED_BY(mutex_);
  std::vector<quota::v1::HoldingRequest> decided_ MUSTER_GUARDED_BY(mutex_);
  int64_t limit_ MUSTER_GUARDED_BY(mutex_) = 10;
  grpc::Status refusal_ MUSTER_GUARDED_BY(mutex_);
  std::deque<grpc::Status> next_refusals_ MUSTER_GUARDED_BY(mutex_);
  std::string poison_ MUSTER_GUARDED_BY(mutex_);
  bool forgetful_ MUSTER_GUARDED_BY(mutex_) = false;
  absl::Status entry_refusal_ MUSTER_GUARDED_BY(mutex_);
  int64_t known_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::function<void()> before_check_ MUSTER_GUARDED_BY(mutex_);
  std::map<std::string, int64_t> holdings_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::lifecycle
