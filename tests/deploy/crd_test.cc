#include <google/protobuf/timestamp.pb.h>

#include <functional>
#include <map>
#include <regex>
#include <set>

#include "muster/lifecycle/v1/lifecycle.pb.h"
#include "services/common/condition_names.h"
#include "services/common/label_limits.h"
#include "services/kubernetes/core/names.h"
#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/validate.h"
#include "services/musterctl/manifest/manifest.h"
#include "tests/deploy/files.h"

namespace muster::deploy {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAreArray;

// The custom resource definition's one version.
const Value& Version() {
  static const Value& crd = *new Value(Load("kubernetes/crd/crd.yaml").at(0));
  return At(crd, "spec.versions.0");
}

const Value& Schema(absl::string_view part) {
  return At(Version(), absl::StrCat("schema.openAPIV3Schema.properties.", part));
}

std::set<std::string> KeysOf(const Value& map) {
  std::set<std::string> keys;
  for (const auto& [key, value] : map.map) keys.insert(key);
  return keys;
}

// Proto fields that the schema leaves out, and nothing else differs.
const std::set<std::string>& LeftOut() {
  // Only revisions have the others; Kubernetes' conditions have no event.
  static const auto& names =
      *new std::set<std::string>{"status.conditions.eventReason",
                                 "status.pendingNodeConfiguration.activeNodes",
                                 "status.pendingNodeConfiguration.disabled",
                                 "status.pendingNodeConfiguration.enableCount",
                                 "status.waitingNodeConfiguration.activeNodes",
                                 "status.waitingNodeConfiguration.disabled",
                                 "status.waitingNodeConfiguration.enableCount"};
  return names;
}

void ExpectMessage(const std::string& path, const Value& schema, const Descriptor& message);

// One value of a field.
void ExpectItem(const std::string& path, const Value& schema, const FieldDescriptor& field) {
  const std::string& type = At(schema, "type").text;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (field.message_type() == google::protobuf::Timestamp::descriptor()) {
        EXPECT_EQ(type + " " + At(schema, "format").text, "string date-time") << path;
      } else {
        ExpectMessage(path, schema, *field.message_type());
      }
      return;
    case FieldDescriptor::CPPTYPE_STRING:
      EXPECT_EQ(type, "string") << path;
      return;
    case FieldDescriptor::CPPTYPE_BOOL:
      EXPECT_EQ(type, "boolean") << path;
      return;
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_INT64:
      EXPECT_EQ(type + " " + At(schema, "format").text,
                absl::StrCat("integer ", field.cpp_type_name()))
          << path;
      return;
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_ENUM:
      ADD_FAILURE() << path << ": a type that manifests do not have";
      return;
  }
}

void ExpectField(const std::string& path, const Value& schema, const FieldDescriptor& field) {
  if (field.is_map()) {
    EXPECT_EQ(At(schema, "type").text, "object") << path;
    ExpectItem(path, At(schema, "additionalProperties"), *field.message_type()->map_value());
  } else if (field.is_repeated()) {
    EXPECT_EQ(At(schema, "type").text, "array") << path;
    EXPECT_FALSE(At(schema, "x-kubernetes-list-type").text.empty()) << path;
    ExpectItem(path, At(schema, "items"), field);
  } else {
    ExpectItem(path, schema, field);
  }
}

void ExpectMessage(const std::string& path, const Value& schema, const Descriptor& message) {
  EXPECT_EQ(At(schema, "type").text, "object") << path;
  const Value& properties = At(schema, "properties");
  std::set<std::string> wanted;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    const std::string below = absl::StrCat(path, ".", field.json_name());
    if (LeftOut().contains(below)) continue;
    wanted.insert(field.json_name());
    const Value* property = properties.Find(field.json_name());
    if (property == nullptr) continue;  // the comparison below says so
    EXPECT_FALSE(At(*property, "description").text.empty()) << below;
    ExpectField(below, *property, field);
  }
  // The adapter's own, for kstatus: the generation that its `Ready` is about.
  if (path == "status") wanted.insert("observedGeneration");
  EXPECT_EQ(KeysOf(properties), wanted) << path;
}

TEST(Crd, HasTheFieldsOfTheProto) {
  ExpectMessage("spec", Schema("spec"), *lifecycle::v1::NodePoolSpec::descriptor());
  ExpectMessage("status", Schema("status"), *lifecycle::v1::NodePoolStatus::descriptor());
}

lifecycle::Spec SomeSpec() { return {.instance_type = "t"}; }

// What lifecycle says of one field of a spec; empty: nothing.
std::string Fault(const lifecycle::Spec& spec, absl::string_view field) {
  error::Faults faults;
  lifecycle::ValidateSpec(spec, spec.target_nodes, faults);
  for (const auto& violation : faults) {
    if (violation.field == field) return violation.description;
  }
  return "";
}

// The words between back-quotes.
std::vector<std::string> Quoted(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, '`');
  std::vector<std::string> words;
  for (size_t i = 1; i < parts.size(); i += 2) words.push_back(parts[i]);
  return words;
}

TEST(Crd, KnowsTheWordsThatLifecycleKnows) {
  lifecycle::Spec spec = SomeSpec();
  spec.compute_class = spec.update_strategy = "?";
  spec.scale_down_strategy = lifecycle::ScaleDownStrategy::kUnknown;
  spec.image = lifecycle::Image{.release_train = "?"};
  spec.node_taints = {{"key", "", "?"}};
  spec.node_affinity = {{{"key", "?", {}}}};
  const std::map<std::string, std::string> schemas = {
      {"spec.computeClass", "computeClass"},
      {"spec.lifecycle.scaleDownStrategy", "lifecycle.properties.scaleDownStrategy"},
      {"spec.nodeConfigurationUpdateStrategy.type",
       "nodeConfigurationUpdateStrategy.properties.type"},
      {"spec.image.releaseTrain", "image.properties.releaseTrain"},
      {"spec.nodeTaints[0].effect", "nodeTaints.items.properties.effect"},
      {"spec.nodeAffinity.terms[0].expressions[0].operator",
       "nodeAffinity.properties.terms.items.properties.expressions.items.properties.operator"}};
  for (const auto& [field, schema] : schemas) {
    const Value& words = At(Schema("spec.properties"), schema + ".enum");
    EXPECT_THAT(words.list, ::testing::Not(SizeIs(0))) << field;
    EXPECT_THAT(Strings(words), UnorderedElementsAreArray(Quoted(Fault(spec, field)))) << field;
  }
}

TEST(Crd, HasTheLimitsOfLifecycle) {
  namespace limits = lifecycle;
  const std::string terms = "nodeAffinity.properties.terms";
  const std::string expressions = terms + ".items.properties.expressions";
  const std::map<std::string, int64_t> limits_of = {
      {"targetNodes.maximum", limits::kMaxTargetNodes},
      {"minNodes.maximum", limits::kMaxTargetNodes},
      {"maxNodes.maximum", limits::kMaxTargetNodes},
      {"nodeLabels.maxProperties", limits::kMaxNodeLabels},
      {"nodeLabels.additionalProperties.maxLength", kMaxLabelValueBytes},
      {"nodeAnnotations.maxProperties", limits::kMaxNodeAnnotations},
      {"nodeAnnotations.additionalProperties.maxLength", limits::kMaxAnnotationBytes},
      {"nodeTaints.maxItems", limits::kMaxNodeTaints},
      {"nodeTaints.items.properties.key.maxLength", kMaxLabelKeyBytes},
      {"nodeTaints.items.properties.value.maxLength", kMaxLabelValueBytes},
      {"image.properties.kernel.maxLength", limits::kMaxImageBytes},
      {"image.properties.name.maxLength", limits::kMaxImageBytes},
      {terms + ".maxItems", limits::kMaxAffinityTerms},
      {expressions + ".maxItems", limits::kMaxAffinityExpressions},
      {expressions + ".items.properties.key.maxLength", kMaxLabelKeyBytes},
      {expressions + ".items.properties.values.maxItems", limits::kMaxAffinityValues},
      {"description.maxLength", 256},
      {"prefill.properties.timeoutSeconds.maximum", limits::kMaxPrefillSeconds},
      {"prefill.properties.maxNodes.maximum", limits::kMaxPrefillNodes},
  };
  for (const auto& [path, limit] : limits_of) {
    EXPECT_EQ(At(Schema("spec.properties"), path).integer, limit) << path;
  }
}

void CollectDefaults(const std::string& path, const Value& schema,
                     std::map<std::string, std::string>& out) {
  if (const Value* value = schema.Find("default")) out[path] = value->text;
  for (const auto& [key, property] : At(schema, "properties").map) {
    CollectDefaults(path.empty() ? key : absl::StrCat(path, ".", key), property, out);
  }
}

// Those that `kubectl describe` of the reference's example prints, and no others.
TEST(Crd, HasTheDefaultsOfTheReference) {
  std::map<std::string, std::string> defaults;
  CollectDefaults("", Schema("spec"), defaults);
  EXPECT_THAT(defaults, ElementsAre(Pair("autoscaling", "false"), Pair("lifecycle", ""),
                                    Pair("lifecycle.disableUnhealthyNodeEviction", "true"),
                                    Pair("lifecycle.scaleDownStrategy", "IdleOnly"),
                                    Pair("maxNodes", "0"), Pair("minNodes", "0")));
  EXPECT_THAT(Strings(At(Schema("spec"), "required")), ElementsAre("instanceType", "targetNodes"));
}

TEST(Crd, PrintsTheColumns) {
  std::vector<std::string> names;
  std::vector<std::string> wide;
  for (const Value& column : At(Version(), "additionalPrinterColumns").list) {
    (column.Find("priority") == nullptr ? names : wide).push_back(At(column, "name").text);
  }
  EXPECT_THAT(wide, ElementsAre("Ready")) << "the reference's table is as it was";
  EXPECT_THAT(names, ElementsAre("Instance Type", "Target", "Queued", "InProgress", "Current",
                                 "Validated", "Capacity", "Quota", "Age"));
}

TEST(Crd, ServesStatusAndScale) {
  EXPECT_NE(At(Version(), "subresources").Find("status"), nullptr);
  EXPECT_EQ(At(Version(), "subresources.scale.specReplicasPath").text, ".spec.targetNodes");
  EXPECT_EQ(At(Version(), "subresources.scale.statusReplicasPath").text, ".status.currentNodes");
}

// Every CEL rule of a schema: rule, message.
void CollectRules(const Value& value, std::vector<std::pair<std::string, std::string>>& out) {
  for (const Value& rule : At(value, "x-kubernetes-validations").list) {
    out.emplace_back(At(rule, "rule").text, At(rule, "message").text);
  }
  for (const auto& [key, below] : value.map) CollectRules(below, out);
  for (const Value& below : value.list) CollectRules(below, out);
}

// The patterns of `matches('...')` in the rules whose message has `words`.
std::set<std::string> PatternsOf(const std::string& words) {
  std::vector<std::pair<std::string, std::string>> rules;
  CollectRules(Schema("spec"), rules);
  std::set<std::string> patterns;
  for (const auto& [rule, message] : rules) {
    const size_t begin = rule.find("matches('");
    if (message.find(words) == std::string::npos || begin == std::string::npos) continue;
    patterns.insert(rule.substr(begin + 9, rule.find("')", begin) - begin - 9));
  }
  return patterns;
}

TEST(Crd, TellsSuperchipsAndNvl72ByNamesAsTheCatalogueDoes) {
  const std::set<std::string> superchip = PatternsOf("superchip types");
  const std::set<std::string> nvl72 = PatternsOf("NVL72 types");
  ASSERT_THAT(superchip, SizeIs(1));
  ASSERT_THAT(nvl72, SizeIs(1));
  const auto manifests = musterctl::ParseManifests("catalogue.yaml", TextOf("local/catalogue.yaml"),
                                                   {.organization = "acme", .cluster = "example"});
  ASSERT_THAT(manifests, testing::IsOk());
  int racked = 0;
  for (const auto& manifest : *manifests) {
    const auto* type = std::get_if<capacity::v1::InstanceType>(&manifest.resource);
    if (type == nullptr) continue;
    EXPECT_EQ(std::regex_search(type->name(), std::regex(*superchip.begin())), type->superchip())
        << type->name();
    EXPECT_EQ(std::regex_search(type->name(), std::regex(*nvl72.begin())) ? 18 : 0,
              type->nodes_per_rack())
        << type->name();
    if (type->nodes_per_rack() > 0) ++racked;
  }
  EXPECT_GT(racked, 0);
}

TEST(Crd, ReservesTheKeysThatLifecycleReserves) {
  const std::string message =
      "Namespaces `*.coreweave.cloud` or `*.coreweave.com` are not allowed.";
  const std::set<std::string> patterns = PatternsOf(message);
  ASSERT_THAT(patterns, SizeIs(1));
  const std::regex reserved(*patterns.begin());
  for (const std::string key :
       {"coreweave.com/a", "coreweave.cloud/a", "a.coreweave.com/a", "a.b.coreweave.cloud/a",
        "acoreweave.com/a", "coreweave.com.org/a", "coreweave.com", "a/b", "coreweavexcom/a",
        "a.coreweave.example/a"}) {
    lifecycle::Spec spec = SomeSpec();
    spec.node_labels[key] = "";
    EXPECT_EQ(std::regex_search(key, reserved),
              Fault(spec, absl::StrCat("spec.nodeLabels[", key, "]")) == message)
        << key;
  }
}

// Those that others keep on Nodes themselves: the words of rules with `in [...]`.
TEST(Crd, NamesTheForeignKeysThatLifecycleRefuses) {
  const auto faults_of = [](const lifecycle::Spec& spec) {
    error::Faults faults;
    lifecycle::ValidateForeignKeys(spec, nullptr, faults);
    std::vector<std::string> said;
    for (const auto& fault : faults) said.push_back(fault.description);
    return said;
  };
  const std::map<std::string, std::function<lifecycle::Spec(const std::string&)>> fields = {
      {"nodeLabels",
       [](const std::string& key) {
         return lifecycle::Spec{.node_labels = {{key, ""}}};
       }},
      {"nodeAnnotations",
       [](const std::string& key) {
         return lifecycle::Spec{.node_annotations = {{key, ""}}};
       }},
      {"nodeTaints", [](const std::string& key) {
         return lifecycle::Spec{.node_taints = {{key, "", "NoSchedule"}}};
       }}};
  std::set<std::string> named;
  for (const auto& [field, spec_with] : fields) {
    std::vector<std::pair<std::string, std::string>> rules;
    CollectRules(Schema(absl::StrCat("spec.properties.", field)), rules);
    for (const auto& [rule, message] : rules) {
      const size_t begin = rule.find(" in [");
      if (begin == std::string::npos) continue;
      const std::vector<std::string> parts = absl::StrSplit(rule.substr(begin), '\'');
      for (size_t i = 1; i < parts.size(); i += 2) {
        named.insert(parts[i]);
        EXPECT_THAT(faults_of(spec_with(parts[i])), ElementsAre(message)) << parts[i];
      }
    }
  }
  EXPECT_THAT(named, SizeIs(8));
}

// InstanceType cannot be changed: an object with one that lifecycle refuses could not be mended.
TEST(Crd, TakesTheInstanceTypesThatLifecycleTakes) {
  const std::string message =
      "must be 1 to 63 letters, digits, `-`, `_`, `.`, first and last a letter or digit";
  const std::set<std::string> patterns = PatternsOf(message);
  ASSERT_THAT(patterns, SizeIs(1));
  const std::regex pattern(*patterns.begin());
  for (const std::string type : {"gd-8xh100ib-i128", "H100_NVLINK_80GB.8.xeon.128", "a", "a-", "-a",
                                 "-", ".", "_a", "a_", "a b", "a/b"}) {
    EXPECT_EQ(std::regex_search(type, pattern) ? "" : message,
              Fault({.instance_type = type}, "spec.instanceType"))
        << type;
  }
}

TEST(Crd, NamesEveryConditionThatTheAdapterShows) {
  const std::string& text = At(Schema("status"), "properties.conditions.description").text;
  for (const char* type :
       {condition::kValidated, condition::kCapacity, condition::kQuota, condition::kAtTarget,
        condition::kNodeReconfigurationRequired, condition::kNodesRemoved,
        condition::kMaxNodesUnreachable, kubernetes::kRemovalsHeld, condition::kReady,
        condition::kReconciling, condition::kStalled, condition::kAccepted, "SufficientCapacity",
        "Allocated", "MetadataSynced"}) {
    EXPECT_TRUE(std::regex_search(text, std::regex(absl::StrCat("\\b", type, "\\b")))) << type;
  }
}

}  // namespace
}  // namespace muster::deploy
