#pragma once

#include <grpcpp/grpcpp.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <muster/configuration/v1/configuration_service.grpc.pb.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "services/common/mutex.h"
#include "services/lifecycle/lifecycle_service.h"

// For tests: quota, capacity and configuration behind real gRPC, each a few lines. Thread-safe.
namespace muster::lifecycle {

// What the watches of a fake send: a snapshot that is only its end, then what is pushed.
template <class Response>
class FakeFeed {
 public:
  void Push(Response message) {
    MutexLock lock(mutex_);
    log_.push_back(std::move(message));
    wakes_.SignalAll();
  }
  grpc::Status Serve(grpc::ServerContext& context, std::vector<Response> snapshot,
                     grpc::ServerWriter<Response>& writer) {
    Response end;
    end.set_type(type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END);
    snapshot.push_back(end);
    for (const Response& message : snapshot) writer.Write(message);
    for (size_t next = 0; !context.IsCancelled();) {
      std::vector<Response> fresh;
      {
        MutexLock lock(mutex_);
        if (next == log_.size()) wakes_.WaitFor(mutex_, absl::Milliseconds(20));
        fresh.assign(log_.begin() + static_cast<std::ptrdiff_t>(next), log_.end());
        next = log_.size();
      }
      for (const Response& message : fresh) writer.Write(message);
    }
    return grpc::Status::OK;
  }

 private:
  Mutex mutex_;
  CondVar wakes_;
  std::vector<Response> log_ MUSTER_GUARDED_BY(mutex_);
};

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
  void SetAway(bool away) {
    MutexLock lock(mutex_);
    away_ = away;
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
    if (away_) return {grpc::StatusCode::UNAVAILABLE, "away"};
    for (const auto& ask : request->holdings()) {
      auto* answer = response->add_results()->mutable_answer();
      int64_t& nodes = holdings_[ask.name()];
      const bool fits = ask.nodes() <= nodes || ask.nodes() <= limit_;
      if (fits) nodes = ask.nodes();
      answer->set_nodes(nodes);
      answer->set_verdict(fits ? quota::v1::HoldingAnswer::VERDICT_UNDER
                               : quota::v1::HoldingAnswer::VERDICT_OVER);
      if (ask.release()) holdings_.erase(ask.name());
    }
    return grpc::Status::OK;
  }
  grpc::Status WatchQuotas(grpc::ServerContext* context, const quota::v1::WatchQuotasRequest*,
                           grpc::ServerWriter<quota::v1::WatchQuotasResponse>* writer) override {
    return feed_.Serve(*context, {}, *writer);
  }

 private:
  FakeFeed<quota::v1::WatchQuotasResponse> feed_;
  Mutex mutex_;
  int64_t limit_ MUSTER_GUARDED_BY(mutex_) = 10;
  bool away_ MUSTER_GUARDED_BY(mutex_) = false;
  std::map<std::string, int64_t> holdings_ MUSTER_GUARDED_BY(mutex_);
};

class FakeCapacity final : public capacity::v1::CapacityService::Service {
 public:
  std::map<std::string, std::set<std::string>> claims() {
    MutexLock lock(mutex_);
    return claims_;
  }

  // From now on a claim holds `most` at most, and this is why.
  void SetShort(int64_t most, capacity::v1::Claim::Reason reason) {
    MutexLock lock(mutex_);
    most_ = most;
    reason_ = reason;
  }

  grpc::Status BatchSyncClaims(grpc::ServerContext*,
                               const capacity::v1::BatchSyncClaimsRequest* request,
                               capacity::v1::BatchSyncClaimsResponse* response) override {
    MutexLock lock(mutex_);
    for (const auto& ask : request->claims()) {
      std::set<std::string>& held = claims_[ask.pool_uid()];
      for (const auto& back : ask.returns()) held.erase(back.machine());
      while (static_cast<int64_t>(held.size()) < std::min(most_, ask.nodes())) {
        held.insert("g" + std::to_string(next_machine_++));
      }
      auto* claim = response->add_results()->mutable_claim();
      claim->set_name("claims/" + ask.pool_uid());
      claim->set_nodes(ask.nodes());
      claim->mutable_machines()->Assign(held.begin(), held.end());
      claim->set_outstanding(ask.nodes() - static_cast<int64_t>(held.size()));
      claim->set_in_service(9);
      claim->set_matching(most_);
      claim->set_reason(claim->outstanding() == 0 ? capacity::v1::Claim::REASON_SUFFICIENT
                                                  : reason_);
      if (ask.release()) claims_.erase(ask.pool_uid());
    }
    return grpc::Status::OK;
  }
  grpc::Status WatchCapacity(
      grpc::ServerContext* context, const capacity::v1::WatchCapacityRequest*,
      grpc::ServerWriter<capacity::v1::WatchCapacityResponse>* writer) override {
    std::vector<capacity::v1::WatchCapacityResponse> snapshot(2);
    snapshot[0].set_key("zones/US-EAST-04A");
    snapshot[0].mutable_zone()->set_name("zones/US-EAST-04A");
    snapshot[0].mutable_zone()->set_access(capacity::v1::Zone::ACCESS_GENERAL);
    snapshot[0].mutable_zone()->add_instance_types("gd-8xa100-i128");
    snapshot[1].set_key("instanceTypes/gd-8xa100-i128");
    snapshot[1].mutable_instance_type()->set_name("instanceTypes/gd-8xa100-i128");
    snapshot[1].mutable_instance_type()->set_gpus(8);
    for (auto& message : snapshot) message.set_type(type::v1::WATCH_EVENT_TYPE_SNAPSHOT);
    return feed_.Serve(*context, std::move(snapshot), *writer);
  }

 private:
  FakeFeed<capacity::v1::WatchCapacityResponse> feed_;
  Mutex mutex_;
  int next_machine_ MUSTER_GUARDED_BY(mutex_) = 100;
  std::map<std::string, std::set<std::string>> claims_ MUSTER_GUARDED_BY(mutex_);
  int64_t most_ MUSTER_GUARDED_BY(mutex_) = 1'000'000;
  capacity::v1::Claim::Reason reason_ MUSTER_GUARDED_BY(mutex_) = {};
};

class FakeConfiguration final : public configuration::v1::ConfigurationService::Service {
 public:
  grpc::Status BatchSyncPoolConfigurations(
      grpc::ServerContext*, const configuration::v1::BatchSyncPoolConfigurationsRequest* request,
      configuration::v1::BatchSyncPoolConfigurationsResponse* response) override {
    for (const auto& ask : request->configurations()) {
      if (ask.spec().image_kernel() == "malformed") {
        return {grpc::StatusCode::INVALID_ARGUMENT, "malformed"};
      }
      auto* configuration = response->add_results()->mutable_configuration();
      configuration->set_name("poolConfigurations/" + ask.pool_uid());
      configuration->set_active("np-000000000001");
      auto* revision = configuration->add_revisions();
      revision->set_node_profile("np-000000000001");
      revision->mutable_create_time()->set_seconds(1'750'000'000);
    }
    return grpc::Status::OK;
  }
  grpc::Status WatchConfigurations(
      grpc::ServerContext* context, const configuration::v1::WatchConfigurationsRequest*,
      grpc::ServerWriter<configuration::v1::WatchConfigurationsResponse>* writer) override {
    return feed_.Serve(*context, {}, *writer);
  }

 private:
  FakeFeed<configuration::v1::WatchConfigurationsResponse> feed_;
};

// All three on one server.
class FakePeers {
 public:
  FakePeers() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&quota);
    builder.RegisterService(&capacity);
    builder.RegisterService(&configuration);
    server_ = builder.BuildAndStart();
  }
  ~FakePeers() { server_->Shutdown(std::chrono::system_clock::now()); }

  Peers channels() {
    const auto channel = server_->InProcessChannel({});
    return {channel, channel, channel};
  }

  FakeQuota quota;
  FakeCapacity capacity;
  FakeConfiguration configuration;

 private:
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace muster::lifecycle
