#include "services/fleetsim/cluster_objects.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace muster::fleetsim {
namespace {

constexpr char kManagedBy[] = "app.kubernetes.io/managed-by";
constexpr char kComponent[] = "app.kubernetes.io/component";
constexpr char kWork[] = "work";
constexpr char kImage[] = "registry.k8s.io/pause:3.10";

const Json& At(const Json& object, const char* key) {
  static const Json& null = *new Json;
  if (!object.is_object()) return null;
  const auto it = object.find(key);
  return it == object.end() ? null : *it;
}

template <class... Keys>
const Json& At(const Json& object, const char* key, Keys... keys) {
  return At(At(object, key), keys...);
}

std::string Text(const Json& value) { return value.is_string() ? value.get<std::string>() : ""; }

bool IsTrue(const Json& value) { return value.is_boolean() && value.get<bool>(); }

std::string KubernetesTime(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

bool WeSaidUnschedulable(const Json& managed) {
  return managed.is_array() && std::any_of(managed.begin(), managed.end(), [](const Json& entry) {
           return Text(At(entry, "manager")) == kFieldManager &&
                  Text(At(entry, "operation")) == "Apply" &&
                  !At(entry, "fieldsV1", "f:spec", "f:unschedulable").is_null();
         });
}

// `gd-8xh100ib-i128` has 8.
int64_t GpusOf(absl::string_view instance_type) {
  for (size_t end = 1; end < instance_type.size(); ++end) {
    if (instance_type[end] != 'x') continue;
    size_t begin = end;
    while (begin > 0 && absl::ascii_isdigit(static_cast<unsigned char>(instance_type[begin - 1])))
      --begin;
    int64_t gpus = 0;
    const bool word = begin > 0 && instance_type[begin - 1] == '-';
    if (word && absl::SimpleAtoi(instance_type.substr(begin, end - begin), &gpus)) return gpus;
  }
  return 0;
}

// Grace CPUs are the ones that are not x86.
std::string ArchitectureOf(absl::string_view instance_type) {
  const bool arm = absl::StartsWith(instance_type, "gb") || absl::StartsWith(instance_type, "gh");
  return arm ? "arm64" : "amd64";
}

Json StatusOf(const Wish& wish, absl::Time now) {
  Json resources = {
      {"cpu", "128"}, {"memory", "2Ti"}, {"ephemeral-storage", "7Ti"}, {"pods", "110"}};
  const int64_t gpus = GpusOf(wish.instance_type);
  if (gpus > 0) resources["nvidia.com/gpu"] = absl::StrCat(gpus);
  const Json ready = {{"type", "Ready"},
                      {"status", wish.ready ? "True" : "False"},
                      {"reason", wish.reason},
                      {"message", wish.message},
                      {"lastHeartbeatTime", KubernetesTime(now)},
                      {"lastTransitionTime", KubernetesTime(now)}};
  const Json address = {{"type", "Hostname"}, {"address", wish.machine}};
  const std::string architecture = ArchitectureOf(wish.instance_type);
  return {{"capacity", resources},
          {"allocatable", resources},
          {"addresses", Json::array({address})},
          {"conditions", Json::array({ready})},
          {"nodeInfo",
           {{"machineID", wish.machine},
            {"systemUUID", wish.machine},
            {"bootID", LifeMark(wish)},
            {"kernelVersion", "simulated"},
            {"osImage", "simulated"},
            {"containerRuntimeVersion", "fleetsim://1"},
            {"kubeletVersion", "fleetsim"},
            {"kubeProxyVersion", ""},
            {"operatingSystem", "linux"},
            {"architecture", architecture}}}};
}

// What a patch of this very Node begins with.
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

std::string PodSeen::path() const { return absl::StrCat(PodsPath(name_space), "/", name); }

NodeSeen ReadNode(const Json& object) {
  const Json& metadata = At(object, "metadata");
  NodeSeen node;
  node.name = Text(At(metadata, "name"));
  node.uid = Text(At(metadata, "uid"));
  node.version = Text(At(metadata, "resourceVersion"));
  node.life = Text(At(metadata, "annotations", kLifeAnnotation));
  node.deleting = !At(metadata, "deletionTimestamp").is_null();
  node.has_capacity = !At(object, "status", "capacity").is_null();
  if (const Json& conditions = At(object, "status", "conditions"); conditions.is_array()) {
    for (const Json& condition : conditions) {
      if (Text(At(condition, "type")) != "Ready") continue;
      node.ready = Text(At(condition, "status")) == "True";
      node.reason = Text(At(condition, "reason"));
    }
  }
  if (At(object, "spec", "taints").is_array()) node.taints = At(object, "spec", "taints");
  node.cordoned = IsTrue(At(object, "spec", "unschedulable")) &&
                  WeSaidUnschedulable(At(metadata, "managedFields"));
  return node;
}

PodSeen ReadPod(const Json& object) {
  const Json& metadata = At(object, "metadata");
  const std::string phase = Text(At(object, "status", "phase"));
  PodSeen pod;
  pod.name_space = Text(At(metadata, "namespace"));
  pod.name = Text(At(metadata, "name"));
  pod.uid = Text(At(metadata, "uid"));
  pod.version = Text(At(metadata, "resourceVersion"));
  pod.node = Text(At(object, "spec", "nodeName"));
  pod.work = Text(At(metadata, "labels", kManagedBy)) == kFieldManager &&
             Text(At(metadata, "labels", kComponent)) == kWork;
  pod.pending = phase.empty() || phase == "Pending";
  const std::string deletion = Text(At(metadata, "deletionTimestamp"));
  pod.deleting = !deletion.empty();
  if (!absl::ParseTime(absl::RFC3339_full, deletion, &pod.deletion_time, nullptr))
    pod.deletion_time = absl::InfinitePast();
  const Json& grace = At(metadata, "deletionGracePeriodSeconds");
  if (grace.is_number_integer()) pod.grace_period = absl::Seconds(grace.get<int64_t>());
  const Json& finalizers = At(metadata, "finalizers");
  pod.held = finalizers.is_array() && !finalizers.empty();
  return pod;
}

std::string LifeMark(const Wish& wish) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E9SZ", wish.create_time, absl::UTCTimeZone());
}

std::string NodePath(absl::string_view machine) { return absl::StrCat("/api/v1/nodes/", machine); }

std::string PodsPath(absl::string_view name_space) {
  return absl::StrCat("/api/v1/namespaces/", name_space, "/pods");
}

Json NewNode(const Wish& wish, absl::Time now) {
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata",
           {{"name", wish.machine},
            {"annotations", {{kLifeAnnotation, LifeMark(wish)}}},
            {"labels",
             {{"kubernetes.io/hostname", wish.machine},
              {"kubernetes.io/os", "linux"},
              {"kubernetes.io/arch", ArchitectureOf(wish.instance_type)}}}}},
          {"spec", {{"providerID", absl::StrCat("muster://", wish.zone, "/", wish.machine)}}},
          {"status", StatusOf(wish, now)}};
}

Json NodeStatus(const Wish& wish, const NodeSeen& node, absl::Time now) {
  Json patch = Frame(node);
  patch["status"] = StatusOf(wish, now);
  return patch;
}

Json TaintsPatch(const NodeSeen& node, Json taints) {
  return {{"metadata", {{"uid", node.uid}, {"resourceVersion", node.version}}},
          {"spec", {{"taints", std::move(taints)}}}};
}

Json CordonPatch(const NodeSeen& node, bool cordoned) {
  Json patch = Frame(node);
  if (cordoned) patch["spec"] = {{"unschedulable", true}};
  return patch;
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
    conditions.push_back(Json::object(
        {{"type", type}, {"status", "True"}, {"lastTransitionTime", KubernetesTime(now)}}));
  }
  return {{"metadata", {{"uid", pod.uid}}},
          {"status",
           {{"phase", "Running"},
            {"startTime", KubernetesTime(now)},
            {"conditions", std::move(conditions)}}}};
}

}  // namespace muster::fleetsim
