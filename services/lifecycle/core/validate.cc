#include "services/lifecycle/core/validate.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "services/common/resource_name.h"
#include "services/lifecycle/core/budget.h"
#include "services/lifecycle/core/limits.h"

namespace muster::lifecycle {
namespace {

constexpr char kReservedDomain[] =
    "Namespaces `*.coreweave.cloud` or `*.coreweave.com` are not allowed.";
constexpr char kAllowedReservedKey[] = "cks.coreweave.cloud/system-critical";
constexpr char kBadKey[] = "is not a valid Kubernetes label key";

// `value` must be one of `words` or empty.
void CheckWord(Faults& faults, absl::string_view field, absl::string_view value,
               std::initializer_list<absl::string_view> words, absl::string_view list) {
  if (value.empty() || std::find(words.begin(), words.end(), value) != words.end()) return;
  faults.Add(field, absl::StrCat("must be ", list));
}

bool IsReserved(absl::string_view key) {
  if (key == kAllowedReservedKey) return false;
  const size_t slash = key.find('/');
  if (slash == absl::string_view::npos) return false;
  const absl::string_view domain = key.substr(0, slash);
  for (const absl::string_view reserved : {"coreweave.cloud", "coreweave.com"}) {
    if (domain == reserved || absl::EndsWith(domain, absl::StrCat(".", reserved))) return true;
  }
  return false;
}

bool IsPrintable(absl::string_view text, size_t max_size) {
  return text.size() <= max_size && std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isgraph(static_cast<unsigned char>(c));
         });
}

// Labels, annotations and taints can be many; `field[key]` names one.
std::string At(absl::string_view field, absl::string_view key) {
  return absl::StrCat(field, "[", key, "]");
}

constexpr char kOfKubernetes[] = "is put on and taken off by Kubernetes itself";

void CheckLabels(Faults& faults, const StringMap& labels) {
  constexpr char kField[] = "spec.nodeLabels";
  if (labels.size() > kMaxNodeLabels) {
    return faults.Add(kField, absl::StrCat("must have at most ", kMaxNodeLabels, " entries"));
  }
  for (const auto& [key, value] : labels) {
    if (!IsLabelKey(key)) faults.Add(At(kField, key), kBadKey);
    if (IsReserved(key)) faults.Add(At(kField, key), kReservedDomain);
    if (!IsLabelValue(value)) {
      faults.Add(At(kField, key), "has a value that is not a valid Kubernetes label value");
    }
  }
}

void CheckAnnotations(Faults& faults, const StringMap& annotations) {
  constexpr char kField[] = "spec.nodeAnnotations";
  if (annotations.size() > kMaxNodeAnnotations) {
    return faults.Add(kField, absl::StrCat("must have at most ", kMaxNodeAnnotations, " entries"));
  }
  size_t bytes = 0;
  for (const auto& [key, value] : annotations) {
    bytes += key.size() + value.size();
    // Kubernetes lower-cases an annotation's key before it judges it.
    const std::string judged = absl::AsciiStrToLower(key);
    if (!IsLabelKey(judged)) {
      faults.Add(At(kField, key), "is not a valid Kubernetes annotation key");
    }
    if (IsReserved(judged)) faults.Add(At(kField, key), kReservedDomain);
    if (value.find('\0') != std::string::npos) faults.Add(At(kField, key), "must not hold NUL");
  }
  if (bytes > kMaxAnnotationBytes) {
    faults.Add(kField, absl::StrCat("must be at most ", kMaxAnnotationBytes, " bytes in all"));
  }
}

// Kubernetes' node controller keeps these itself: it would take them off whenever we put them on.
constexpr absl::string_view kKubernetesTaints[] = {
    "node.kubernetes.io/not-ready",       "node.kubernetes.io/unreachable",
    "node.kubernetes.io/memory-pressure", "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/pid-pressure",    "node.kubernetes.io/network-unavailable",
    "node.kubernetes.io/unschedulable",
};

void CheckTaints(Faults& faults, const std::vector<Taint>& taints) {
  if (taints.size() > kMaxNodeTaints) {
    return faults.Add("spec.nodeTaints",
                      absl::StrCat("must have at most ", kMaxNodeTaints, " entries"));
  }
  std::set<std::pair<std::string, std::string>> seen;
  for (size_t i = 0; i < taints.size(); ++i) {
    const Taint& taint = taints[i];
    const std::string field = absl::StrCat("spec.nodeTaints[", i, "]");
    if (!IsLabelKey(taint.key)) faults.Add(field + ".key", kBadKey);
    if (IsReserved(taint.key)) faults.Add(field + ".key", kReservedDomain);
    if (absl::c_linear_search(kKubernetesTaints, taint.key))
      faults.Add(field + ".key", kOfKubernetes);
    if (!IsLabelValue(taint.value)) {
      faults.Add(field + ".value", "is not a valid Kubernetes label value");
    }
    if (taint.effect != "NoSchedule" && taint.effect != "PreferNoSchedule" &&
        taint.effect != "NoExecute") {
      faults.Add(field + ".effect", "must be `NoSchedule`, `PreferNoSchedule` or `NoExecute`");
    }
    if (!seen.insert({taint.key, taint.effect}).second) {
      faults.Add(field, "has the same key and effect as another taint");
    }
  }
}

void CheckImage(Faults& faults, const Spec& spec) {
  if (spec.image) {
    const Image& image = *spec.image;
    CheckWord(faults, "spec.image.releaseTrain", image.release_train, {"stable", "latest"},
              "`stable` or `latest`");
    if (!IsPrintable(image.kernel, kMaxImageBytes)) {
      faults.Add("spec.image.kernel", "must be at most 128 printable characters without spaces");
    }
    if (!IsPrintable(image.name, kMaxImageBytes)) {
      faults.Add("spec.image.name", "must be at most 128 printable characters without spaces");
    }
    if (!image.name.empty() && !image.kernel.empty()) {
      faults.Add("spec.image.kernel", "must be empty when spec.image.name is set");
    }
    if (!image.name.empty() && image.release_train == "latest") {
      faults.Add("spec.image.releaseTrain", "must be `stable` when spec.image.name is set");
    }
  }
  if (spec.gpu && !spec.gpu->version.empty()) {
    const std::string& version = spec.gpu->version;
    if (!IsDigits(version, kMaxGpuVersionDigits) || version.front() == '0') {
      faults.Add("spec.gpu.version", "must be a bare major version such as `570`");
    }
  }
}

void CheckCounts(Faults& faults, const Spec& spec, std::optional<int64_t> target) {
  ValidateTarget(target, faults);
  ValidateCount("spec.minNodes", spec.min_nodes, faults);
  ValidateCount("spec.maxNodes", spec.max_nodes, faults);
  if (spec.min_nodes > spec.max_nodes) {
    faults.Add("spec.minNodes", "must not be greater than spec.maxNodes");
  }
  if (spec.autoscaling && spec.max_nodes == 0) {
    faults.Add("spec.maxNodes", "is required with spec.autoscaling");
  }
  if (target) ValidateAutoscaledTarget(spec, *target, faults);
}

size_t BytesOf(const Affinity& affinity) {
  size_t bytes = 0;
  for (const auto& term : affinity) {
    for (const AffinityExpression& expression : term) {
      bytes += expression.key.size();
      for (const std::string& value : expression.values) bytes += value.size();
    }
  }
  return bytes;
}

void CheckAffinity(Faults& faults, const Affinity& affinity) {
  constexpr char kField[] = "spec.nodeAffinity.terms";
  if (affinity.size() > kMaxAffinityTerms) {
    return faults.Add(kField, absl::StrCat("must have at most ", kMaxAffinityTerms, " entries"));
  }
  if (BytesOf(affinity) > kMaxAffinityBytes) {
    return faults.Add(kField, absl::StrCat("must have at most ", kMaxAffinityBytes,
                                           " bytes of keys and values in all"));
  }
  for (size_t i = 0; i < affinity.size(); ++i) {
    const std::string term = absl::StrCat(kField, "[", i, "].expressions");
    if (affinity[i].empty() || affinity[i].size() > kMaxAffinityExpressions) {
      faults.Add(term, absl::StrCat("must have 1 to ", kMaxAffinityExpressions, " entries"));
      continue;
    }
    for (size_t j = 0; j < affinity[i].size(); ++j) {
      const AffinityExpression& expression = affinity[i][j];
      const std::string field = absl::StrCat(term, "[", j, "]");
      if (!IsLabelKey(expression.key)) faults.Add(field + ".key", kBadKey);
      const bool valued = expression.op == "In" || expression.op == "NotIn";
      if (!valued && expression.op != "Exists" && expression.op != "DoesNotExist") {
        faults.Add(field + ".operator", "must be `In`, `NotIn`, `Exists` or `DoesNotExist`");
      } else if (valued ? expression.values.empty() || expression.values.size() > kMaxAffinityValues
                        : !expression.values.empty()) {
        faults.Add(field + ".values",
                   absl::StrCat("must have 1 to ", kMaxAffinityValues,
                                " entries for `In` and `NotIn`, none for the others"));
      }
      for (const std::string& value : expression.values) {
        if (!IsLabelValue(value)) {
          faults.Add(field + ".values", "has a value that is not a valid Kubernetes label value");
        }
      }
    }
  }
}

void CheckDescription(Faults& faults, const std::string& text) {
  const auto characters = std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;  // UTF-8's continuations
  });
  faults.Require(characters <= kMaxDescriptionCharacters, "spec.description",
                 absl::StrCat("must have at most ", kMaxDescriptionCharacters, " characters"));
  faults.Require(!absl::StrContains(text, '\0'), "spec.description", "must not hold NUL");
}

void CheckPrefill(Faults& faults, const Spec& spec) {
  if (!spec.prefill) return;
  const Prefill& prefill = *spec.prefill;
  if (prefill.timeout_seconds < 0 || prefill.timeout_seconds > kMaxPrefillSeconds) {
    faults.Add("spec.prefill.timeoutSeconds",
               absl::StrCat("must be between 0 and ", kMaxPrefillSeconds));
  }
  if (prefill.max_nodes < 0 || prefill.max_nodes > kMaxPrefillNodes) {
    faults.Add("spec.prefill.maxNodes",
               absl::StrCat("must be 1 to ", kMaxPrefillNodes, ", or 0 for 1"));
  }
  if (prefill.enabled && spec.autoscaling) {
    faults.Add("spec.prefill.enabled", "is not available with spec.autoscaling");
  }
  if (prefill.enabled && spec.spot()) {
    faults.Add("spec.prefill.enabled", "is not available for spot");
  }
}

void CheckType(Faults& faults, const Spec& spec, std::optional<int64_t> target,
               const TypeFacts& type) {
  if (spec.compute_class == "spot" && type.superchip) {
    faults.Add("spec.computeClass", NoSpotOnSuperchip(type));
  }
  if (type.nodes_per_rack == 0) return;
  if (spec.autoscaling) {
    faults.Add("spec.autoscaling", absl::StrCat("is not available for ", type.id));
  }
  if (spec.prefill && spec.prefill->enabled) {
    faults.Add("spec.prefill.enabled", absl::StrCat("is not available for ", type.id));
  }
  if (target && *target % type.nodes_per_rack != 0) {
    faults.Add("spec.targetNodes",
               absl::StrCat("must be a multiple of ", type.nodes_per_rack, " for ", type.id));
  }
}

// Kubernetes' node controller writes these itself, from kubernetes.io/os and kubernetes.io/arch.
constexpr absl::string_view kKubernetesLabels[] = {"beta.kubernetes.io/os",
                                                   "beta.kubernetes.io/arch"};

// Its TTL controller and the kubelets write these again whenever we do, without end.
constexpr absl::string_view kKubernetesAnnotations[] = {"node.alpha.kubernetes.io/ttl",
                                                        "alpha.kubernetes.io/provided-node-ip"};

// A cloud's controllers put these on and take them off.
constexpr absl::string_view kCloudTaints[] = {"node.cloudprovider.kubernetes.io/uninitialized",
                                              "node.cloudprovider.kubernetes.io/shutdown"};

// By these the cluster autoscaler marks the Nodes that it removes.
constexpr absl::string_view kAutoscalerTaints[] = {"ToBeDeletedByClusterAutoscaler",
                                                   "DeletionCandidateOfClusterAutoscaler"};

// Adds each of `keys` that `map` has and `before`, if there is one, has not.
void CheckForeignKeys(Faults& faults, absl::string_view field,
                      absl::Span<const absl::string_view> keys, const StringMap& map,
                      const StringMap* before) {
  for (const absl::string_view key : keys) {
    const std::string name(key);
    const bool had = before != nullptr && before->contains(name);
    if (!had && map.contains(name)) faults.Add(At(field, key), kOfKubernetes);
  }
}

}  // namespace

void ValidateCount(absl::string_view field, int64_t value, Faults& faults) {
  faults.Require(value >= 0 && value <= kMaxTargetNodes, field,
                 absl::StrCat("must be between 0 and ", kMaxTargetNodes));
}

void ValidateTarget(std::optional<int64_t> target, Faults& faults) {
  if (!target) return faults.Add("spec.targetNodes", "is required");
  ValidateCount("spec.targetNodes", *target, faults);
}

void ValidateAutoscaledTarget(const Spec& spec, int64_t target, Faults& faults) {
  if (!spec.autoscaling || (target >= spec.min_nodes && target <= spec.max_nodes)) return;
  faults.Add("spec.targetNodes",
             absl::StrCat("must be between spec.minNodes (", spec.min_nodes,
                          ") and spec.maxNodes (", spec.max_nodes, ") with spec.autoscaling"));
}

std::string NoSpotOnSuperchip(const TypeFacts& type) {
  return absl::StrCat("`spot` is not available for superchip type ", type.id);
}

void ValidateForeignKeys(const Spec& spec, const Spec* before, Faults& faults) {
  CheckForeignKeys(faults, "spec.nodeLabels", kKubernetesLabels, spec.node_labels,
                   before == nullptr ? nullptr : &before->node_labels);
  CheckForeignKeys(faults, "spec.nodeAnnotations", kKubernetesAnnotations, spec.node_annotations,
                   before == nullptr ? nullptr : &before->node_annotations);
  for (size_t i = 0; i < spec.node_taints.size(); ++i) {
    const std::string& key = spec.node_taints[i].key;
    const auto is_it = [&](const Taint& taint) { return taint.key == key; };
    const bool had = before != nullptr && absl::c_any_of(before->node_taints, is_it);
    const std::string field = absl::StrCat("spec.nodeTaints[", i, "].key");
    if (!had && absl::c_linear_search(kCloudTaints, key)) faults.Add(field, kOfKubernetes);
    if (!had && absl::c_linear_search(kAutoscalerTaints, key))
      faults.Add(field, "is the cluster autoscaler's");
  }
}

void ValidateSpec(const Spec& spec, std::optional<int64_t> target, Faults& faults) {
  CheckWord(faults, "spec.computeClass", spec.compute_class, {"default", "spot"},
            "`default` or `spot`");
  if (spec.instance_type.empty()) {
    faults.Add("spec.instanceType", "is required");
  } else if (!IsLabelWord(spec.instance_type)) {
    faults.Add("spec.instanceType",
               "must be 1 to 63 letters, digits, `-`, `_`, `.`, first and last a letter or digit");
  }
  CheckCounts(faults, spec, target);
  CheckLabels(faults, spec.node_labels);
  CheckAnnotations(faults, spec.node_annotations);
  CheckTaints(faults, spec.node_taints);
  CheckImage(faults, spec);
  CheckAffinity(faults, spec.node_affinity);
  CheckPrefill(faults, spec);
  CheckDescription(faults, spec.description);
  faults.Require(spec.scale_down_strategy != ScaleDownStrategy::kUnknown,
                 "spec.lifecycle.scaleDownStrategy", "must be `IdleOnly` or `PreferIdle`");
  if (!spec.max_unavailable.empty() && !IsMaxUnavailable(spec.max_unavailable)) {
    faults.Add("spec.lifecycle.maxUnavailable",
               "must be a number of at least 1 such as `2` or a percentage such as `25%`");
  }
  CheckWord(faults, "spec.nodeConfigurationUpdateStrategy.type", spec.update_strategy,
            {"Manual", "OnSpecUpdate", "Always"}, "`Manual`, `OnSpecUpdate` or `Always`");
}

void ValidateFit(const Spec& spec, std::optional<int64_t> target, const Spec* before,
                 const TypeFacts* type, Faults& faults) {
  const auto class_of = [](const Spec& s) {
    return s.compute_class.empty() ? std::string("default") : s.compute_class;
  };
  if (before != nullptr && class_of(spec) != class_of(*before)) {
    faults.Add("spec.computeClass", "ComputeClass cannot be changed");
  }
  if (before != nullptr && !spec.instance_type.empty() &&
      spec.instance_type != before->instance_type) {
    faults.Add("spec.instanceType", "InstanceType cannot be changed");
  }
  if (type != nullptr) CheckType(faults, spec, target, *type);
}

void ValidateCluster(const Cluster& cluster, Faults& faults) {
  if (!IsZoneId(cluster.zone)) {
    faults.Add("cluster.zone", "must be a zone id such as `US-EAST-04A`");
  }
  const std::string& version = cluster.kubernetes_version;
  faults.Require(version.empty() || IsMinorVersion(version), "cluster.kubernetes_version",
                 "must be a minor version such as `1.33`");
}

}  // namespace muster::lifecycle
