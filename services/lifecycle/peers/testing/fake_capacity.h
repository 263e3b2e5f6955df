#pragma once

#include <grpcpp/grpcpp.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/error.h"
#include "services/common/mutex.h"
#include "services/lifecycle/peers/testing/fake_feed.h"
#include "services/rpc/status.h"

// For tests: capacity behind real gRPC, in a few lines. Thread-safe.
namespace muster::lifecycle {

class FakeCapacity final : public capacity::v1::CapacityService::Service {
 public:
  std::map<std::string, std::set<std::string>> claims() {
    MutexLock lock(mutex_);
    return claims_;
  }

  // Takes calls and does not answer them, as a process that was stopped.
  void SetSilent(bool silent) {
    MutexLock lock(mutex_);
    silent_ = silent;
    speaks_.SignalAll();
  }
  // Takes no more claims in one request.
  void SetMostClaims(int most) {
    MutexLock lock(mutex_);
    most_claims_ = most;
  }
  // It takes no call, as of one who makes too many.
  void SetHeldBack(bool held_back) {
    MutexLock lock(mutex_);
    held_back_ = held_back;
  }
  // It is of a release that knows nothing of prints.
  void SetKnowsPrints(bool knows) {
    MutexLock lock(mutex_);
    knows_prints_ = knows;
  }
  // Machines in answers to BatchSyncClaims so far.
  int64_t machines_told() {
    MutexLock lock(mutex_);
    return machines_told_;
  }
  // It leaves machines out as if the caller had sent another print.
  void SetConfused(bool confused) {
    MutexLock lock(mutex_);
    confused_ = confused;
  }
  // Calls of BatchSyncClaims so far.
  int syncs() {
    MutexLock lock(mutex_);
    return syncs_;
  }
  // Of them: that were taken in silence, and that the caller has not given up.
  int waiting() {
    MutexLock lock(mutex_);
    return waiting_;
  }
  // Its watches break, and begin anew with what was told.
  void DropWatches() { feed_.Drop(); }
  // The same, and meanwhile a claim was deleted.
  void DropWatchesWithout(const std::string& uid) { feed_.DropWithout("claims/" + uid); }
  void Restore() { feed_.Restore(); }
  // Its catalogue cannot be watched.
  void SetCatalogueAway(bool away) {
    catalogue_away_ = away;
    catalogue_.Drop();
  }
  void ChangeType(const std::string& id, int32_t gpus, int32_t nodes_per_rack = 0) {
    capacity::v1::WatchCapacityResponse message;
    message.set_type(type::v1::WATCH_EVENT_TYPE_CHANGED);
    message.set_key("instanceTypes/" + id);
    message.mutable_instance_type()->set_name(message.key());
    message.mutable_instance_type()->set_gpus(gpus);
    message.mutable_instance_type()->set_nodes_per_rack(nodes_per_rack);
    catalogue_.Push(message);
  }
  void ChangeZone(const std::string& id, const std::vector<std::string>& instance_types) {
    capacity::v1::WatchCapacityResponse message;
    message.set_type(type::v1::WATCH_EVENT_TYPE_CHANGED);
    message.set_key("zones/" + id);
    message.mutable_zone()->set_name(message.key());
    message.mutable_zone()->set_access(capacity::v1::Zone::ACCESS_GENERAL);
    for (const std::string& type : instance_types) message.mutable_zone()->add_instance_types(type);
    catalogue_.Push(message);
  }
  // A machine that a claim holds, as the watches have it; `row`: its label `row`.
  void ChangeMachine(const std::string& id, const std::string& claim, const std::string& row) {
    capacity::v1::WatchCapacityResponse message;
    message.set_type(type::v1::WATCH_EVENT_TYPE_CHANGED);
    message.set_key("machines/" + id);
    capacity::v1::Machine& machine = *message.mutable_machine();
    machine.set_name(message.key());
    machine.set_zone("US-EAST-04A");
    machine.set_instance_type("gd-8xa100-i128");
    machine.set_state(capacity::v1::Machine::STATE_HELD);
    machine.set_claim(claim);
    (*machine.mutable_labels())["row"] = row;
    catalogue_.Push(message);
  }
  // How often it named the machines of a pool's claim: to whoever did not know them.
  int named(const std::string& uid) {
    MutexLock lock(mutex_);
    return named_[uid];
  }
  int refused_watches() const { return refused_watches_; }
  int watches() { return feed_.watches(); }
  // A claim changed for a reason of capacity's own.
  void Touch(const std::string& uid) {
    MutexLock lock(mutex_);
    capacity::v1::Claim& row = rows_[uid];
    row.set_name("claims/" + uid);
    Tell(row);
  }
  // From now on a claim holds `most` at most, and this is why.
  void SetShort(int64_t most, capacity::v1::Claim::Reason reason) {
    MutexLock lock(mutex_);
    most_ = most;
    reason_ = reason;
  }

  grpc::Status BatchSyncClaims(grpc::ServerContext* context,
                               const capacity::v1::BatchSyncClaimsRequest* request,
                               capacity::v1::BatchSyncClaimsResponse* response) override {
    MutexLock lock(mutex_);
    ++syncs_;
    ++waiting_;
    while (silent_ && !context->IsCancelled()) speaks_.WaitFor(mutex_, absl::Milliseconds(20));
    --waiting_;
    if (context->IsCancelled()) return grpc::Status::CANCELLED;
    if (held_back_)
      return rpc::ToGrpcStatus(muster::error::Make(absl::StatusCode::kResourceExhausted,
                                                   "Too fast.", {.reason = "TOO_FAST"}));
    if (request->claims_size() > most_claims_)
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, "Received message larger than max"};
    Decide(*request, claims_, next_machine_, *response);
    for (const auto& result : response->results()) {
      machines_told_ += result.claim().machines_size();
      Note(result.claim());
    }
    return grpc::Status::OK;
  }
  grpc::Status CheckClaims(grpc::ServerContext*, const capacity::v1::CheckClaimsRequest* request,
                           capacity::v1::CheckClaimsResponse* response) override {
    MutexLock lock(mutex_);
    Claims copy = claims_;
    int next_machine = next_machine_;
    Decide(*request, copy, next_machine, *response);
    return grpc::Status::OK;
  }
  // So many machines are free, of a type that is granted in racks of so many; 0: not by racks.
  void SetFree(int64_t free, int32_t nodes_per_rack = 0) {
    MutexLock lock(mutex_);
    free_ = free;
    nodes_per_rack_ = nodes_per_rack;
  }
  // What is free anywhere is not told before it was set.
  grpc::Status FindPlacements(grpc::ServerContext*,
                              const capacity::v1::FindPlacementsRequest* request,
                              capacity::v1::FindPlacementsResponse* response) override {
    MutexLock lock(mutex_);
    if (!free_) return NobodyThere();
    if (nodes_per_rack_ > 0 && request->requests(0).nodes() % nodes_per_rack_ != 0)
      return {grpc::StatusCode::INVALID_ARGUMENT, "no whole racks"};
    response->add_zones()->add_placements()->set_free(*free_);
    return grpc::Status::OK;
  }
  // So many machines are being reclaimed for every claim.
  void SetReclaimed(int64_t nodes) {
    MutexLock lock(mutex_);
    reclaimed_ = nodes;
  }
  grpc::Status ExplainClaim(grpc::ServerContext*, const capacity::v1::ExplainClaimRequest* request,
                            capacity::v1::ExplainClaimResponse* response) override {
    using Obstacle = capacity::v1::ClaimObstacle;
    MutexLock lock(mutex_);
    if (!claims_.contains(request->name().substr(request->name().find('/') + 1)))
      return {grpc::StatusCode::NOT_FOUND, "no such claim"};
    response->add_obstacles()->set_code(Obstacle::CODE_QUEUED_BEHIND);
    response->mutable_obstacles(0)->set_nodes(99);
    if (reclaimed_ > 0) {
      response->add_obstacles()->set_code(Obstacle::CODE_BEING_RECLAIMED);
      response->mutable_obstacles(1)->set_nodes(reclaimed_);
      response->mutable_obstacles(1)->add_reclaims()->set_machine("g1");
      response->mutable_obstacles(1)->mutable_reclaims(0)->mutable_reclaim_time()->set_seconds(10);
      response->mutable_obstacles(1)->mutable_last_reclaim_time()->set_seconds(20);
    }
    return grpc::Status::OK;
  }
  grpc::Status WatchCapacity(
      grpc::ServerContext* context, const capacity::v1::WatchCapacityRequest* request,
      grpc::ServerWriter<capacity::v1::WatchCapacityResponse>* writer) override {
    const bool claims = request->kinds_size() == 1 &&
                        request->kinds(0) == capacity::v1::WatchCapacityRequest::KIND_CLAIM;
    if (claims) return feed_.Serve(*context, {}, *writer);
    if (catalogue_away_) {
      ++refused_watches_;
      return NobodyThere();
    }
    std::vector<capacity::v1::WatchCapacityResponse> snapshot(2);
    snapshot[0].set_key("zones/US-EAST-04A");
    snapshot[0].mutable_zone()->set_name("zones/US-EAST-04A");
    snapshot[0].mutable_zone()->set_access(capacity::v1::Zone::ACCESS_GENERAL);
    snapshot[0].mutable_zone()->add_instance_types("gd-8xa100-i128");
    snapshot[1].set_key("instanceTypes/gd-8xa100-i128");
    snapshot[1].mutable_instance_type()->set_name("instanceTypes/gd-8xa100-i128");
    snapshot[1].mutable_instance_type()->set_gpus(8);
    for (auto& message : snapshot) message.set_type(type::v1::WATCH_EVENT_TYPE_SNAPSHOT);
    return catalogue_.Serve(*context, std::move(snapshot), *writer);
  }

 private:
  void Tell(const capacity::v1::Claim& row) {
    capacity::v1::WatchCapacityResponse message;
    message.set_type(type::v1::WATCH_EVENT_TYPE_CHANGED);
    message.set_key(row.name());
    *message.mutable_claim() = row;
    feed_.Push(message);
  }
  // A claim that was synced, as the watches have it.
  void Note(const capacity::v1::Claim& claim) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    capacity::v1::Claim& row = rows_[claim.name().substr(claim.name().find('/') + 1)];
    if (row.generation() == claim.generation()) return;
    row = claim;
    row.clear_machines();  // as the proto says of the watches
    row.clear_reason();
    row.clear_in_service();
    row.clear_queue();
    row.clear_matching();
    row.clear_matching_in_repair();
    row.clear_machines_print();
    row.clear_machines_unchanged();
    Tell(row);
  }

  using Claims = std::map<std::string, std::set<std::string>>;

  template <class Request, class Response>
  void Decide(const Request& request, Claims& claims, int& next_machine, Response& response)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (const auto& ask : request.claims()) {
      std::set<std::string>& held = claims[ask.pool_uid()];
      for (const auto& back : ask.returns()) held.erase(back.machine());
      while (static_cast<int64_t>(held.size()) < std::min(most_, ask.nodes())) {
        held.insert("g" + std::to_string(next_machine++));
      }
      auto* claim = response.add_results()->mutable_claim();
      claim->set_name("claims/" + ask.pool_uid());
      claim->set_generation(ask.generation());
      claim->set_nodes(ask.nodes());
      if (knows_prints_)
        claim->set_machines_print(absl::StrCat(ask.generation(), ":", absl::StrJoin(held, ",")));
      if (confused_) claim->set_machines_print("of another");
      claim->set_machines_unchanged(
          confused_ || (knows_prints_ && claim->machines_print() == ask.known_machines()));
      if (!claim->machines_unchanged()) {
        claim->mutable_machines()->Assign(held.begin(), held.end());
        ++named_[ask.pool_uid()];
      }
      claim->set_outstanding(ask.nodes() - static_cast<int64_t>(held.size()));
      if (claim->outstanding() > 0) claim->mutable_queue()->set_place(1);
      claim->set_in_service(9);
      claim->set_matching(most_);
      claim->set_reason(claim->outstanding() == 0 ? capacity::v1::Claim::REASON_SUFFICIENT
                                                  : reason_);
      if (ask.release()) claims.erase(ask.pool_uid());
    }
  }

  FakeFeed<capacity::v1::WatchCapacityResponse> feed_;
  FakeFeed<capacity::v1::WatchCapacityResponse> catalogue_;
  std::atomic<bool> catalogue_away_ = false;
  std::atomic<int> refused_watches_ = 0;
  Mutex mutex_;
  CondVar speaks_;
  bool silent_ MUSTER_GUARDED_BY(mutex_) = false;
  int syncs_ MUSTER_GUARDED_BY(mutex_) = 0;
  bool knows_prints_ MUSTER_GUARDED_BY(mutex_) = true;
  bool confused_ MUSTER_GUARDED_BY(mutex_) = false;
  int64_t machines_told_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::map<std::string, int> named_ MUSTER_GUARDED_BY(mutex_);  // by pool
  int waiting_ MUSTER_GUARDED_BY(mutex_) = 0;
  bool held_back_ MUSTER_GUARDED_BY(mutex_) = false;
  int most_claims_ MUSTER_GUARDED_BY(mutex_) = 1'000;
  std::map<std::string, capacity::v1::Claim> rows_ MUSTER_GUARDED_BY(mutex_);  // by pool
  int next_machine_ MUSTER_GUARDED_BY(mutex_) = 100;
  Claims claims_ MUSTER_GUARDED_BY(mutex_);
  int64_t most_ MUSTER_GUARDED_BY(mutex_) = 1'000'000;
  int64_t reclaimed_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::optional<int64_t> free_ MUSTER_GUARDED_BY(mutex_);
  int32_t nodes_per_rack_ MUSTER_GUARDED_BY(mutex_) = 0;
  capacity::v1::Claim::Reason reason_ MUSTER_GUARDED_BY(mutex_) = {};
};

}  // namespace muster::lifecycle
