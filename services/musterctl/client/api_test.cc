#include "services/musterctl/client/api.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "muster/capacity/v1/capacity_service.grpc.pb.h"
#include "muster/configuration/v1/configuration_service.grpc.pb.h"
#include "muster/lifecycle/v1/lifecycle_service.grpc.pb.h"
#include "muster/quota/v1/quota_service.grpc.pb.h"
#include "services/common/error.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/manifest/machine_set.h"
#include "services/rpc/status.h"

namespace muster::musterctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Pair;
using ::testing::SizeIs;

// Quotas and machines in memory, in pages of two.
class FakeServer final : public quota::v1::QuotaService::Service,
                         public capacity::v1::CapacityService::Service,
                         public configuration::v1::ConfigurationService::Service,
                         public lifecycle::v1::LifecycleService::Service {
 public:
  FakeServer() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(static_cast<quota::v1::QuotaService::Service*>(this));
    builder.RegisterService(static_cast<capacity::v1::CapacityService::Service*>(this));
    builder.RegisterService(static_cast<configuration::v1::ConfigurationService::Service*>(this));
    builder.RegisterService(static_cast<lifecycle::v1::LifecycleService::Service*>(this));
    server_ = builder.BuildAndStart();
  }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  grpc::Status ListQuotas(grpc::ServerContext*, const quota::v1::ListQuotasRequest* request,
                          quota::v1::ListQuotasResponse* response) override {
    auto it = quotas.upper_bound(request->page_token());
    for (; it != quotas.end() && response->quotas_size() < 2; ++it)
      *response->add_quotas() = it->second;
    if (it != quotas.end()) response->set_next_page_token(std::prev(it)->first);
    return grpc::Status::OK;
  }
  grpc::Status GetQuota(grpc::ServerContext*, const quota::v1::GetQuotaRequest* request,
                        quota::v1::Quota* response) override {
    const auto it = quotas.find(request->name());
    if (it == quotas.end()) return {grpc::StatusCode::NOT_FOUND, "none"};
    *response = it->second;
    return grpc::Status::OK;
  }
  grpc::Status UpdateQuota(grpc::ServerContext*, const quota::v1::UpdateQuotaRequest* request,
                           quota::v1::Quota* response) override {
    if (request->quota().limit() < 0) {
      return rpc::ToGrpcStatus(error::InvalidField("limit", "must be 0 to 1000000"));
    }
    EXPECT_TRUE(request->allow_missing());
    ids.push_back(request->request_id());
    if (!request->validate_only()) quotas[request->quota().name()] = request->quota();
    *response = request->quota();
    return grpc::Status::OK;
  }
  grpc::Status WatchQuotas(grpc::ServerContext*, const quota::v1::WatchQuotasRequest*,
                           grpc::ServerWriter<quota::v1::WatchQuotasResponse>* writer) override {
    for (const auto& message : stream) writer->Write(message);
    return {grpc::StatusCode::UNAVAILABLE, "the end"};
  }
  grpc::Status ListMachines(grpc::ServerContext*, const capacity::v1::ListMachinesRequest*,
                            capacity::v1::ListMachinesResponse* response) override {
    for (const auto& [name, machine] : machines) *response->add_machines() = machine;
    return grpc::Status::OK;
  }
  grpc::Status GetZone(grpc::ServerContext*, const capacity::v1::GetZoneRequest*,
                       capacity::v1::Zone* response) override {
    if (!zone) return {grpc::StatusCode::NOT_FOUND, "none"};
    *response = *zone;
    return grpc::Status::OK;
  }
  grpc::Status UpdateZone(grpc::ServerContext*, const capacity::v1::UpdateZoneRequest* request,
                          capacity::v1::Zone* response) override {
    if (request->zone().access() == capacity::v1::Zone::ACCESS_UNSPECIFIED)
      return rpc::ToGrpcStatus(error::InvalidField("zone.access", "is missing"));
    *response = request->zone();
    response->set_region("A-1");
    if (!request->validate_only()) zone = *response;
    return grpc::Status::OK;
  }
  grpc::Status GetInstanceType(grpc::ServerContext*, const capacity::v1::GetInstanceTypeRequest*,
                               capacity::v1::InstanceType* response) override {
    if (!type) return {grpc::StatusCode::NOT_FOUND, "none"};
    *response = *type;
    return grpc::Status::OK;
  }
  grpc::Status UpdateInstanceType(grpc::ServerContext*,
                                  const capacity::v1::UpdateInstanceTypeRequest* request,
                                  capacity::v1::InstanceType* response) override {
    if (request->instance_type().vcpus() == 0)
      return rpc::ToGrpcStatus(error::InvalidField("instance_type.vcpus", "is missing"));
    *response = request->instance_type();
    if (!request->validate_only()) type = *response;
    return grpc::Status::OK;
  }
  grpc::Status GetMachine(grpc::ServerContext*, const capacity::v1::GetMachineRequest* request,
                          capacity::v1::Machine* response) override {
    const auto it = machines.find(request->name());
    if (it == machines.end()) return {grpc::StatusCode::NOT_FOUND, "none"};
    *response = it->second;
    return grpc::Status::OK;
  }
  grpc::Status BatchRegisterMachines(grpc::ServerContext*,
                                     const capacity::v1::BatchRegisterMachinesRequest* request,
                                     capacity::v1::BatchRegisterMachinesResponse*) override {
    if (request->machines(0).zone() == "NONE")
      return {grpc::StatusCode::FAILED_PRECONDITION, "no such zone"};
    if (request->validate_only()) return grpc::Status::OK;
    batches.push_back(request->machines_size());
    ids.push_back(request->request_id());
    for (const auto& machine : request->machines()) {
      machines[machine.name()] = machine;
      machines[machine.name()].set_state(capacity::v1::Machine::STATE_FREE);
    }
    return grpc::Status::OK;
  }

  grpc::Status GetNodePool(grpc::ServerContext*, const lifecycle::v1::GetNodePoolRequest*,
                           lifecycle::v1::NodePool* response) override {
    if (!pool) return {grpc::StatusCode::NOT_FOUND, "none"};
    *response = *pool;
    return grpc::Status::OK;
  }
  grpc::Status UpdateNodePool(grpc::ServerContext*,
                              const lifecycle::v1::UpdateNodePoolRequest* request,
                              lifecycle::v1::NodePool* response) override {
    *response = changed;
    return Heard("update", *request);
  }
  grpc::Status ApplyNodePool(grpc::ServerContext*,
                             const lifecycle::v1::ApplyNodePoolRequest* request,
                             lifecycle::v1::NodePool* response) override {
    *response = changed;
    if (request->validate_only()) response->mutable_preview()->set_nodes_to_reboot(7);
    return Heard("apply", *request);
  }
  grpc::Status ResizeNodePool(grpc::ServerContext*,
                              const lifecycle::v1::ResizeNodePoolRequest* request,
                              lifecycle::v1::NodePool*) override {
    return Heard("resize", *request);
  }
  grpc::Status DeleteNodePool(grpc::ServerContext*,
                              const lifecycle::v1::DeleteNodePoolRequest* request,
                              lifecycle::v1::NodePool*) override {
    return Heard("delete", *request);
  }
  grpc::Status ReconfigureNodePool(grpc::ServerContext*,
                                   const lifecycle::v1::ReconfigureNodePoolRequest* request,
                                   lifecycle::v1::NodePool*) override {
    return Heard("reconfigure", *request);
  }
  grpc::Status PauseReconfiguration(grpc::ServerContext*,
                                    const lifecycle::v1::PauseReconfigurationRequest* request,
                                    lifecycle::v1::NodePool*) override {
    return Heard("pause", *request);
  }
  grpc::Status ResumeReconfiguration(grpc::ServerContext*,
                                     const lifecycle::v1::ResumeReconfigurationRequest* request,
                                     lifecycle::v1::NodePool*) override {
    return Heard("resume", *request);
  }
  grpc::Status CancelReconfiguration(grpc::ServerContext*,
                                     const lifecycle::v1::CancelReconfigurationRequest* request,
                                     lifecycle::v1::NodePool*) override {
    return Heard("cancel", *request);
  }
  grpc::Status UpdateNode(grpc::ServerContext*, const lifecycle::v1::UpdateNodeRequest* request,
                          lifecycle::v1::Node*) override {
    return Heard("update", *request);
  }
  grpc::Status ListEvents(grpc::ServerContext*, const lifecycle::v1::ListEventsRequest* request,
                          lifecycle::v1::ListEventsResponse*) override {
    return Heard("events", *request);
  }
  grpc::Status CordonNode(grpc::ServerContext*, const lifecycle::v1::CordonNodeRequest* request,
                          lifecycle::v1::Node*) override {
    return Heard("cordon", *request);
  }
  grpc::Status UncordonNode(grpc::ServerContext*, const lifecycle::v1::UncordonNodeRequest* request,
                            lifecycle::v1::Node*) override {
    return Heard("uncordon", *request);
  }
  grpc::Status DrainNode(grpc::ServerContext*, const lifecycle::v1::DrainNodeRequest* request,
                         lifecycle::v1::Node*) override {
    return Heard("drain", *request);
  }
  grpc::Status RebootNode(grpc::ServerContext*, const lifecycle::v1::RebootNodeRequest* request,
                          lifecycle::v1::Node*) override {
    return Heard("reboot", *request);
  }
  grpc::Status ExplainNodePool(grpc::ServerContext*,
                               const lifecycle::v1::ExplainNodePoolRequest* request,
                               lifecycle::v1::ExplainNodePoolResponse*) override {
    return Heard("explain", *request);
  }

  grpc::Status PublishRelease(grpc::ServerContext*,
                              const configuration::v1::PublishReleaseRequest* request,
                              configuration::v1::Release*) override {
    return Heard("publish", *request);
  }
  grpc::Status WithdrawRelease(grpc::ServerContext*,
                               const configuration::v1::WithdrawReleaseRequest* request,
                               configuration::v1::Release*) override {
    return Heard("withdraw", *request);
  }
  grpc::Status PromoteConfiguration(grpc::ServerContext*,
                                    const configuration::v1::PromoteConfigurationRequest* request,
                                    configuration::v1::PoolConfiguration*) override {
    return Heard("promote", *request);
  }
  grpc::Status RollbackConfiguration(grpc::ServerContext*,
                                     const configuration::v1::RollbackConfigurationRequest* request,
                                     configuration::v1::PoolConfiguration*) override {
    return Heard("rollback", *request);
  }
  grpc::Status EnableRevision(grpc::ServerContext*,
                              const configuration::v1::EnableRevisionRequest* request,
                              configuration::v1::PoolConfiguration*) override {
    return Heard("enable", *request);
  }

  std::vector<std::string> heard;          // requests to lifecycle and configuration, without ids
  std::vector<std::string> ids;            // of requests that have the field
  std::vector<grpc::StatusCode> failures;  // what lifecycle answers next, the last first
  std::optional<lifecycle::v1::NodePool> pool;
  lifecycle::v1::NodePool changed;  // what its changes answer
  std::optional<capacity::v1::Zone> zone;
  std::optional<capacity::v1::InstanceType> type;
  std::map<std::string, quota::v1::Quota> quotas;
  std::map<std::string, capacity::v1::Machine> machines;
  std::vector<int> batches;
  std::vector<quota::v1::WatchQuotasResponse> stream;

 private:
  template <class Request>
  grpc::Status Heard(const char* verb, Request request) {
    if constexpr (requires { request.request_id(); }) {
      ids.push_back(request.request_id());
      request.clear_request_id();
    }
    heard.push_back(absl::StrCat(verb, " ", request.ShortDebugString()));
    if (failures.empty()) return grpc::Status::OK;
    const grpc::StatusCode code = failures.back();
    failures.pop_back();
    return {code, "lost"};
  }

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

class ApiTest : public ::testing::Test {
 protected:
  quota::v1::Quota Quota(const std::string& zone, int64_t limit) {
    quota::v1::Quota quota;
    quota.set_name(absl::StrCat("organizations/acme/quotas/", zone, "~t~default"));
    quota.set_limit(limit);
    return quota;
  }
  Outcome ApplyOutcome(const Resource& resource, bool dry_run = false) {
    const auto applied = api_->Apply(resource, dry_run);
    EXPECT_TRUE(applied.ok()) << applied.status();
    return applied.ok() ? applied->outcome : Outcome::kUnchanged;
  }

  FakeServer server_;
  std::unique_ptr<Api> api_ =
      Api::Create({.server = server_.address(), .scope = {"acme", "example"}});
};

TEST_F(ApiTest, ReadsEveryPage) {
  for (const char* zone : {"A-1A", "B-1A", "C-1A", "D-1A", "E-1A"}) {
    server_.quotas[Quota(zone, 1).name()] = Quota(zone, 1);
  }
  const auto items = api_->List(Kind::kQuota, "");
  ASSERT_TRUE(items.ok()) << items.status();
  EXPECT_EQ(items->size(), 5u);
}

TEST_F(ApiTest, TellsCreatedConfiguredAndUnchangedApart) {
  EXPECT_EQ(ApplyOutcome(Quota("A-1A", 1)), Outcome::kCreated);
  EXPECT_EQ(ApplyOutcome(Quota("A-1A", 2)), Outcome::kConfigured);
  EXPECT_EQ(ApplyOutcome(Quota("A-1A", 2)), Outcome::kUnchanged);
}

TEST_F(ApiTest, RegistersMachinesInChunksAndOnlyWhatIsNew) {
  absl::flat_hash_set<std::string> used;
  MachineSetSpec spec{.prefix = "a", .zone = "A-1A", .instance_type = "t", .count = 1200};
  EXPECT_EQ(ApplyOutcome(MachineSet{"a", Expand(spec, used)}), Outcome::kCreated);
  EXPECT_THAT(server_.batches, ElementsAre(500, 500, 200));
  used.clear();
  EXPECT_EQ(ApplyOutcome(MachineSet{"a", Expand(spec, used)}), Outcome::kUnchanged);
  EXPECT_EQ(server_.batches.size(), 3u);
  used.clear();
  spec.count = 1203;
  EXPECT_EQ(ApplyOutcome(MachineSet{"a", Expand(spec, used)}), Outcome::kConfigured);
  EXPECT_THAT(server_.batches, ElementsAre(500, 500, 200, 3));
}

TEST_F(ApiTest, ADryRunChangesNothing) {
  EXPECT_EQ(ApplyOutcome(Quota("A-1A", 1), true), Outcome::kCreated);
  EXPECT_EQ(ApplyOutcome(Quota("A-1A", 1)), Outcome::kCreated);
  EXPECT_EQ(ApplyOutcome(Quota("A-1A", 2), true), Outcome::kConfigured);
  EXPECT_EQ(server_.quotas.begin()->second.limit(), 1);
  absl::flat_hash_set<std::string> used;
  const MachineSetSpec spec{.prefix = "a", .zone = "A-1A", .instance_type = "t", .count = 3};
  EXPECT_EQ(ApplyOutcome(MachineSet{"a", Expand(spec, used)}, true), Outcome::kCreated);
  EXPECT_TRUE(server_.batches.empty());
  lifecycle::v1::NodePool pool;
  pool.set_name("organizations/acme/clusters/example/nodePools/train");
  const auto applied = api_->Apply(pool, true);
  ASSERT_TRUE(applied.ok()) << applied.status();
  ASSERT_TRUE(applied->preview.has_value());
  EXPECT_EQ(applied->preview->nodes_to_reboot(), 7);
  EXPECT_THAT(server_.heard, ElementsAre(absl::StrCat("apply node_pool { name: \"", pool.name(),
                                                      "\" } validate_only: true")));
}

TEST_F(ApiTest, ADryRunIsRefusedByTheServerAndAnswersAsTheRealOne) {
  capacity::v1::Zone zone;
  zone.set_name("zones/A-1A");
  EXPECT_TRUE(absl::IsInvalidArgument(api_->Apply(zone, true).status()));
  zone.set_access(capacity::v1::Zone::ACCESS_GENERAL);
  EXPECT_EQ(ApplyOutcome(zone, true), Outcome::kCreated);
  EXPECT_FALSE(server_.zone.has_value());
  EXPECT_EQ(ApplyOutcome(zone), Outcome::kCreated);
  EXPECT_EQ(ApplyOutcome(zone, true), Outcome::kUnchanged);
  zone.add_instance_types("t");
  EXPECT_EQ(ApplyOutcome(zone, true), Outcome::kConfigured);

  capacity::v1::InstanceType type;
  type.set_name("instanceTypes/t");
  EXPECT_TRUE(absl::IsInvalidArgument(api_->Apply(type, true).status()));
  type.set_vcpus(8);
  EXPECT_EQ(ApplyOutcome(type, true), Outcome::kCreated);
  EXPECT_FALSE(server_.type.has_value());

  absl::flat_hash_set<std::string> used;
  const MachineSetSpec spec{.prefix = "a", .zone = "NONE", .instance_type = "t", .count = 1};
  const MachineSet set{"a", Expand(spec, used)};
  EXPECT_TRUE(absl::IsFailedPrecondition(api_->Apply(set, true).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(api_->Apply(set.machines[0], true).status()));
}

TEST_F(ApiTest, AChangeOfANodePoolTellsItsFields) {
  const std::string named = "node_pool { name: \"p\" } ";
  server_.pool.emplace();
  server_.pool->set_generation(1);
  server_.changed.set_generation(2);
  server_.changed.mutable_changed_fields()->add_paths("spec.target_nodes");
  server_.changed.mutable_changed_fields()->add_paths("spec.node_labels");
  lifecycle::v1::NodePool pool;
  pool.set_name("p");
  auto applied = api_->Apply(pool, {.must_fit = true});
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(applied->outcome, Outcome::kConfigured);
  EXPECT_EQ(applied->detail, "spec.target_nodes, spec.node_labels");
  applied = api_->UpdateNodePool(pool, {"spec.gang"}, {.dry_run = true, .must_fit = true});
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(applied->outcome, Outcome::kConfigured);
  EXPECT_THAT(server_.heard, ElementsAre("apply " + named + "must_fit: true",
                                         "update " + named +
                                             "update_mask { paths: \"spec.gang\" } "
                                             "validate_only: true must_fit: true"));
  pool.set_generation(2);
  applied = api_->UpdateNodePool(pool, {"spec.gang"}, WriteMode());
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(applied->outcome, Outcome::kUnchanged);
  EXPECT_EQ(applied->detail, "");
}

TEST_F(ApiTest, AMachineInUseIsUnchanged) {
  absl::flat_hash_set<std::string> used;
  const MachineSetSpec spec{.prefix = "a", .zone = "A-1A", .instance_type = "t", .count = 1};
  const MachineSet set{"a", Expand(spec, used)};
  EXPECT_EQ(ApplyOutcome(set), Outcome::kCreated);
  capacity::v1::Machine& machine = server_.machines.begin()->second;
  machine.set_claim("u-1");
  machine.mutable_request_time()->set_seconds(1);
  machine.set_compute_class(type::v1::COMPUTE_CLASS_SPOT);
  EXPECT_EQ(ApplyOutcome(set), Outcome::kUnchanged);
}

TEST_F(ApiTest, OrdersNameTheirNodePool) {
  const std::string name = "name: \"organizations/acme/clusters/example/nodePools/train\"";
  lifecycle::v1::ResizeNodePoolRequest resize;
  resize.set_name("train");
  resize.add_remove_machines("g1");
  EXPECT_TRUE(api_->Resize(resize).ok());
  lifecycle::v1::ReconfigureNodePoolRequest reconfigure;
  reconfigure.set_name("train");
  EXPECT_TRUE(api_->Reconfigure(reconfigure).ok());
  for (const auto verb :
       {ReconfigurationVerb::kPause, ReconfigurationVerb::kResume, ReconfigurationVerb::kCancel}) {
    EXPECT_TRUE(api_->ControlReconfiguration(verb, "train", false).ok());
  }
  EXPECT_TRUE(api_->ControlReconfiguration(ReconfigurationVerb::kPause, "train", true).ok());
  EXPECT_TRUE(api_->DeleteNodePool("train", true).ok());
  EXPECT_TRUE(api_->ExplainNodePool("train").ok());
  lifecycle::v1::Node changed;
  EXPECT_TRUE(api_->UpdateNode("train", "g1", changed, "reserved_desired", false).ok());
  changed.mutable_protect_until_time()->set_seconds(5);
  EXPECT_TRUE(api_->UpdateNode("train", "g1", changed, "protect_until_time", true).ok());
  const std::string node = "name: \"organizations/acme/clusters/example/nodePools/train/nodes/g1\"";
  EXPECT_THAT(
      server_.heard,
      ElementsAre("resize " + name + " remove_machines: \"g1\"", "reconfigure " + name,
                  "pause " + name, "resume " + name, "cancel " + name,
                  "pause " + name + " validate_only: true",
                  "delete " + name + " validate_only: true", "explain " + name,
                  "update node { " + node + " } update_mask { paths: \"reserved_desired\" }",
                  "update node { " + node +
                      " protect_until_time { seconds: 5 } } update_mask { paths: "
                      "\"protect_until_time\" } validate_only: true"));
}

// Wherever the caller looks otherwise.
TEST_F(ApiTest, EventsAreAskedForInTheClusterOfTheirPool) {
  EXPECT_TRUE(
      api_->PoolEvents("organizations/beta/clusters/c2/nodePools/p/nodes/g1", "uid-1").ok());
  ASSERT_THAT(server_.heard, SizeIs(1));
  EXPECT_THAT(server_.heard[0], HasSubstr("parent: \"organizations/beta/clusters/c2\""));
  EXPECT_THAT(server_.heard[0], HasSubstr("pool_uid: \"uid-1\""));
}

TEST_F(ApiTest, OrdersOfNodes) {
  const std::string node = "name: \"organizations/acme/clusters/example/nodePools/train/nodes/g1\"";
  EXPECT_TRUE(api_->OrderNode("train", "g1", {.verb = NodeVerb::kCordon}).ok());
  EXPECT_TRUE(
      api_->OrderNode("train", "g1", {.verb = NodeVerb::kUncordon, .validate_only = true}).ok());
  EXPECT_TRUE(api_->OrderNode("train", "g1", {.verb = NodeVerb::kDrain, .force = true}).ok());
  EXPECT_TRUE(api_->OrderNode("train", "g1",
                              {.verb = NodeVerb::kReboot,
                               .mode = lifecycle::v1::NodeOrders::REBOOT_DRAINED})
                  .ok());
  EXPECT_THAT(
      server_.heard,
      ElementsAre("cordon " + node, "uncordon " + node + " validate_only: true",
                  "drain " + node + " force: true", "reboot " + node + " mode: REBOOT_DRAINED"));
}

TEST_F(ApiTest, OrdersOfReleasesAndConfigurations) {
  const std::string release = "channels/stable/components/gpu-driver/releases/570";
  EXPECT_TRUE(api_->PublishRelease(release, false).ok());
  EXPECT_TRUE(api_->PublishRelease(release, true).ok());
  EXPECT_TRUE(api_->WithdrawRelease(release, true).ok());
  EXPECT_TRUE(api_->Promote("u", "", true).ok());
  EXPECT_TRUE(api_->Rollback("u", "np-1", false).ok());
  EXPECT_TRUE(api_->Rollback("u", "np-1", true).ok());
  EXPECT_TRUE(api_->EnableRevision("u", "np-1", true).ok());
  const std::string pool = "name: \"poolConfigurations/u\"";
  EXPECT_THAT(server_.heard,
              ElementsAre("publish release { name: \"" + release + "\" }",
                          "publish release { name: \"" + release + "\" } validate_only: true",
                          "withdraw name: \"" + release + "\" validate_only: true",
                          "promote " + pool + " validate_only: true",
                          "rollback " + pool + " node_profile: \"np-1\"",
                          "rollback " + pool + " node_profile: \"np-1\" validate_only: true",
                          "enable " + pool + " node_profile: \"np-1\" validate_only: true"));
}

TEST_F(ApiTest, MutationsBearAnIdEachUnlessTheyAreTried) {
  absl::flat_hash_set<std::string> used;
  const MachineSetSpec spec{.prefix = "a", .zone = "A-1A", .instance_type = "t", .count = 501};
  EXPECT_EQ(ApplyOutcome(MachineSet{"a", Expand(spec, used)}), Outcome::kCreated);
  EXPECT_EQ(ApplyOutcome(Quota("A-1A", 1)), Outcome::kCreated);
  EXPECT_TRUE(api_->DeleteNodePool("train", false).ok());
  ASSERT_THAT(server_.ids, SizeIs(4));
  const std::string id = server_.ids[0];
  EXPECT_THAT(id, MatchesRegex("[0-9a-f]{32}"));
  EXPECT_THAT(server_.ids, ElementsAre(id, id + ".2", id + ".3", id + ".4"));
  server_.ids.clear();
  EXPECT_TRUE(api_->DeleteNodePool("train", true).ok());
  EXPECT_EQ(ApplyOutcome(Quota("A-1A", 2), true), Outcome::kConfigured);
  EXPECT_THAT(server_.ids, ElementsAre("", ""));
  // Another one's are others.
  api_ = Api::Create({.server = server_.address()});
  EXPECT_TRUE(api_->DeleteNodePool("train", false).ok());
  EXPECT_NE(server_.ids[2], id);
}

TEST_F(ApiTest, WhatNobodyKnowsTheOutcomeOfIsRepeatedUnderItsId) {
  std::vector<absl::Duration> pauses;
  api_ = Api::Create({.server = server_.address(),
                      .request_id = "mine",
                      .sleep = [&](absl::Duration pause) { pauses.push_back(pause); }});
  lifecycle::v1::ResizeNodePoolRequest resize;
  resize.set_name("train");
  server_.failures = {grpc::StatusCode::UNKNOWN, grpc::StatusCode::UNAVAILABLE};
  EXPECT_TRUE(api_->Resize(resize).ok());
  EXPECT_THAT(server_.ids, ElementsAre("mine", "mine", "mine"));
  EXPECT_EQ(pauses.size(), 2u);
  // Not for ever.
  server_.ids.clear();
  server_.failures = std::vector<grpc::StatusCode>(10, grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(absl::IsUnavailable(api_->Resize(resize).status()));
  EXPECT_THAT(server_.ids, ElementsAre("mine.2", "mine.2", "mine.2", "mine.2"));
  // What is refused is refused; and what has no id is repeated by gRPC, if it may be (proto/muster/service_config.json).
  server_.ids.clear();
  server_.failures = {grpc::StatusCode::FAILED_PRECONDITION};
  EXPECT_FALSE(api_->Resize(resize).ok());
  EXPECT_THAT(server_.ids, ElementsAre("mine.3"));
  server_.heard.clear();
  server_.failures = {grpc::StatusCode::UNAVAILABLE};
  EXPECT_TRUE(api_->ExplainNodePool("train").ok());
  EXPECT_THAT(server_.heard, SizeIs(2));
}

TEST_F(ApiTest, ErrorsKeepTheServersDetails) {
  const auto applied = api_->Apply(Quota("A-1A", -1), false);
  ASSERT_FALSE(applied.ok());
  EXPECT_EQ(RenderError(applied.status()),
            "error: limit: must be 0 to 1000000 (INVALID_ARGUMENT, INVALID_FIELD)\n");
}

TEST_F(ApiTest, AServerThatIsNotThereIsUnavailable) {
  const auto api = Api::Create({.server = "unix:/nonexistent/socket"});
  const absl::Status status = api->List(Kind::kQuota, "").status();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(RenderError(status), ::testing::EndsWith(" (UNAVAILABLE)\n"));
}

TEST_F(ApiTest, AWatchEndsWhenNoAnswerBeginsInTime) {
  // Takes connections and never says a word.
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(socket, 8), 0);
  ASSERT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string server = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  const auto api = Api::Create({.server = server, .timeout = absl::Milliseconds(20)});
  const absl::Status status = api->Watch({.kind = Kind::kNode}, type::v1::WatchStart(),
                                         [](const WatchMessage&) { return true; });
  EXPECT_EQ(RenderError(status),
            absl::StrCat("error: no answer from ", server, " within 20ms (DEADLINE_EXCEEDED)\n"));
  ::close(socket);
}

TEST_F(ApiTest, AWatchOfQuotasAddsUpTheirHoldings) {
  const auto message = [&](type::v1::WatchEventType type, int64_t revision,
                           const std::string& key) {
    auto& added = server_.stream.emplace_back();
    added.set_type(type);
    added.set_revision(revision);
    added.set_key(key);
    return &added;
  };
  const quota::v1::Quota quota = Quota("A-1A", 10);
  *message(type::v1::WATCH_EVENT_TYPE_SNAPSHOT, 1, quota.name())->mutable_quota() = quota;
  for (const char* pool : {"p1", "p2"}) {
    const std::string name = quota.name() + "/holdings/" + pool;
    message(type::v1::WATCH_EVENT_TYPE_SNAPSHOT, 2, name)->mutable_holding()->set_nodes(3);
  }
  message(type::v1::WATCH_EVENT_TYPE_DELETED, 3, quota.name() + "/holdings/p2");
  std::vector<int64_t> held;
  const absl::Status status = api_->Watch(
      {.kind = Kind::kQuota}, type::v1::WatchStart(), [&](const WatchMessage& received) {
        held.push_back(std::get<quota::v1::Quota>(*received.item).held());
        return true;
      });
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(held, ElementsAre(0, 3, 6, 3));
}

// What an organization sees: no machines. Answers lists with what is there, as a server without filters.
class NarrowServer final : public lifecycle::v1::LifecycleService::Service,
                           public quota::v1::QuotaService::Service {
 public:
  NarrowServer() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(static_cast<lifecycle::v1::LifecycleService::Service*>(this));
    builder.RegisterService(static_cast<quota::v1::QuotaService::Service*>(this));
    server_ = builder.BuildAndStart();
  }
  std::unique_ptr<Api> Connect(const Scope& scope = {"acme", "example"}) const {
    return Api::Create({.server = absl::StrCat("127.0.0.1:", port_), .scope = scope});
  }

  grpc::Status ListNodes(grpc::ServerContext*, const lifecycle::v1::ListNodesRequest* request,
                         lifecycle::v1::ListNodesResponse* response) override {
    lists.emplace_back(request->parent(), request->filter());
    for (const std::string& name : nodes) response->add_nodes()->set_name(name);
    return grpc::Status::OK;
  }
  grpc::Status ListNodePools(grpc::ServerContext*,
                             const lifecycle::v1::ListNodePoolsRequest* request,
                             lifecycle::v1::ListNodePoolsResponse*) override {
    lists.emplace_back(request->parent(), request->filter());
    return grpc::Status::OK;
  }
  grpc::Status ListEvents(grpc::ServerContext*, const lifecycle::v1::ListEventsRequest* request,
                          lifecycle::v1::ListEventsResponse*) override {
    lists.emplace_back(request->parent(), request->filter());
    return grpc::Status::OK;
  }
  grpc::Status WatchLifecycle(grpc::ServerContext*,
                              const lifecycle::v1::WatchLifecycleRequest* request,
                              grpc::ServerWriter<lifecycle::v1::WatchLifecycleResponse>*) override {
    prefixes.push_back(request->name_prefix());
    return {grpc::StatusCode::FAILED_PRECONDITION, "the end"};
  }
  grpc::Status WatchQuotas(grpc::ServerContext*, const quota::v1::WatchQuotasRequest* request,
                           grpc::ServerWriter<quota::v1::WatchQuotasResponse>*) override {
    prefixes.push_back(request->name_prefix());
    return {grpc::StatusCode::FAILED_PRECONDITION, "the end"};
  }

  std::vector<std::string> nodes;
  std::vector<std::pair<std::string, std::string>> lists;  // parents and filters
  std::vector<std::string> prefixes;                       // of watches

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

constexpr char kCluster[] = "organizations/acme/clusters/example";

TEST(NarrowApiTest, ANodeIsFoundByItsMachineAloneInOneCallToLifecycle) {
  NarrowServer server;
  const std::string name = absl::StrCat(kCluster, "/nodePools/train/nodes/g1");
  server.nodes = {absl::StrCat(kCluster, "/nodePools/eval/nodes/g12"), name};
  const auto api = server.Connect();
  const auto found = api->Get(Kind::kNode, "g1");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(NameOf(*found), name);
  EXPECT_THAT(server.lists,
              ElementsAre(Pair(absl::StrCat(kCluster, "/nodePools/-"), "machine = \"g1\"")));
  EXPECT_EQ(RenderError(api->Get(Kind::kNode, "g").status()),
            "error: node \"g\" does not exist. (NOT_FOUND)\n");
  EXPECT_FALSE(api->Get(Kind::kNode, "a\"b\\c").ok());
  EXPECT_EQ(server.lists.back().second, "machine = \"a\\\"b\\\\c\"");
  EXPECT_FALSE(api->Get(Kind::kEvent, "e1").ok());
  EXPECT_THAT(server.lists.back(), Pair(kCluster, "name = \"*e1\""));
}

TEST(NarrowApiTest, ListsLeaveOutWhatBeginsOtherwise) {
  NarrowServer server;
  const auto list = [&](const Scope& scope, Kind kind, const ListRange& range) {
    EXPECT_TRUE(server.Connect(scope)->List(kind, range).ok());
    return server.lists.back();
  };
  const Scope scope = {"acme", "example"};
  const std::string pools = absl::StrCat(kCluster, "/nodePools/");
  EXPECT_THAT(list(scope, Kind::kNodePool, {.begin = "tr"}),
              Pair(kCluster, absl::StrCat("name = \"", pools, "tr*\"")));
  EXPECT_THAT(list(scope, Kind::kNode, {.begin = "tr"}),
              Pair(pools + "-", absl::StrCat("name = \"", pools, "tr*\"")));
  EXPECT_THAT(list(scope, Kind::kNode, {.begin = "train/g1"}),
              Pair(pools + "train", absl::StrCat("name = \"", pools, "train/nodes/g1*\"")));
  EXPECT_THAT(list(scope, Kind::kNode, {.pool = "train", .filter = "state = TRIAGE"}),
              Pair(pools + "train", "state = TRIAGE"));
  EXPECT_THAT(list(scope, Kind::kNode, {}), Pair(pools + "-", ""));
  // Where ids do not say where they are.
  EXPECT_THAT(list({"acme", "-"}, Kind::kNode, {.begin = "train/g1"}),
              Pair("organizations/acme/clusters/-/nodePools/-", ""));
}

TEST(NarrowApiTest, WatchesAskForNoMoreThanTheirRange) {
  NarrowServer server;
  const auto prefix = [&](const WatchRange& range, const Scope& scope = {"acme", "example"}) {
    const auto go_on = [](const WatchMessage&) { return true; };
    EXPECT_FALSE(server.Connect(scope)->Watch(range, type::v1::WatchStart(), go_on).ok());
    return server.prefixes.back();
  };
  const std::string in = absl::StrCat(kCluster, "/");
  const std::string far = "organizations/beta/clusters/c2/nodePools/far";
  EXPECT_EQ(prefix({.kind = Kind::kNode}), in);
  EXPECT_EQ(prefix({.kind = Kind::kNodePool, .ids = {"x"}}), in + "nodePools/x");
  EXPECT_EQ(prefix({.kind = Kind::kNodePool, .ids = {"x", "xy"}}), in + "nodePools/");
  EXPECT_EQ(prefix({.kind = Kind::kNodePool, .ids = {far}}), far);
  EXPECT_EQ(prefix({.kind = Kind::kNodePool, .ids = {"x", far}}), "organizations/");
  EXPECT_EQ(prefix({.kind = Kind::kNode, .ids = {"x/g1"}}), in + "nodePools/x/nodes/g1");
  EXPECT_EQ(prefix({.kind = Kind::kNode, .ids = {"x/g1", "x/g2"}}), in + "nodePools/x/nodes/");
  EXPECT_EQ(prefix({.kind = Kind::kNode, .ids = {"g1"}}), in) << "whose it is is not known";
  EXPECT_EQ(prefix({.kind = Kind::kNode, .pool = "x"}), in + "nodePools/x/");
  EXPECT_EQ(prefix({.kind = Kind::kEvent, .pool = "x"}), in);
  EXPECT_EQ(prefix({.kind = Kind::kEvent, .pool = far}), "organizations/beta/clusters/c2/");
  EXPECT_EQ(prefix({.kind = Kind::kQuota}), "organizations/acme/quotas/");
  EXPECT_EQ(prefix({.kind = Kind::kQuota, .ids = {"z~t~spot"}}),
            "organizations/acme/quotas/z~t~spot");
  EXPECT_EQ(prefix({.kind = Kind::kQuota, .ids = {"z~t~spot"}}, {"-", "-"}), "");
  EXPECT_EQ(prefix({.kind = Kind::kNode, .pool = "x"}, {"acme", "-"}),
            "organizations/acme/clusters/");
}

}  // namespace
}  // namespace muster::musterctl
