#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "muster/configuration/v1/configuration_service.grpc.pb.h"
#include "muster/lifecycle/v1/lifecycle_service.grpc.pb.h"
#include "services/common/condition_names.h"
#include "services/common/mutex.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/pool_reconciler.h"
#include "tests/kubernetes/shell/reconciler_test_base.h"
#include "tests/testing/patience.h"

namespace muster::testing {

// Lifecycle as these tests play it: takes every spec, under its object's generation, and every
// deletion, unless Answer told it to answer something else.
class LifecycleOfPools final : public LifecycleOfCluster {
 public:
  grpc::Status ApplyNodePool(grpc::ServerContext*,
                             const lifecycle::v1::ApplyNodePoolRequest* request,
                             lifecycle::v1::NodePool* response) override {
    MutexLock lock(mutex_);
    *response = request->node_pool();
    response->set_generation(request->node_pool().object_generation());
    return answer_;
  }

  grpc::Status GetNodePool(grpc::ServerContext*, const lifecycle::v1::GetNodePoolRequest*,
                           lifecycle::v1::NodePool* response) override {
    MutexLock lock(mutex_);
    if (has_.empty()) return {grpc::StatusCode::NOT_FOUND, "no such pool"};
    response->set_uid(has_);
    return grpc::Status::OK;
  }

  grpc::Status DeleteNodePool(grpc::ServerContext*,
                              const lifecycle::v1::DeleteNodePoolRequest* request,
                              lifecycle::v1::NodePool*) override {
    MutexLock lock(mutex_);
    if (answer_.ok()) deleted_.push_back(request->name());
    return answer_;
  }

  // Whoever asks for a pool gets one of that uid; empty: there is none.
  void Have(const std::string& uid) {
    MutexLock lock(mutex_);
    has_ = uid;
  }
  void Answer(const grpc::Status& answer) {
    MutexLock lock(mutex_);
    answer_ = answer;
  }
  // The names of the pools that were to be deleted, one an order.
  std::vector<std::string> deleted() const {
    MutexLock lock(mutex_);
    return deleted_;
  }

 private:
  mutable Mutex mutex_;
  grpc::Status answer_ MUSTER_GUARDED_BY(mutex_);
  std::string has_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::string> deleted_ MUSTER_GUARDED_BY(mutex_);
};

// Configuration as these tests play it: one pool's configuration, and the orders that it was given.
class ConfigurationOfPool final : public configuration::v1::ConfigurationService::Service {
 public:
  grpc::Status GetPoolConfiguration(grpc::ServerContext*,
                                    const configuration::v1::GetPoolConfigurationRequest*,
                                    configuration::v1::PoolConfiguration* response) override {
    MutexLock lock(mutex_);
    *response = configuration_;
    return grpc::Status::OK;
  }
  grpc::Status PromoteConfiguration(grpc::ServerContext*,
                                    const configuration::v1::PromoteConfigurationRequest* request,
                                    configuration::v1::PoolConfiguration* response) override {
    MutexLock lock(mutex_);
    if (!room_.ok()) return room_;
    promoted_.push_back(request->node_profile());
    order_ids_.push_back(request->request_id());
    *response = configuration_;
    return grpc::Status::OK;
  }
  grpc::Status RollbackConfiguration(grpc::ServerContext*,
                                     const configuration::v1::RollbackConfigurationRequest* request,
                                     configuration::v1::PoolConfiguration* response) override {
    MutexLock lock(mutex_);
    if (!room_.ok()) return room_;
    *response = configuration_;
    if (request->validate_only()) {
      EXPECT_EQ(request->node_profile(), "previous");
      ++previous_asked_;
      response->add_orders()->set_node_profile(previous_);
      response->add_orders();  // one that was refused while this one waits
    } else {
      rolled_back_.push_back(request->node_profile());
      order_ids_.push_back(request->request_id());
    }
    const bool none = request->node_profile() == "previous" && previous_.empty();
    return none ? grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "all are withdrawn")
                : grpc::Status::OK;
  }

  // The pool runs the last of three revisions; the second was withdrawn. `previous`: what a
  // rollback to `previous` means; empty: nothing, because the first was withdrawn, too.
  void HaveRevisions(const std::string& previous) {
    MutexLock lock(mutex_);
    for (const char* profile : {"np-first", "np-withdrawn", "np-active"})
      configuration_.add_revisions()->set_node_profile(profile);
    configuration_.add_orders()->set_node_profile("np-active");
    configuration_.set_active("np-active");
    previous_ = previous;
  }
  // Whether an order is taken, or what it is answered otherwise.
  void SetRoom(const grpc::Status& room) {
    MutexLock lock(mutex_);
    room_ = room;
  }
  // What `previous` means from now on.
  void SetPrevious(const std::string& previous) {
    MutexLock lock(mutex_);
    previous_ = previous;
  }
  // How often it was asked what `previous` means.
  int previous_asked() const {
    MutexLock lock(mutex_);
    return previous_asked_;
  }

  void Set(int64_t generation, const std::string& pending) {
    MutexLock lock(mutex_);
    configuration_.set_generation(generation);
    configuration_.mutable_pending()->set_node_profile(pending);
  }
  std::vector<std::string> promoted() const {
    MutexLock lock(mutex_);
    return promoted_;
  }
  std::vector<std::string> rolled_back() const {
    MutexLock lock(mutex_);
    return rolled_back_;
  }
  // The request ids of all that were asked for.
  std::vector<std::string> order_ids() const {
    MutexLock lock(mutex_);
    return order_ids_;
  }

 private:
  mutable Mutex mutex_;
  configuration::v1::PoolConfiguration configuration_ MUSTER_GUARDED_BY(mutex_);
  grpc::Status room_ MUSTER_GUARDED_BY(mutex_);
  std::string previous_ MUSTER_GUARDED_BY(mutex_);
  int previous_asked_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> promoted_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::string> rolled_back_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::string> order_ids_ MUSTER_GUARDED_BY(mutex_);
};

// One pool that Kubernetes and Muster both have, with a configuration pending.
class PoolOrdersTest : public ReconcilerTestBase {
 protected:
  static constexpr char kPool[] = "a";

  PoolOrdersTest() {
    Serve({&lifecycle_, &configuration_});
    kubernetes::EventMirror::Options options{.instance = "adapter"};
    options.node_of = [](const std::string&) { return kubernetes::EventNode(); };
    events_ = std::make_unique<kubernetes::EventMirror>(api_.get(), &metrics_, options);
    Restart();
    MakePool();
  }
  ~PoolOrdersTest() override {
    Stop();
    events_->Stop();
  }

  // The adapter starts anew and has forgotten what it did.
  void Restart() {
    reconciler_ = std::make_unique<kubernetes::PoolReconciler>(
        kubernetes::PoolReconciler::Parts{.api = api_.get(),
                                          .writer = writer_.get(),
                                          .cluster = &cluster_,
                                          .muster = &muster_->client(),
                                          .muster_view = &known_,
                                          .events = events_.get(),
                                          .metrics = &metrics_,
                                          .history = &history_,
                                          .brake = &brake_,
                                          .identity = identity_.get(),
                                          .refusals = &refusals_});
  }
  absl::Status Reconcile(const std::string& pool = kPool) {
    return reconciler_->Reconcile(pool).status;
  }
  // One update of the object, as `kubectl apply` sends it.
  void ChangeSpecAndOrder(const char* annotation, const std::string& value) {
    See(api_->Patch(kubernetes::PatchType::kMerge, Path(),
                    {{"metadata", {{"annotations", {{annotation, value}}}}},
                     {"spec", {{"gpu", {{"version", "580"}}}}}}));
  }
  void ChangeSpec(const std::string& version) {
    See(api_->Patch(kubernetes::PatchType::kMerge, Path(),
                    {{"spec", {{"gpu", {{"version", version}}}}}}));
  }
  void ChangeSpecAndPromote() { ChangeSpecAndOrder(kubernetes::kPromoteAnnotation, "pending"); }
  // Lifecycle finds the spec of that generation invalid.
  void Invalidate(int64_t generation) {
    lifecycle::v1::NodePool& pool = *told_.mutable_node_pool();
    pool.set_generation(generation);
    lifecycle::v1::Condition& validated = *pool.mutable_status()->add_conditions();
    validated.set_type(condition::kValidated);
    validated.set_status("False");
    validated.set_reason(reason::kInvalid);
    validated.set_message("no such GPU");
    validated.set_observed_generation(generation);
    known_.Take(told_, absl::Now());
  }
  // As if Muster had never taken a spec of the object.
  void ForgetPool() {
    known_.BeginSnapshot();
    lifecycle::v1::WatchLifecycleResponse end;
    end.set_type(type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END);
    known_.Take(end, absl::Now());
    Restart();
  }
  // As if Muster's pool of that name were another one, which was not made through Kubernetes unless
  // it has the generation of an object.
  void KnowAnother(int64_t object_generation = 0) {
    lifecycle::v1::NodePool& pool = *told_.mutable_node_pool();
    pool.set_uid("another");
    pool.set_object_generation(object_generation);
    known_.Take(told_, absl::Now());
  }
  // Muster has a pool that was made through Kubernetes, and that the fake one does not have.
  void KnowOneWithoutObject(const std::string& name) {
    lifecycle::v1::WatchLifecycleResponse told;
    told.mutable_node_pool()->set_name(muster_->client().PoolName(name));
    told.mutable_node_pool()->set_uid(absl::StrCat("uid-of-", name));
    told.mutable_node_pool()->set_object_generation(1);
    known_.Take(told, absl::Now());
  }
  void KnowHowManyMayBeGranted() {
    told_.mutable_node_pool()->mutable_status()->set_grantable_nodes(4);
    known_.Take(told_, absl::Now());
  }
  void KnowThatItGoes() {
    told_.mutable_node_pool()->mutable_delete_time()->set_seconds(1);
    known_.Take(told_, absl::Now());
  }
  // As `kubectl delete` does; its finalizer keeps the object.
  void DeleteObject() {
    ASSERT_TRUE(api_->Delete(Path()).ok());
    See(api_->Get(Path()));
  }
  // Another object, which nobody has told the adapter of.
  void MakeUnseen(const std::string& name) {
    const auto made = api_->Create(kubernetes::kNodePoolsPath, NewObject(name));
    ASSERT_TRUE(made.ok()) << made.status();
  }
  // Whether the adapter has heard of the object.
  bool IsSeen(const std::string& name) { return cluster_.node_pools().Find(name) != nullptr; }
  std::string NameOf(const std::string& pool) { return muster_->client().PoolName(pool); }
  // The annotation; null: it is gone.
  kubernetes::Json Order(const char* annotation = kubernetes::kPromoteAnnotation) {
    const auto found = api_->Get(Path());
    EXPECT_TRUE(found.ok()) << found.status();
    return kubernetes::MemberOf(*found, "metadata", "annotations", annotation);
  }
  // The next attempt to take an annotation off the object fails.
  void FailToRemoveOnce() {
    api_server_.FailNext({.verb = "PATCH", .code = 500, .body_contains = "\"remove\""});
  }
  void ReconcileUntilGone(const char* annotation) {
    const auto gone = [&] {
      (void)Reconcile();
      return Order(annotation) == nullptr;
    };
    Until(gone, "that the annotation is removed");
  }
  // What the events say of orders, once there are so many.
  std::vector<std::string> Told(size_t count) {
    events_->Start();
    std::vector<std::string> notes;
    const auto are_there = [&] {
      notes.clear();
      (void)api_->List(kubernetes::kEventsPath, {}, [&](const Json& event) {
        if (event["reason"] != "CWNodePoolNodesRequestFailed")
          notes.push_back(event["note"].get<std::string>());
      });
      return notes.size() >= count;
    };
    Until(are_there, "the events");
    return notes;
  }

  LifecycleOfPools lifecycle_;
  ConfigurationOfPool configuration_;

 private:
  static std::string Path() { return absl::StrCat(kubernetes::kNodePoolsPath, "/", kPool); }
  kubernetes::Json See(const absl::StatusOr<Json>& object) {
    EXPECT_TRUE(object.ok()) << object.status();
    cluster_.node_pools().Put(*object);
    return *object;
  }
  static kubernetes::Json NewObject(const std::string& name) {
    return {{"apiVersion", "compute.coreweave.com/v1alpha1"},
            {"kind", "NodePool"},
            {"metadata", {{"name", name}}},
            {"spec", {{"instanceType", "gd-8xa100-i128"}, {"targetNodes", 1}}}};
  }
  void MakePool() {
    kubernetes::Json object = NewObject(kPool);
    object["metadata"]["finalizers"] = kubernetes::Json::array({kubernetes::kFinalizer});
    const kubernetes::Json made = See(api_->Create(kubernetes::kNodePoolsPath, object));
    lifecycle::v1::NodePool& pool = *told_.mutable_node_pool();
    pool.set_name(muster_->client().PoolName(kPool));
    pool.set_uid(made["metadata"]["uid"].get<std::string>());
    pool.set_generation(1);
    pool.set_object_generation(1);
    known_.Take(told_, absl::Now());
    configuration_.Set(1, "np-upstream");
    EXPECT_TRUE(Reconcile().ok());
  }

  lifecycle::v1::WatchLifecycleResponse told_;  // of the pool
  std::unique_ptr<kubernetes::EventMirror> events_;
  std::unique_ptr<kubernetes::PoolReconciler> reconciler_;
};

}  // namespace muster::testing
