#include "tests/kubernetes/adapter/adapter_test_base.h"

#include <grpcpp/grpcpp.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

constexpr char kPools[] = "organizations/acme/clusters/example/nodePools/";

std::string PodPath(const std::string& name) { return absl::StrCat(kDefaultPodsPath, "/", name); }

std::string Entry(const Json& object, const char* map, absl::string_view key) {
  const Json& metadata = object.at("metadata");
  const auto found = metadata.find(map);
  return found == metadata.end() ? "" : found->value(std::string(key), "");
}

}  // namespace

void AdapterTestBase::TearDown() {
  if (HasFailure()) std::cerr << stack().LogEnds();
  for (const std::string& pod : pods_) EndPod(pod);
  for (const std::string& pool : pools_)
    (void)stack().client().Delete(absl::StrCat(kNodePoolsPath, "/", pool));
  for (const std::string& node : registered_)
    (void)stack().client().Delete(absl::StrCat(kNodesPath, "/", node));
}

std::string AdapterTestBase::Name(absl::string_view prefix) {
  static int number = 0;
  return absl::StrCat(prefix, "-", ++number);
}

Json AdapterTestBase::PoolObject(const std::string& name, const Json& spec) {
  Json pool = AdapterStack::ExampleNodePool();
  pool["metadata"]["name"] = name;
  pool["spec"].merge_patch(spec);
  return pool;
}

Json AdapterTestBase::CreatePool(const std::string& name, const Json& spec) {
  pools_.push_back(name);
  return stack().Create(PoolObject(name, spec));
}

std::string AdapterTestBase::CreateHealthyPool(const std::string& name, const Json& spec) {
  const Json pool = CreatePool(name, spec);
  if (!stack().AwaitHealthy(name, pool["spec"]["targetNodes"]))
    throw std::runtime_error("not healthy: " + stack().GetNodePool(name).dump(2));
  return pool["metadata"]["uid"];
}

void AdapterTestBase::PatchSpec(const std::string& name, const Json& spec) {
  stack().PatchNodePool(name, {{"spec", spec}});
}

bool AdapterTestBase::AwaitReason(const std::string& pool, const std::string& type,
                                  const std::string& reason) {
  return stack().AwaitNodePool(pool, [&](const Json& object) {
    const Json condition = ConditionOf(object, type);
    return !condition.is_null() && condition["reason"] == reason &&
           condition["observedGeneration"] == object["metadata"]["generation"];
  });
}

bool AdapterTestBase::AwaitEvent(const std::string& object, const std::string& reason) {
  return stack().Await(kEventsPath, [&](const AdapterStack::Objects& events) {
    return std::any_of(events.begin(), events.end(), [&](const auto& event) {
      // The API server has events of its own, with less in them.
      return event.second.value(Json::json_pointer("/regarding/name"), "") == object &&
             event.second.value("reason", "") == reason;
    });
  });
}

std::vector<Json> AdapterTestBase::NodesOf(const std::string& pool_uid) {
  std::vector<Json> nodes;
  for (const Json& node : stack().Nodes()) {
    if (LabelOf(node, kPoolUidLabel) == pool_uid) nodes.push_back(node);
  }
  return nodes;
}

std::vector<std::string> AdapterTestBase::NodeNamesOf(const std::string& pool_uid) {
  std::vector<std::string> names;
  for (const Json& node : NodesOf(pool_uid)) names.push_back(node["metadata"]["name"]);
  std::sort(names.begin(), names.end());
  return names;
}

bool AdapterTestBase::AwaitNode(const std::string& name,
                                const std::function<bool(const Json&)>& wanted) {
  return stack().Await(kNodesPath, [&](const AdapterStack::Objects& nodes) {
    const auto found = nodes.find(name);
    return wanted(found == nodes.end() ? Json(nullptr) : found->second);
  });
}

bool AdapterTestBase::AwaitGone(const std::string& node) {
  return AwaitNode(node, [](const Json& object) { return object.is_null(); });
}

bool AdapterTestBase::AwaitActive(const std::string& node, bool active) {
  return AwaitNode(node, [&](const Json& object) {
    return ConditionOf(object, "CWActive").value("status", "") == (active ? "True" : "False");
  });
}

AdapterStack::Options AdapterTestBase::WithoutKubelets() {
  AdapterStack::Options options;
  options.muster.fleetsim_flags = {"--boot_time=1h", "--terminate_time=100ms",
                                   "--work_duration=24h", "--seed=7",
                                   "--kube_cluster=organizations/acme/clusters/elsewhere"};
  return options;
}

std::string AdapterTestBase::Deliver(const std::string& pool, const Json& spec) {
  CreatePool(pool, spec);
  const bool boots = stack().AwaitNodePool(pool, [](const Json& object) {
    return object.contains("status") && object["status"].value("inProgress", 0) == 1;
  });
  if (!boots) throw std::runtime_error("no machine came");
  return MusterNodesOf(pool).at(0).machine();
}

void AdapterTestBase::Register(const std::string& name, const std::string& provider_id,
                               const Json& annotations) {
  const Json ready = {{"type", "Ready"}, {"status", "True"}, {"reason", "KubeletReady"}};
  const auto made = stack().client().Create(
      kNodesPath, {{"apiVersion", "v1"},
                   {"kind", "Node"},
                   {"metadata", {{"name", name}, {"annotations", annotations}}},
                   {"spec", {{"providerID", provider_id}}},
                   {"status", {{"conditions", Json::array({ready})}}}});
  ASSERT_TRUE(made.ok()) << made.status();
  registered_.push_back(name);
}

void AdapterTestBase::SetReady(const std::string& node, bool ready) {
  const Json condition = {
      {"type", "Ready"},
      {"status", ready ? "True" : "False"},
      {"reason", ready ? "KubeletReady" : "KubeletNotReady"},
      {"message", ready ? "" : "PLEG is not healthy"},
      // After now though the rest of a second is cut off.
      {"lastHeartbeatTime", absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now() + absl::Seconds(1),
                                             absl::UTCTimeZone())}};
  const auto written = stack().client().Patch(
      kubernetes::PatchType::kApply, absl::StrCat(kNodesPath, "/", node, "/status"),
      {{"apiVersion", "v1"},
       {"kind", "Node"},
       {"metadata", {{"name", node}}},
       {"status", {{"conditions", Json::array({condition})}}}},
      {{"fieldManager", "kubelet"}, {"force", "true"}});
  ASSERT_TRUE(written.ok()) << written.status();
}

std::vector<std::string> AdapterTestBase::TakeOver(const std::vector<std::string>& pools) {
  std::vector<std::string> machines;
  for (const std::string& pool : pools) {
    machines.push_back(Deliver(pool));
    Until([&] { return !MusterNodesOf(pool).at(0).desired().node_profile().empty(); },
          "the order to boot");
  }
  stack().KillAdapter();
  for (const std::string& machine : machines) {
    Register(machine, absl::StrCat("muster://RNO2A/", machine),
             {{"node.coreweave.cloud/node-create-time", "2020-01-01T00:00:00.000000Z"}});
    SetReady(machine, true);
  }
  return machines;
}

bool AdapterTestBase::AwaitState(const std::string& node, const std::string& state) {
  return AwaitNode(node, [&](const Json& object) { return LabelOf(object, kState) == state; });
}

void AdapterTestBase::JoinAs(const std::string& machine) {
  // Muster may give a machine away before the v1 Node of its former life is deleted.
  if (!AwaitGone(machine)) throw std::runtime_error("a former Node stays: " + machine);
  Register(machine, absl::StrCat("muster://RNO2A/", machine));
  const bool settled = AwaitNode(machine, [](const Json& object) {
    return LabelOf(object, kState) == "production" && !ConditionOf(object, "CWActive").is_null();
  });
  if (!settled) throw std::runtime_error("no Node: " + stack().GetNode(machine).dump(2));
}

std::string AdapterTestBase::Join(const std::string& pool, const Json& spec) {
  const std::string machine = Deliver(pool, spec);
  JoinAs(machine);
  return machine;
}

bool AdapterTestBase::AwaitNodeNames(const std::string& pool_uid,
                                     const std::vector<std::string>& names) {
  return stack().Await(kNodesPath, [&](const AdapterStack::Objects& nodes) {
    std::vector<std::string> there;
    for (const auto& [name, node] : nodes) {
      if (LabelOf(node, kPoolUidLabel) == pool_uid) there.push_back(name);
    }
    return there == names;
  });
}

Json AdapterTestBase::CreatePod(const std::string& name, const std::string& node,
                                const Json& changes) {
  const Json container = {{"name", "main"}, {"image", "none"}};
  Json pod = {{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata", {{"name", name}, {"namespace", "default"}}},
              {"spec",
               {{"nodeName", node},
                {"terminationGracePeriodSeconds", 1},
                {"containers", Json::array({container})}}}};
  pod.merge_patch(changes);
  const auto made = stack().client().Create(kDefaultPodsPath, pod);
  if (!made.ok()) throw std::runtime_error(made.status().ToString());
  pods_.push_back(name);
  const auto running =
      stack().client().Patch(kubernetes::PatchType::kMerge, PodPath(name) + "/status",
                             {{"status", {{"phase", "Running"}}}});
  return running.ok() ? *running : *made;
}

void AdapterTestBase::EndPod(const std::string& name) {
  (void)stack().client().Delete(
      PodPath(name), {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"gracePeriodSeconds", 0}});
}

bool AdapterTestBase::AwaitPod(const std::string& name,
                               const std::function<bool(const Json&)>& wanted) {
  return stack().Await(kDefaultPodsPath, [&](const AdapterStack::Objects& pods) {
    const auto found = pods.find("default/" + name);
    return wanted(found == pods.end() ? Json(nullptr) : found->second);
  });
}

void AdapterTestBase::Guard(const std::string& name, const std::string& app) {
  const auto made = stack().client().Create(
      kBudgetsPath,
      {{"apiVersion", "policy/v1"},
       {"kind", "PodDisruptionBudget"},
       {"metadata", {{"name", name}, {"namespace", "default"}}},
       {"spec", {{"minAvailable", 1}, {"selector", {{"matchLabels", {{"app", app}}}}}}}});
  ASSERT_TRUE(made.ok()) << made.status();
  stack().server().SettleBudgets();
}

void AdapterTestBase::AwaitAccepted() {
  Until(
      [&] {
        const auto lease = stack().client().Get(kAdapterLease);
        return lease.ok() && !AnnotationOf(*lease, "compute.coreweave.com/history").empty();
      },
      "the acceptance of Muster's history");
}

void AdapterTestBase::Ctl(const std::vector<std::string>& words) {
  const Finished finished = stack().muster().Ctl(words);
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
}

void AdapterTestBase::ApplyToMuster(const std::string& manifest) {
  const std::string file = ::testing::TempDir() + Name("manifest") + std::to_string(getpid());
  std::ofstream(file) << manifest;
  Ctl({"apply", "-f", file});
  std::remove(file.c_str());
}

lifecycle::v1::NodePool AdapterTestBase::MusterPool(const std::string& name) {
  grpc::ClientContext context;
  lifecycle::v1::GetNodePoolRequest request;
  request.set_name(absl::StrCat(kPools, name));
  lifecycle::v1::NodePool pool;
  const auto stub = lifecycle::v1::LifecycleService::NewStub(stack().muster().channel());
  const grpc::Status status = stub->GetNodePool(&context, request, &pool);
  if (!status.ok()) throw std::runtime_error(status.error_message());
  return pool;
}

std::vector<lifecycle::v1::Node> AdapterTestBase::MusterNodesOf(const std::string& pool) {
  grpc::ClientContext context;
  lifecycle::v1::ListNodesRequest request;
  request.set_parent(absl::StrCat(kPools, pool));
  lifecycle::v1::ListNodesResponse response;
  const auto stub = lifecycle::v1::LifecycleService::NewStub(stack().muster().channel());
  const grpc::Status status = stub->ListNodes(&context, request, &response);
  if (!status.ok()) throw std::runtime_error(status.error_message());
  return {response.nodes().begin(), response.nodes().end()};
}

std::string LabelOf(const Json& object, absl::string_view key) {
  return object.is_null() ? "" : Entry(object, "labels", key);
}

std::string AnnotationOf(const Json& object, absl::string_view key) {
  return object.is_null() ? "" : Entry(object, "annotations", key);
}

Json TaintOf(const Json& node, absl::string_view key) {
  if (node.is_null()) return nullptr;
  for (const Json& taint : node.at("spec").value("taints", Json::array())) {
    if (taint["key"] == std::string(key)) return taint;
  }
  return nullptr;
}

bool IsCordoned(const Json& node) {
  return !node.is_null() && node.at("spec").value("unschedulable", false);
}

bool IsLeaving(const Json& object) {
  return object.is_null() || object.at("metadata").contains("deletionTimestamp");
}

}  // namespace muster::testing
