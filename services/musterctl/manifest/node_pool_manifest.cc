#include <utility>

#include "absl/strings/str_cat.h"
#include "services/musterctl/manifest/reading.h"

namespace muster::musterctl {
namespace {

constexpr absl::string_view kOperators[] = {"In", "NotIn", "Exists", "DoesNotExist"};

void ReadTaints(Reading& in, lifecycle::v1::NodePoolSpec& spec) {
  const Value* list = in.spec.List("nodeTaints");
  if (list == nullptr) return;
  for (size_t i = 0; i < list->list.size(); ++i) {
    Fields fields(&list->list[i], absl::StrCat(in.spec.Path("nodeTaints"), "[", i, "]"),
                  in.problems);
    lifecycle::v1::Taint& taint = *spec.add_node_taints();
    taint.set_key(fields.String("key", Need::kRequired).value_or(""));
    taint.set_value(fields.String("value").value_or(""));
    taint.set_effect(fields.String("effect", Need::kRequired).value_or(""));
  }
}

void ReadPoolParts(Reading& in, lifecycle::v1::NodePoolSpec& spec) {
  if (const Value* map = in.spec.Map("image")) {
    Fields fields(map, in.spec.Path("image"), in.problems);
    spec.mutable_image()->set_kernel(fields.String("kernel").value_or(""));
    spec.mutable_image()->set_name(fields.String("name").value_or(""));
    spec.mutable_image()->set_release_train(fields.String("releaseTrain").value_or(""));
  }
  if (const Value* map = in.spec.Map("gpu")) {
    Fields fields(map, in.spec.Path("gpu"), in.problems);
    spec.mutable_gpu()->set_version(fields.String("version").value_or(""));
  }
  if (const Value* map = in.spec.Map("lifecycle")) {
    Fields fields(map, in.spec.Path("lifecycle"), in.problems);
    spec.mutable_lifecycle()->set_scale_down_strategy(
        fields.String("scaleDownStrategy").value_or(""));
    if (const auto value = fields.Bool("disableUnhealthyNodeEviction")) {
      spec.mutable_lifecycle()->set_disable_unhealthy_node_eviction(*value);
    }
    spec.mutable_lifecycle()->set_max_unavailable(fields.String("maxUnavailable").value_or(""));
  }
  if (const Value* map = in.spec.Map("nodeConfigurationUpdateStrategy")) {
    Fields fields(map, in.spec.Path("nodeConfigurationUpdateStrategy"), in.problems);
    spec.mutable_node_configuration_update_strategy()->set_type(fields.String("type").value_or(""));
  }
}

void ReadPrefill(Reading& in, lifecycle::v1::NodePoolSpec& spec) {
  const Value* map = in.spec.Map("prefill");
  if (map == nullptr) return;
  Fields fields(map, in.spec.Path("prefill"), in.problems);
  lifecycle::v1::Prefill& prefill = *spec.mutable_prefill();
  prefill.set_enabled(fields.Bool("enabled").value_or(false));
  prefill.set_timeout_seconds(fields.Integer("timeoutSeconds").value_or(0));
  prefill.set_max_nodes(fields.Integer("maxNodes").value_or(0));
}

void ReadExpressions(const Value* list, const std::string& path, Reading& in,
                     lifecycle::v1::NodeAffinityTerm& term) {
  for (size_t i = 0; list != nullptr && i < list->list.size(); ++i) {
    Fields fields(&list->list[i], absl::StrCat(path, "[", i, "]"), in.problems);
    lifecycle::v1::NodeAffinityExpression& expression = *term.add_expressions();
    expression.set_key(fields.String("key", Need::kRequired).value_or(""));
    expression.set_operator_(fields.Word("operator", kOperators, Need::kRequired).value_or(""));
    for (std::string& value : fields.Strings("values")) expression.add_values(std::move(value));
  }
}

void ReadAffinity(Reading& in, lifecycle::v1::NodePoolSpec& spec) {
  const Value* map = in.spec.Map("nodeAffinity");
  if (map == nullptr) return;
  Fields affinity(map, in.spec.Path("nodeAffinity"), in.problems);
  const Value* terms = affinity.List("terms", Need::kRequired);
  for (size_t i = 0; terms != nullptr && i < terms->list.size(); ++i) {
    Fields fields(&terms->list[i], absl::StrCat(affinity.Path("terms"), "[", i, "]"), in.problems);
    ReadExpressions(fields.List("expressions", Need::kRequired), fields.Path("expressions"), in,
                    *spec.mutable_node_affinity()->add_terms());
  }
}

}  // namespace

Resource ReadNodePool(Reading& in) {
  lifecycle::v1::NodePool pool;
  const std::string name = in.Name();
  pool.set_name(absl::StrCat("organizations/", in.context.scope.organization, "/clusters/",
                             in.context.scope.cluster, "/nodePools/", name));
  lifecycle::v1::NodePoolSpec& spec = *pool.mutable_spec();
  spec.set_compute_class(in.spec.String("computeClass").value_or(""));
  spec.set_instance_type(in.spec.String("instanceType", Need::kRequired).value_or(""));
  if (const auto nodes = in.spec.Integer("targetNodes", Need::kRequired))
    spec.set_target_nodes(*nodes);
  spec.set_min_nodes(in.spec.Integer("minNodes").value_or(0));
  spec.set_max_nodes(in.spec.Integer("maxNodes").value_or(0));
  for (auto& [key, value] : in.spec.StringMap("nodeLabels"))
    (*spec.mutable_node_labels())[key] = std::move(value);
  for (auto& [key, value] : in.spec.StringMap("nodeAnnotations")) {
    (*spec.mutable_node_annotations())[key] = std::move(value);
  }
  spec.set_autoscaling(in.spec.Bool("autoscaling").value_or(false));
  spec.set_priority(in.spec.Integer32("priority").value_or(0));
  spec.set_gang(in.spec.Bool("gang").value_or(false));
  ReadTaints(in, spec);
  ReadPoolParts(in, spec);
  ReadPrefill(in, spec);
  ReadAffinity(in, spec);
  for (const absl::string_view field : {"labels", "annotations"}) {
    if (in.metadata.Skip(field))
      in.notes.push_back(absl::StrCat("metadata.", field, " is not kept"));
  }
  in.label = absl::StrCat("nodepool/", name);
  return pool;
}

}  // namespace muster::musterctl
