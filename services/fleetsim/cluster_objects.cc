#include "services/fleetsim/cluster_objects.h"

#include <algorithm>
#include <optional>

#include "absl/numeric/int128.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "services/common/condition_names.h"

namespace muster::fleetsim {
namespace {

using kubernetes::IsTrue;
using kubernetes::MemberOf;
using kubernetes::NumberOf;
using kubernetes::TextOf;

constexpr char kManagedBy[] = "app.kubernetes.io/managed-by";
constexpr char kComponent[] = "app.kubernetes.io/component";
constexpr char kWork[] = "work";
constexpr int kLeaseSeconds = 40;  // as a kubelet's
constexpr char kImage[] = "registry.k8s.io/pause:3.10";

std::string KubernetesTime(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

bool WeSaidUnschedulable(const Json& managed) {
  return managed.is_array() && std::any_of(managed.begin(), managed.end(), [](const Json& entry) {
           return TextOf(MemberOf(entry, "manager")) == kFieldManager &&
                  TextOf(MemberOf(entry, "operation")) == "Apply" &&
                  !MemberOf(entry, "fieldsV1", "f:spec", "f:unschedulable").is_null();
         });
}

// The value of a quantity that is a whole number with a suffix or none; nullopt: it is not.
std::optional<absl::uint128> AmountOf(const Json& quantity) {
  constexpr absl::string_view kDecimal = "kMGTP";
  constexpr absl::string_view kBinary = "KMGTP";
  const std::string text = TextOf(quantity);
  const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const absl::string_view suffix = absl::string_view(text).substr(end);
  uint64_t number = 0;
  if (!absl::SimpleAtoi(text.substr(0, end), &number)) return std::nullopt;
  const bool binary = suffix.size() == 2 && suffix[1] == 'i';
  if (suffix.size() > 1 && !binary) return std::nullopt;
  size_t power = 0;
  if (!suffix.empty()) {
    power = (binary ? kBinary : kDecimal).find(suffix[0]);
    if (power == absl::string_view::npos) return std::nullopt;
    ++power;
  }
  absl::uint128 amount = number;
  for (size_t i = 0; i < power; ++i) amount *= binary ? 1024 : 1000;
  return amount;
}

Json Condition(const char* type, const char* status, const std::string& reason,
               const std::string& message, absl::Time now) {
  return {{"type", type},
          {"status", status},
          {"reason", reason},
          {"message", message},
          {"lastHeartbeatTime", KubernetesTime(now)},
          {"lastTransitionTime", KubernetesTime(now)}};
}

Json StatusOf(const DesiredMachine& desired, absl::Time now) {
  const Json resources = ResourcesOf(desired.hardware);
  const Json conditions = {
      Condition("Ready", desired.ready ? condition_status::kTrue : condition_status::kFalse,
                desired.reason, desired.message, now),
      Condition("MemoryPressure", condition_status::kFalse, "KubeletHasSufficientMemory",
                "kubelet has sufficient memory available", now),
      Condition("DiskPressure", condition_status::kFalse, "KubeletHasNoDiskPressure",
                "kubelet has no disk pressure", now),
      Condition("PIDPressure", condition_status::kFalse, "KubeletHasSufficientPID",
                "kubelet has sufficient PID available", now)};
  const Json address = {{"type", "Hostname"}, {"address", desired.machine}};
  return {{"capacity", resources},
          {"allocatable", resources},
          {"addresses", Json::array({address})},
          {"conditions", conditions},
          {"nodeInfo",
           {{"machineID", desired.machine},
            {"systemUUID", desired.machine},
            {"bootID", desired.boot_id},
            {"kernelVersion", "simulated"},
            {"osImage", "simulated"},
            {"containerRuntimeVersion", "fleetsim://1"},
            {"kubeletVersion", "fleetsim"},
            {"kubeProxyVersion", ""},
            {"operatingSystem", "linux"},
            {"architecture", desired.hardware.architecture}}}};
}

// The beginning of a patch that is for this very Node, by its uid.
Json Frame(const NodeSeen& node) {
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata", {{"name", node.name}, {"uid", node.uid}}}};
}

Json NewPod(const std::string& name, absl::string_view machine, const std::string& component) {
  const Json container = {{"name", component}, {"image", kImage}};
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata",
           {{"name", name}, {"labels", {{kManagedBy, kFieldManager}, {kComponent, component}}}}},
          {"spec",
           {{"nodeName", std::string(machine)},
            {"automountServiceAccountToken", false},
            {"containers", Json::array({container})}}}};
}

}  // namespace

bool IsOfObject(const absl::Status& status) {
  return absl::IsAborted(status) || absl::IsNotFound(status) || absl::IsAlreadyExists(status) ||
         absl::IsInvalidArgument(status) || absl::IsPermissionDenied(status);
}

std::string PodSeen::path() const { return absl::StrCat(PodsPath(name_space), "/", name); }

NodeSeen ReadNode(const Json& object) {
  const Json& metadata = MemberOf(object, "metadata");
  NodeSeen node;
  node.name = TextOf(MemberOf(metadata, "name"));
  node.uid = TextOf(MemberOf(metadata, "uid"));
  node.resource_version = TextOf(MemberOf(metadata, "resourceVersion"));
  node.life = TextOf(MemberOf(metadata, "annotations", kLifeAnnotation));
  node.deleting = !MemberOf(metadata, "deletionTimestamp").is_null();
  node.capacity = MemberOf(object, "status", "capacity");
  node.boot_id = TextOf(MemberOf(object, "status", "nodeInfo", "bootID"));
  if (const Json& conditions = MemberOf(object, "status", "conditions"); conditions.is_array()) {
    for (const Json& condition : conditions) {
      if (TextOf(MemberOf(condition, "type")) != "Ready") continue;
      node.ready = TextOf(MemberOf(condition, "status")) == condition_status::kTrue;
      node.unknown = TextOf(MemberOf(condition, "status")) == condition_status::kUnknown;
      node.reason = TextOf(MemberOf(condition, "reason"));
    }
  }
  if (MemberOf(object, "spec", "taints").is_array())
    node.taints = MemberOf(object, "spec", "taints");
  node.cordoned = IsTrue(MemberOf(object, "spec", "unschedulable")) &&
                  WeSaidUnschedulable(MemberOf(metadata, "managedFields"));
  return node;
}

PodSeen ReadPod(const Json& object) {
  const Json& metadata = MemberOf(object, "metadata");
  const std::string phase = TextOf(MemberOf(object, "status", "phase"));
  PodSeen pod;
  pod.name_space = TextOf(MemberOf(metadata, "namespace"));
  pod.name = TextOf(MemberOf(metadata, "name"));
  pod.uid = TextOf(MemberOf(metadata, "uid"));
  pod.resource_version = TextOf(MemberOf(metadata, "resourceVersion"));
  pod.node = TextOf(MemberOf(object, "spec", "nodeName"));
  pod.work = TextOf(MemberOf(metadata, "labels", kManagedBy)) == kFieldManager &&
             TextOf(MemberOf(metadata, "labels", kComponent)) == kWork;
  pod.pending = phase.empty() || phase == "Pending";
  const std::string deletion = TextOf(MemberOf(metadata, "deletionTimestamp"));
  pod.deleting = !deletion.empty();
  if (!absl::ParseTime(absl::RFC3339_full, deletion, &pod.deletion_time, nullptr))
    pod.deletion_time = absl::InfinitePast();
  pod.grace_period = absl::Seconds(NumberOf(MemberOf(metadata, "deletionGracePeriodSeconds")));
  const Json& finalizers = MemberOf(metadata, "finalizers");
  pod.held = finalizers.is_array() && !finalizers.empty();
  return pod;
}

std::string LifeMark(const DesiredMachine& desired) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E9SZ", desired.create_time, absl::UTCTimeZone());
}

std::string NodePath(absl::string_view machine) { return absl::StrCat("/api/v1/nodes/", machine); }

std::string PodsPath(absl::string_view name_space) {
  return absl::StrCat("/api/v1/namespaces/", name_space, "/pods");
}

Json ResourcesOf(const Hardware& hardware) {
  Json resources = {{"cpu", absl::StrCat(hardware.cpus)},
                    {"memory", absl::StrCat(hardware.memory_kib, "Ki")},
                    {"ephemeral-storage", absl::StrCat(hardware.storage_kib, "Ki")},
                    {"pods", absl::StrCat(hardware.pods)}};
  if (hardware.gpus > 0) resources["nvidia.com/gpu"] = absl::StrCat(hardware.gpus);
  return resources;
}

bool HasResources(const Json& capacity, const Hardware& hardware) {
  const Json resources = ResourcesOf(hardware);
  for (const auto& [resource, quantity] : resources.items()) {
    const auto there = AmountOf(MemberOf(capacity, resource.c_str()));
    if (!there || there != AmountOf(quantity)) return false;
  }
  return true;
}

Json NewNode(const DesiredMachine& desired, absl::Time now) {
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata",
           {{"name", desired.machine},
            {"annotations", {{kLifeAnnotation, LifeMark(desired)}}},
            {"labels",
             {{"kubernetes.io/hostname", desired.machine},
              {"kubernetes.io/os", "linux"},
              {"kubernetes.io/arch", desired.hardware.architecture}}}}},
          {"spec", {{"providerID", absl::StrCat("muster://", desired.zone, "/", desired.machine)}}},
          {"status", StatusOf(desired, now)}};
}

Json NodeStatus(const DesiredMachine& desired, const NodeSeen& node, absl::Time now) {
  Json patch = Frame(node);
  patch["status"] = StatusOf(desired, now);
  return patch;
}

Json TaintsPatch(const NodeSeen& node, Json taints) {
  return {{"metadata", {{"uid", node.uid}, {"resourceVersion", node.resource_version}}},
          {"spec", {{"taints", std::move(taints)}}}};
}

Json CordonPatch(const NodeSeen& node, bool cordoned) {
  Json patch = Frame(node);
  if (cordoned) patch["spec"] = {{"unschedulable", true}};
  return patch;
}

std::string LeasePath(absl::string_view node) { return absl::StrCat(kLeasesPath, "/", node); }

Json NodeLease(const std::string& node, const std::string& uid, absl::Time now) {
  const Json owner = {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}, {"uid", uid}};
  return {{"apiVersion", "coordination.k8s.io/v1"},
          {"kind", "Lease"},
          {"metadata", {{"name", node}, {"ownerReferences", Json::array({owner})}}},
          {"spec",
           {{"holderIdentity", node},
            {"leaseDurationSeconds", kLeaseSeconds},
            {"renewTime", absl::FormatTime("%E4Y-%m-%dT%H:%M:%E6SZ", now, absl::UTCTimeZone())}}}};
}

std::string WorkPodName(absl::string_view machine, uint32_t work, int64_t index) {
  return absl::StrCat("work-", machine, "-", work, "-", index);
}

std::string DaemonPodName(absl::string_view machine, int64_t index) {
  return absl::StrCat("daemon-", machine, "-", index);
}

Json WorkPod(absl::string_view machine, const Work& work, int64_t index,
             absl::Duration grace_period) {
  Json pod = NewPod(WorkPodName(machine, work.number, index), machine, kWork);
  pod["spec"]["terminationGracePeriodSeconds"] =
      std::max<int64_t>(1, absl::ToInt64Seconds(absl::Ceil(grace_period, absl::Seconds(1))));
  Json& labels = pod["metadata"]["labels"];
  switch (work.kind) {
    case Work::Class::kInterruptible:
      labels["qos.coreweave.cloud/interruptable"] = "true";
      break;
    case Work::Class::kGraceful:
      labels["qos.coreweave.cloud/graceful-interruptible"] = "true";
      break;
    case Work::Class::kGuarded:
      break;
  }
  return pod;
}

Json DaemonPod(absl::string_view machine, int64_t index) {
  Json pod = NewPod(DaemonPodName(machine, index), machine, "daemon");
  // There is no such DaemonSet: where objects without their owners are collected, this one is too.
  const Json owner = {{"apiVersion", "apps/v1"},
                      {"kind", "DaemonSet"},
                      {"name", absl::StrCat("fleetsim-daemon-", index)},
                      {"uid", absl::StrCat("fleetsim-daemon-", index)},
                      {"controller", true}};
  pod["metadata"]["ownerReferences"] = Json::array({owner});
  const Json everything = {{"operator", "Exists"}};
  pod["spec"]["tolerations"] = Json::array({everything});
  return pod;
}

Json RunningPatch(const PodSeen& pod, absl::Time now) {
  Json conditions = Json::array();
  for (const char* type : {"PodScheduled", "Initialized", "ContainersReady", "Ready"}) {
    conditions.push_back(Json::object({{"type", type},
                                       {"status", condition_status::kTrue},
                                       {"lastTransitionTime", KubernetesTime(now)}}));
  }
  return {{"metadata", {{"uid", pod.uid}}},
          {"status",
           {{"phase", "Running"},
            {"startTime", KubernetesTime(now)},
            {"conditions", std::move(conditions)}}}};
}

}  // namespace muster::fleetsim
