#include "tests/integration/every_rpc.h"

#include <muster/capacity/v1/capacity_service.pb.h>
#include <muster/configuration/v1/configuration_service.pb.h>
#include <muster/debug/v1/debug_service.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.pb.h>
#include <muster/quota/v1/quota_service.pb.h>

#include "absl/strings/str_cat.h"

namespace muster::testing {

using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;

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

const std::set<std::string>& Mutations() {
  static const auto& mutations = *new std::set<std::string>{
      "QuotaService.SyncHolding",  "QuotaService.BatchSyncHoldings",
      "CapacityService.SyncClaim", "CapacityService.BatchSyncClaims",
      "DebugService.SetLogLevel",  "LifecycleService.ReportNodes",
  };
  return mutations;
}

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
                           lifecycle::v1::GetNodePoolRequest::descriptor()->file(),
                           debug::v1::PingRequest::descriptor()->file()}) {
    const ServiceDescriptor* service = file->service(0);
    for (int i = 0; i < service->method_count(); ++i) methods.push_back(service->method(i));
  }
  return methods;
}

std::string NameOf(const MethodDescriptor& method) {
  return absl::StrCat(method.service()->name(), ".", method.name());
}

}  // namespace muster::testing
