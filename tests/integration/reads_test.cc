// A read never writes: every RPC of the four services that is no mutation, and every mutation that
// is only tried, leaves all four journals where they are. While nobody reconciles, so that what a
// pool has yet to ask of the others is there to be asked by mistake.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/text_format.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <muster/configuration/v1/configuration_service.grpc.pb.h>

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "services/rpc/status.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/raw_call.h"
#include "tests/testing/status_matchers.h"

namespace muster::testing {
namespace {

namespace lv1 = lifecycle::v1;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;

// A method and a request in protobuf's text format. `$UID` and the like stand for what the test
// finds; see Reads::Filled.
using Requests = std::map<std::string, std::vector<std::string>>;

// What answers and writes nothing. Every question about a pool is asked of one that has settled,
// one whose wish is new and one that nobody has asked for yet.
const Requests& Questions() {
  static const auto& questions = *new Requests{
      {"QuotaService.GetQuota", {"name: '$QUOTA'"}},
      {"QuotaService.ListQuotas", {"parent: 'organizations/-'"}},
      {"QuotaService.CheckQuota",
       {"holdings { name: '$QUOTA/holdings/$UID' nodes: 7 }",
        "holdings { name: '$QUOTA/holdings/$FRESH' nodes: 2 }",
        "holdings { name: '$QUOTA/holdings/$UID' release: true }"}},
      {"QuotaService.GetHolding", {"name: '$QUOTA/holdings/$UID'"}},
      {"QuotaService.ListHoldings", {"parent: 'organizations/-/quotas/-'"}},
      {"QuotaService.AuditQuotas", {""}},
      {"QuotaService.WatchQuotas", {""}},
      {"CapacityService.GetZone", {"name: 'zones/RNO2A'"}},
      {"CapacityService.ListZones", {""}},
      {"CapacityService.GetInstanceType", {"name: 'instanceTypes/gd-8xa100-i128'"}},
      {"CapacityService.ListInstanceTypes", {""}},
      {"CapacityService.GetMachine", {"name: 'machines/$MACHINE'"}},
      {"CapacityService.ListMachines", {""}},
      {"CapacityService.CheckClaims",
       {"claims { pool_uid: '$UID' organization: 'acme' zone: 'RNO2A' instance_type: "
        "'gd-8xa100-i128' nodes: 9 }",
        "claims { pool_uid: '$FRESH' organization: 'acme' zone: 'RNO2A' instance_type: "
        "'gd-8xa100-i128' nodes: 3 }",
        "claims { pool_uid: '$UID' organization: 'acme' zone: 'RNO2A' instance_type: "
        "'gd-8xa100-i128' nodes: 0 "
        "returns { machine: '$MACHINE' reason: REASON_BROKEN } }",
        "claims { pool_uid: '$FRESH' organization: 'acme' zone: 'RNO2A' instance_type: "
        "'gd-8xa100-i128' "
        "release: true }"}},
      {"CapacityService.GetClaim", {"name: 'claims/$UID'"}},
      {"CapacityService.ListClaims", {""}},
      {"CapacityService.ExplainClaim", {"name: 'claims/$UID'"}},
      {"CapacityService.FindPlacements", {"requests { instance_type: 'gd-8xa100-i128' nodes: 2 }"}},
      {"CapacityService.AuditCapacity", {""}},
      {"CapacityService.WatchClaims", {""}},
      {"CapacityService.WatchCapacity", {""}},
      {"ConfigurationService.GetRelease",
       {"name: 'channels/stable/components/kubernetes/releases/1.33'"}},
      {"ConfigurationService.ListReleases", {""}},
      {"ConfigurationService.GetNodeProfile", {"name: 'nodeProfiles/$PROFILE'"}},
      {"ConfigurationService.ListNodeProfiles", {""}},
      {"ConfigurationService.CheckPoolConfigurations",
       {"configurations { pool_uid: '$UID' spec { gpu: true gpu_version: '570' } }",
        "configurations { pool_uid: '$FRESH' spec { gpu: true } }",
        "configurations { pool_uid: '$UID' spec { gpu: true } boot_failures { "
        "node_profile: '$PROFILE' machines: ['a', 'b', 'c'] } }",
        "configurations { pool_uid: '$UID' release: true }"}},
      {"ConfigurationService.GetPoolConfiguration", {"name: 'poolConfigurations/$UID'"}},
      {"ConfigurationService.ListPoolConfigurations", {""}},
      {"ConfigurationService.WatchConfigurations", {""}},
      {"LifecycleService.GetCluster", {"name: 'organizations/acme/clusters/example'"}},
      {"LifecycleService.ListClusters", {"parent: 'organizations/-'"}},
      {"LifecycleService.GetNodePool", {"name: '$POOL'"}},
      {"LifecycleService.ListNodePools", {"parent: 'organizations/-/clusters/-'"}},
      {"LifecycleService.ExplainNodePool",
       {"name: '$POOL'", "name: '$FRESH_POOL'", "name: '$LEAVING_POOL'"}},
      {"LifecycleService.GetNode", {"name: '$POOL/nodes/$MACHINE'"}},
      {"LifecycleService.ListNodes", {"parent: '$POOL'"}},
      {"LifecycleService.ListEvents", {"parent: 'organizations/acme/clusters/example'"}},
      {"LifecycleService.WatchLifecycle", {""}},
      {"DebugService.AuditBooks", {""}},
      {"DebugService.CompareState", {""}},
      {"DebugService.GetLogLevel", {""}},
      {"DebugService.Ping", {""}},
  };
  return questions;
}

// Mutations that can be tried, with requests that would change something.
const Requests& Trials() {
  static const auto& trials = *new Requests{
      {"QuotaService.CreateQuota",
       {"parent: 'organizations/acme' quota_id: 'RNO2A~gd-8xl40-i128~spot' quota { limit: 3 }"}},
      {"QuotaService.UpdateQuota", {"quota { name: '$QUOTA' limit: 77 }"}},
      {"QuotaService.DeleteQuota", {"name: '$QUOTA'"}},
      {"CapacityService.UpdateZone", {"zone { name: 'zones/RNO9A' access: ACCESS_GENERAL }"}},
      {"CapacityService.DeleteZone", {"name: 'zones/RNO9A' allow_missing: true"}},
      {"CapacityService.UpdateInstanceType",
       {"instance_type { name: 'instanceTypes/spare' vcpus: 8 memory_kib: 1000000 "
        "architecture: 'amd64' max_pods: 110 }"}},
      {"CapacityService.DeleteInstanceType", {"name: 'instanceTypes/spare' allow_missing: true"}},
      {"CapacityService.BatchRegisterMachines",
       {"machines { name: 'machines/spare' zone: 'RNO2A' instance_type: 'gd-8xa100-i128' }"}},
      {"CapacityService.SetMachineState", {"name: 'machines/$MACHINE' state: STATE_IN_REPAIR"}},
      {"CapacityService.DeleteMachine", {"name: 'machines/spare' allow_missing: true"}},
      {"ConfigurationService.DeleteRelease",
       {"name: 'channels/stable/components/kubernetes/releases/1.99' allow_missing: true"}},
      {"LifecycleService.DeleteCluster",
       {"name: 'organizations/acme/clusters/spare' allow_missing: true"}},
      {"LifecycleService.UpdateNodePool",
       {"node_pool { name: '$POOL' spec { description: 'tried' } }"}},
      {"ConfigurationService.PublishRelease",
       {"release { name: 'channels/stable/components/kubernetes/releases/1.99' }"}},
      {"ConfigurationService.WithdrawRelease",
       {"name: 'channels/stable/components/kubernetes/releases/1.33'"}},
      {"ConfigurationService.SyncPoolConfiguration",
       {"configuration { pool_uid: '$FRESH' generation: 1 spec { gpu: true } }",
        "configuration { pool_uid: '$UID' generation: 99 release: true }"}},
      {"ConfigurationService.BatchSyncPoolConfigurations",
       {"configurations { pool_uid: '$FRESH' generation: 1 spec { gpu: true } }"}},
      // An order that is refused is written too, unless it is only tried.
      {"ConfigurationService.PromoteConfiguration", {"name: 'poolConfigurations/$UID'"}},
      {"ConfigurationService.RollbackConfiguration", {"name: 'poolConfigurations/$UID'"}},
      {"ConfigurationService.EnableRevision",
       {"name: 'poolConfigurations/$UID' node_profile: '$PROFILE'"}},
      {"LifecycleService.UpdateCluster",
       {"cluster { name: 'organizations/acme/clusters/other' zone: 'RNO2A' }"}},
      {"LifecycleService.BindCluster",
       {"name: 'organizations/acme/clusters/example' kubernetes_uid: 'k1' adopt: true"}},
      {"LifecycleService.AllowRemovals",
       {"name: 'organizations/acme/clusters/example' node_pools: 1 nodes: 3"}},
      {"LifecycleService.ApplyNodePool",
       {"node_pool { name: 'organizations/acme/clusters/example/nodePools/tried' "
        "spec { instance_type: 'gd-8xa100-i128' target_nodes: 2 } }",
        "node_pool { name: '$POOL' spec { instance_type: 'gd-8xa100-i128' target_nodes: 6 "
        "gpu { version: '570' } } }"}},
      {"LifecycleService.ResizeNodePool",
       {"name: '$POOL' target_nodes: 8", "name: '$POOL' target_nodes: 0",
        "name: '$FRESH_POOL' target_nodes: 3"}},
      {"LifecycleService.DeleteNodePool", {"name: '$POOL'", "name: '$FRESH_POOL'"}},
      {"LifecycleService.ReconfigureNodePool", {"name: '$POOL'"}},
      {"LifecycleService.PauseReconfiguration", {"name: '$POOL'"}},
      {"LifecycleService.ResumeReconfiguration", {"name: '$POOL'"}},
      {"LifecycleService.CancelReconfiguration", {"name: '$POOL'"}},
      {"LifecycleService.UpdateNode",
       {"node { name: '$POOL/nodes/$MACHINE' protect_until_time { seconds: 4000000000 } }"}},
      {"LifecycleService.CordonNode", {"name: '$POOL/nodes/$MACHINE'"}},
      {"LifecycleService.UncordonNode", {"name: '$POOL/nodes/$MACHINE'"}},
      {"LifecycleService.DrainNode", {"name: '$POOL/nodes/$MACHINE' force: true"}},
      {"LifecycleService.RebootNode", {"name: '$POOL/nodes/$MACHINE' mode: REBOOT_FORCED"}},
  };
  return trials;
}

// Mutations that cannot be tried.
const std::set<std::string>& Mutations() {
  static const auto& mutations = *new std::set<std::string>{
      "QuotaService.SyncHolding",  "QuotaService.BatchSyncHoldings",
      "CapacityService.SyncClaim", "CapacityService.BatchSyncClaims",
      "DebugService.SetLogLevel",  "LifecycleService.ReportNodes",
  };
  return mutations;
}

// Mutations without a `request_id`, and why a repeat does no harm there. All others have one.
const std::map<std::string, std::string>& Declarative() {
  static const std::string fenced =
      "says what is to be so; an older one is refused by its generation, the same one changes "
      "nothing";
  static const auto& reasons = *new std::map<std::string, std::string>{
      {"QuotaService.SyncHolding", fenced},
      {"QuotaService.BatchSyncHoldings", fenced},
      {"CapacityService.SyncClaim", fenced},
      {"CapacityService.BatchSyncClaims", fenced},
      {"ConfigurationService.SyncPoolConfiguration", fenced},
      {"ConfigurationService.BatchSyncPoolConfigurations", fenced},
      {"DebugService.SetLogLevel", "says what is to be so; the same one changes nothing"},
      {"LifecycleService.ApplyNodePool",
       "says what the whole spec is to be; an older one is refused by `object_generation` or "
       "`etag`, the same one changes nothing"},
      {"LifecycleService.UpdateNodePool",
       "says what fields are to be; an older one is refused by `etag`, the same one changes "
       "nothing"},
      {"LifecycleService.ReportNodes",
       "says what is seen; what does not fit the Node's state is refused"},
  };
  return reasons;
}

std::vector<const MethodDescriptor*> Methods() {
  std::vector<const MethodDescriptor*> methods;
  for (const auto* file : {quota::v1::GetQuotaRequest::descriptor()->file(),
                           capacity::v1::GetZoneRequest::descriptor()->file(),
                           configuration::v1::GetReleaseRequest::descriptor()->file(),
                           lv1::GetNodePoolRequest::descriptor()->file(),
                           debug::v1::PingRequest::descriptor()->file()}) {
    const ServiceDescriptor* service = file->service(0);
    for (int i = 0; i < service->method_count(); ++i) methods.push_back(service->method(i));
  }
  return methods;
}

std::string NameOf(const MethodDescriptor& method) {
  return absl::StrCat(method.service()->name(), ".", method.name());
}

bool CanBeTried(const MethodDescriptor& method) {
  return method.input_type()->FindFieldByName("validate_only") != nullptr;
}

// A new RPC has to say what it is.
TEST(ReadsTest, EveryRpcIsAQuestionOrAMutation) {
  size_t known = 0;
  for (const MethodDescriptor* method : Methods()) {
    const std::string name = NameOf(*method);
    const int places =
        static_cast<int>(Questions().count(name) + Trials().count(name) + Mutations().count(name));
    EXPECT_EQ(places, 1) << name << " stands in " << places
                         << " of Questions, Trials and Mutations";
    EXPECT_EQ(Trials().count(name) > 0, CanBeTried(*method)) << name;
    known += static_cast<size_t>(places);
  }
  EXPECT_EQ(known, Questions().size() + Trials().size() + Mutations().size());
}

// Whoever does not know what became of a mutation can repeat it.
TEST(ReadsTest, EveryMutationHasARequestIdOrAReason) {
  for (const MethodDescriptor* method : Methods()) {
    const std::string name = NameOf(*method);
    const bool is_mutation = Questions().count(name) == 0;
    const auto* id = method->input_type()->FindFieldByName("request_id");
    EXPECT_EQ(id != nullptr, is_mutation && Declarative().count(name) == 0) << name;
    if (id != nullptr) {
      EXPECT_EQ(id->type(), google::protobuf::FieldDescriptor::TYPE_STRING) << name;
      EXPECT_FALSE(id->is_repeated()) << name;
    }
  }
  for (const auto& [name, reason] : Declarative()) {
    EXPECT_TRUE(Trials().count(name) > 0 || Mutations().count(name) > 0) << name;
    EXPECT_NE(reason, "") << name;
  }
}

class Reads : public ::testing::Test {
 protected:
  static constexpr char kQuota[] = "organizations/acme/quotas/RNO2A~gd-8xa100-i128~default";
  static constexpr char kPools[] = "organizations/acme/clusters/example/nodePools/";

  Reads() : muster_({.musterd_flags = {"--resync_interval=24h", "--audit_interval=24h"}}) {
    muster_.ApplyCatalogue();
    muster_.ApplyExample();
    EXPECT_TRUE(muster_.AwaitSettled(1)) << muster_.LogEnds();
    life_ = lv1::LifecycleService::NewStub(muster_.channel());
    const auto leaving = Apply("leaving");
    EXPECT_TRUE(AwaitNodes(2)) << muster_.LogEnds();
    StopReconciling();
    // What the others have not been asked for yet: more Nodes, a pool, and no pool.
    EXPECT_THAT(muster_.Resize(5), IsOk());
    fresh_ = Apply("fresh").uid();
    lv1::DeleteNodePoolRequest remove;
    remove.set_name(leaving.name());
    grpc::ClientContext context;
    lv1::NodePool removed;
    EXPECT_TRUE(life_->DeleteNodePool(&context, remove, &removed).ok());
    const lv1::NodePool pool = muster_.GetPool().value();
    replacements_ = {
        {"$FRESH_POOL", absl::StrCat(kPools, "fresh")},
        {"$LEAVING_POOL", leaving.name()},
        {"$POOL", MiniMuster::kPool},
        {"$FRESH", fresh_},
        {"$UID", pool.uid()},
        {"$QUOTA", kQuota},
        {"$PROFILE", pool.status().node_profile()},
        {"$MACHINE",
         muster_.database().QueryValue(absl::StrCat(
             "SELECT machine FROM lifecycle.node WHERE pool_uid = '", pool.uid(), "'"))},
    };
  }

  lv1::NodePool Apply(const std::string& name) {
    lv1::ApplyNodePoolRequest request;
    request.mutable_node_pool()->set_name(absl::StrCat(kPools, name));
    request.mutable_node_pool()->mutable_spec()->set_instance_type("gd-8xa100-i128");
    request.mutable_node_pool()->mutable_spec()->set_target_nodes(1);
    grpc::ClientContext context;
    lv1::NodePool pool;
    const grpc::Status status = life_->ApplyNodePool(&context, request, &pool);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return pool;
  }

  bool AwaitNodes(int nodes) {
    const absl::Time give_up = absl::Now() + absl::Minutes(1);
    while (muster_.database().QueryValue(
               "SELECT count(*) FROM lifecycle.node WHERE state = 'PRODUCTION'") !=
           absl::StrCat(nodes)) {
      if (absl::Now() > give_up) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return true;
  }

  // Somebody else has the lease; then until what was under way is over.
  void StopReconciling() {
    muster_.database().Execute(
        "UPDATE lifecycle.lease_heartbeat SET holder = 'a test', epoch = epoch + 1,"
        " write_time = now(), expire_time = now() + interval '1 day'");
    std::string before;
    for (int calm = 0; calm < 10;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      const std::string now = Journals();
      calm = now == before ? calm + 1 : 0;
      before = now;
    }
  }

  // Where the four journals stand. Who leads may be told in lifecycle's: that is no answer's doing.
  std::string Journals() {
    std::string text;
    for (const char* schema : {"quota", "capacity", "configuration", "lifecycle"}) {
      absl::StrAppend(&text, schema, " ",
                      muster_.database().QueryValue(absl::StrCat(
                          "SELECT max(revision) FROM ", schema, ".journal WHERE kind <> 'lease'")),
                      " ");
    }
    return text;
  }

  std::string Filled(std::string request) const {
    for (const auto& [word, value] : replacements_)
      request = absl::StrReplaceAll(request, {{word, value}});
    return request;
  }

  // Calls, and of a stream reads until the snapshot has ended.
  absl::Status Call(const MethodDescriptor& method, const std::string& text, bool validate_only) {
    std::unique_ptr<google::protobuf::Message> request(
        google::protobuf::MessageFactory::generated_factory()
            ->GetPrototype(method.input_type())
            ->New());
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(Filled(text), request.get())) << text;
    if (validate_only) {
      request->GetReflection()->SetBool(
          request.get(), method.input_type()->FindFieldByName("validate_only"), true);
      // Nor is the answer kept.
      const auto* id = method.input_type()->FindFieldByName("request_id");
      if (id != nullptr) request->GetReflection()->SetString(request.get(), id, "a-trial");
    }
    answer_.clear();
    trailer_.clear();
    return rpc::FromGrpcStatus(
        CallRaw(muster_.operator_channel(),
                absl::StrCat("/", method.service()->full_name(), "/", method.name()),
                request->SerializeAsString(),
                {.enough =
                     [&](const std::string& answer) {
                       answer_ = answer;
                       return method.server_streaming() && IsSnapshotEnd(method, answer);
                     },
                 .trailer = &trailer_}));
  }

  // The revision that the last answer shows, as its metadata says; where its message has a field for it, it says the same.
  void ExpectRevision(const MethodDescriptor& method) const {
    ASSERT_EQ(trailer_.count("x-muster-revision"), 1);
    const std::string told = trailer_.find("x-muster-revision")->second;
    EXPECT_THAT(told, ::testing::MatchesRegex("[0-9]+"));
    const std::unique_ptr<google::protobuf::Message> message(
        google::protobuf::MessageFactory::generated_factory()
            ->GetPrototype(method.output_type())
            ->New());
    ASSERT_TRUE(message->ParseFromString(answer_));
    const auto* field = method.output_type()->FindFieldByName("revision");
    if (field != nullptr) {
      EXPECT_EQ(told, absl::StrCat(message->GetReflection()->GetInt64(*message, field)));
    }
  }

  static bool IsSnapshotEnd(const MethodDescriptor& method, const std::string& bytes) {
    std::unique_ptr<google::protobuf::Message> message(
        google::protobuf::MessageFactory::generated_factory()
            ->GetPrototype(method.output_type())
            ->New());
    EXPECT_TRUE(message->ParseFromString(bytes));
    return message->GetReflection()->GetEnumValue(*message,
                                                  method.output_type()->FindFieldByName("type")) ==
           type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END;
  }

  MiniMuster muster_;
  std::unique_ptr<lv1::LifecycleService::Stub> life_;
  std::string fresh_;
  std::string answer_;                                             // the last one
  std::multimap<std::string, std::string> trailer_;                // of the last call
  std::vector<std::pair<std::string, std::string>> replacements_;  // longer words first
};

TEST_F(Reads, NoJournalMoves) {
  for (const MethodDescriptor* method : Methods()) {
    const std::string name = NameOf(*method);
    const bool is_trial = Trials().count(name) > 0;
    if (Mutations().count(name) > 0) continue;
    for (const std::string& request : is_trial ? Trials().at(name) : Questions().at(name)) {
      SCOPED_TRACE(absl::StrCat(name, " {", request, "}"));
      const std::string before = Journals();
      const absl::Status status = Call(*method, request, is_trial);
      // A trial may be refused for what the pool is; a malformed request would show nothing.
      EXPECT_TRUE(status.ok() || (is_trial && absl::IsFailedPrecondition(status))) << status;
      EXPECT_EQ(Journals(), before);
      if (status.ok() && !method->server_streaming() &&
          method->service()->full_name() != debug::v1::DebugService::service_full_name()) {
        ExpectRevision(*method);
      }
    }
  }
  EXPECT_EQ(muster_.CompareStates(), "");
}

}  // namespace
}  // namespace muster::testing
