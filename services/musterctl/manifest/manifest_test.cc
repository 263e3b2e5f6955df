#include "services/musterctl/manifest/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "services/musterctl/manifest/document.h"
#include "services/musterctl/manifest/machine_set.h"

namespace muster::musterctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const Scope kScope = {.organization = "acme", .cluster = "example"};

std::vector<Manifest> Parse(absl::string_view text) {
  auto manifests = ParseManifests("f.yaml", text, kScope);
  EXPECT_TRUE(manifests.ok()) << manifests.status().message();
  return manifests.ok() ? *std::move(manifests) : std::vector<Manifest>();
}

// The lines of the error.
std::vector<std::string> Faults(absl::string_view text) {
  const auto manifests = ParseManifests("f.yaml", text, kScope);
  EXPECT_FALSE(manifests.ok());
  EXPECT_TRUE(absl::IsInvalidArgument(manifests.status()));
  return absl::StrSplit(std::string(manifests.status().message()), '\n');
}

constexpr char kPoolHead[] =
    "apiVersion: compute.coreweave.com/v1alpha1\nkind: NodePool\nmetadata: {name: train}\n";

std::string Pool(absl::string_view spec) { return absl::StrCat(kPoolHead, "spec:\n", spec); }

TEST(ManifestTest, ReadsEveryKind) {
  std::vector<Manifest> manifests = Parse(R"(
apiVersion: compute.coreweave.com/v1alpha1
kind: NodePool
metadata:
  name: example-nodepool
spec:
  computeClass: default
  instanceType: gd-8xa100-i128
  targetNodes: 1
---
apiVersion: muster/v1
kind: Cluster
metadata: {organization: other, name: example}
spec: {zone: US-EAST-04A, kubernetesVersion: "1.33"}
---
# Nothing here.
---
apiVersion: muster/v1
kind: Release
metadata: {}
spec: {channel: stable, component: gpu-driver, version: 570.124.06}
---
apiVersion: muster/v1
kind: Quota
metadata: {organization: other}
spec: {zone: US-EAST-04A, instanceType: gd-8xa100-i128, computeClass: spot, limit: 16}
---
apiVersion: muster/v1
kind: Machine
metadata: {name: g8fd930}
spec: {zone: US-EAST-04A, instanceType: gd-8xa100-i128, fabric: f1, rack: r1, slot: 3, labels: {a: b}}
---
apiVersion: muster/v1
kind: MachineSet
metadata: {name: a100}
spec: {zone: US-EAST-04A, instanceType: gd-8xa100-i128, count: 4, racks: 2, fabric: f1}
---
apiVersion: muster/v1
kind: InstanceType
metadata: {name: gd-8xa100-i128}
spec: {gpus: 8, gpuModel: A100, vcpus: 128, memoryKib: 2112249840, ephemeralStorageKib: 7499362648,
       architecture: amd64, maxPods: 110, superchip: false, nodesPerRack: 0, fabric: true}
---
apiVersion: muster/v1
kind: Zone
metadata: {name: US-EAST-04A}
spec: {access: general, instanceTypes: [gd-8xa100-i128, gd-8xh100ib-i128]}
)");
  SortForSending(manifests);
  std::vector<std::string> labels;
  for (const Manifest& manifest : manifests) labels.push_back(manifest.label);
  EXPECT_THAT(labels,
              ElementsAre("zone/US-EAST-04A", "instancetype/gd-8xa100-i128", "machineset/a100",
                          "machine/g8fd930", "quota/US-EAST-04A~gd-8xa100-i128~spot",
                          "release/stable~gpu-driver~570.124.06", "cluster/example",
                          "nodepool/example-nodepool"));
  EXPECT_EQ(manifests[7].place, "f.yaml: document 1, line 2");
  EXPECT_EQ(std::get<quota::v1::Quota>(manifests[4].resource).name(),
            "organizations/other/quotas/US-EAST-04A~gd-8xa100-i128~spot");
  EXPECT_EQ(std::get<configuration::v1::Release>(manifests[5].resource).name(),
            "channels/stable/components/gpu-driver/releases/570.124.06");
  const auto& type = std::get<capacity::v1::InstanceType>(manifests[1].resource);
  EXPECT_EQ(type.memory_kib(), 2112249840);
  EXPECT_TRUE(type.fabric());
  EXPECT_EQ(std::get<lifecycle::v1::NodePool>(manifests[7].resource).name(),
            "organizations/acme/clusters/example/nodePools/example-nodepool");
}

// The reference's example, as the API server of the adapter's cluster prints a list of it.
TEST(ManifestTest, TakesWhatKubectlPrints) {
  const auto manifests = Parse(R"(
apiVersion: v1
items:
- apiVersion: compute.coreweave.com/v1alpha1
  kind: NodePool
  metadata:
    annotations:
      kubectl.kubernetes.io/last-applied-configuration: |
        {"apiVersion":"compute.coreweave.com/v1alpha1","kind":"NodePool"}
    creationTimestamp: "2025-06-09T14:48:54Z"
    deletionGracePeriodSeconds: 0
    deletionTimestamp: "2025-06-09T15:48:54Z"
    finalizers:
    - compute.coreweave.com/nodepool
    generateName: example-
    generation: 1
    managedFields:
    - apiVersion: compute.coreweave.com/v1alpha1
      fieldsType: FieldsV1
      fieldsV1:
        f:metadata:
          f:finalizers:
            .: {}
            v:"compute.coreweave.com/nodepool": {}
      manager: muster
      operation: Apply
      time: "2025-06-09T14:48:54Z"
    name: example-nodepool
    ownerReferences:
    - apiVersion: v1
      kind: ConfigMap
      name: owner
      uid: 00000000-0000-0000-0000-000000000001
    resourceVersion: "857370"
    selfLink: ""
    uid: 9311678d-4064-45b8-8439-b943250e5852
  spec:
    autoscaling: false
    computeClass: default
    instanceType: gd-8xa100-i128
    lifecycle:
      disableUnhealthyNodeEviction: true
      scaleDownStrategy: IdleOnly
    maxNodes: 0
    minNodes: 0
    targetNodes: 1
  status:
    currentNodes: 1
kind: List
metadata:
  resourceVersion: ""
)");
  ASSERT_EQ(manifests.size(), 1u);
  EXPECT_EQ(manifests[0].label, "nodepool/example-nodepool");
  EXPECT_EQ(std::get<lifecycle::v1::NodePool>(manifests[0].resource).spec().target_nodes(), 1);
  EXPECT_THAT(manifests[0].notes, ElementsAre("metadata.annotations is not kept"));
}

TEST(ManifestTest, EveryFieldOfANodePoolCanBeWritten) {
  const auto manifests = Parse(Pool(R"(
  computeClass: spot
  instanceType: t
  targetNodes: 2
  minNodes: 1
  maxNodes: 3
  nodeLabels: {a: b}
  nodeAnnotations: {c: d}
  nodeTaints: [{key: k, value: v, effect: NoSchedule}]
  image: {kernel: "6.2", name: n, releaseTrain: stable}
  gpu: {version: "570"}
  autoscaling: true
  lifecycle: {scaleDownStrategy: PreferIdle, disableUnhealthyNodeEviction: false, maxUnavailable: 25%}
  nodeAffinity: {terms: [{expressions: [{key: k, operator: In, values: [v]}]}]}
  priority: -5
  gang: true
  description: training
  prefill: {enabled: true, timeoutSeconds: 600, maxNodes: 2}
  nodeConfigurationUpdateStrategy: {type: Manual}
)"));
  ASSERT_EQ(manifests.size(), 1u);
  // A field that was added to the API and not here would stay unset.
  const std::function<void(const google::protobuf::Message&)> check =
      [&](const google::protobuf::Message& message) {
        const auto* descriptor = message.GetDescriptor();
        for (int i = 0; i < descriptor->field_count(); ++i) {
          const auto* field = descriptor->field(i);
          const auto* reflection = message.GetReflection();
          if (field->is_repeated()) {
            ASSERT_EQ(reflection->FieldSize(message, field), 1) << field->full_name();
            if (field->message_type() != nullptr)
              check(reflection->GetRepeatedMessage(message, field, 0));
          } else {
            EXPECT_TRUE(reflection->HasField(message, field)) << field->full_name();
            if (field->message_type() != nullptr) check(reflection->GetMessage(message, field));
          }
        }
      };
  check(std::get<lifecycle::v1::NodePool>(manifests[0].resource).spec());
}

TEST(ManifestTest, SaysWhatIsNotKept) {
  const auto manifests = Parse(
      "apiVersion: compute.coreweave.com/v1alpha1\nkind: NodePool\n"
      "metadata: {name: train, labels: {a: b}}\nspec: {instanceType: t, targetNodes: 1}\n");
  ASSERT_EQ(manifests.size(), 1u);
  EXPECT_THAT(manifests[0].notes, ElementsAre("metadata.labels is not kept"));
}

struct BadInput {
  const char* name;
  std::string text;
  std::string fault;  // the first line of the error
};

TEST(ManifestTest, NamesFileDocumentLineAndField) {
  const BadInput cases[] = {
      {"syntax", "a: b\n c: [\n", "f.yaml: document 1, line 2: not YAML: "},
      {"not closed", "a: [1, 2\n", "f.yaml: document 1, line "},
      {"text", "hello", "f.yaml: document 1, line 1: must be a mapping, is the string \"hello\""},
      {"number", "42", "f.yaml: document 1, line 1: must be a mapping, is the integer 42"},
      {"list", "- a\n- b\n", "f.yaml: document 1, line 1: must be a mapping, is a list"},
      {"empty", "", "f.yaml: has no document"},
      {"comment", "# nothing\n---\n", "f.yaml: has no document"},
      {"garbage", std::string("\x89PNG\r\n\x1a\n\xff\xfe", 10),
       "f.yaml: document 1, line 1: is not UTF-8 text"},
      {"zero byte", std::string("a: b\nc: \0d\n", 11),
       "f.yaml: document 1, line 2: has a zero byte"},
      {"no kind", "apiVersion: muster/v1\nmetadata: {}\nspec: {}\n",
       "f.yaml: document 1, line 1: kind: is missing"},
      {"unknown kind", "apiVersion: muster/v1\nkind: Pod\nmetadata: {name: a}\nspec: {}\n",
       "f.yaml: document 1, line 2: kind: unknown kind \"Pod\"; known: Zone,"},
      {"unknown api", "apiVersion: v1\nkind: Zone\nmetadata: {name: a}\nspec: {}\n",
       "f.yaml: document 1, line 1: apiVersion: must be muster/v1 or "
       "compute.coreweave.com/v1alpha1, is \"v1\""},
      {"wrong api", "apiVersion: muster/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {}\n",
       "f.yaml: document 1, line 1: apiVersion: NodePool belongs to "
       "compute.coreweave.com/v1alpha1"},
      {"second document",
       "apiVersion: muster/v1\nkind: Zone\nmetadata: {name: A-1A}\nspec: {access: general}\n---\n"
       "apiVersion: muster/v1\nkind: Zone\nmetadata: {name: B-1A}\nspec: {access: none}\n",
       "f.yaml: document 2, line 9: spec.access: must be one of general, dedicated, is \"none\""},
      {"key twice", "kind: a\nkind: b\n", "f.yaml: document 1, line 2: \"kind\" is there twice"},
      {"no name",
       "apiVersion: compute.coreweave.com/v1alpha1\nkind: NodePool\nmetadata: {}\nspec: "
       "{instanceType: t, "
       "targetNodes: 1}\n",
       "f.yaml: document 1, line 3: metadata.name: is missing"},
      {"path as name",
       "apiVersion: compute.coreweave.com/v1alpha1\nkind: NodePool\nmetadata: {name: a/b}\nspec: "
       "{instanceType: t, targetNodes: 1}\n",
       "f.yaml: document 1, line 3: metadata.name: must be an id without `/`, `~` or spaces, is "
       "\"a/b\""},
      {"no target", Pool("  instanceType: t\n"),
       "f.yaml: document 1, line 5: spec.targetNodes: is missing"},
      {"empty target", Pool("  instanceType: t\n  targetNodes:\n"),
       "f.yaml: document 1, line 6: spec.targetNodes: must not be empty"},
      {"no spec", std::string(kPoolHead), "f.yaml: document 1, line 1: spec: is missing"},
      {"string for integer", Pool("  instanceType: t\n  targetNodes: many\n"),
       "f.yaml: document 1, line 6: spec.targetNodes: must be an integer, is the string \"many\""},
      {"quoted integer", Pool("  instanceType: t\n  targetNodes: \"3\"\n"),
       "f.yaml: document 1, line 6: spec.targetNodes: must be an integer, is the string \"3\""},
      {"fraction", Pool("  instanceType: t\n  targetNodes: 1.5\n"),
       "f.yaml: document 1, line 6: spec.targetNodes: must be an integer, is the number 1.5"},
      {"overflow", Pool("  instanceType: t\n  targetNodes: 9223372036854775808\n"),
       "f.yaml: document 1, line 6: spec.targetNodes: 9223372036854775808 does not fit a 64-bit "
       "integer"},
      {"unquoted version", Pool("  instanceType: t\n  targetNodes: 1\n  gpu: {version: 570}\n"),
       "f.yaml: document 1, line 7: spec.gpu.version: must be a string, is the integer 570; write "
       "it in quotes: \"570\""},
      {"scalar for mapping", Pool("  instanceType: t\n  targetNodes: 1\n  gpu: 570\n"),
       "f.yaml: document 1, line 7: spec.gpu: must be a mapping, is the integer 570"},
      {"yes for true", Pool("  instanceType: t\n  targetNodes: 1\n  autoscaling: yes\n"),
       "f.yaml: document 1, line 7: spec.autoscaling: must be true or false, is the string "
       "\"yes\""},
      {"unknown field", Pool("  instanceType: t\n  targetNodes: 1\n  targetNode: 1\n"),
       "f.yaml: document 1, line 7: spec.targetNode: unknown field; allowed here: autoscaling,"},
      {"taint without effect",
       Pool("  instanceType: t\n  targetNodes: 1\n  nodeTaints:\n  - key: a\n"),
       "f.yaml: document 1, line 8: spec.nodeTaints[0].effect: is missing"},
      {"label of another type", Pool("  instanceType: t\n  targetNodes: 1\n  nodeLabels: {a: 1}\n"),
       "f.yaml: document 1, line 7: spec.nodeLabels[a]: must be a string, is the integer 1; write "
       "it in quotes"},
      {"budget as a number",
       Pool("  instanceType: t\n  targetNodes: 1\n  lifecycle: {maxUnavailable: 2}\n"),
       "f.yaml: document 1, line 7: spec.lifecycle.maxUnavailable: must be a string, is the "
       "integer 2; write it in quotes: \"2\""},
      {"affinity without terms", Pool("  instanceType: t\n  targetNodes: 1\n  nodeAffinity: {}\n"),
       "f.yaml: document 1, line 7: spec.nodeAffinity.terms: is missing"},
      {"term without expressions",
       Pool("  instanceType: t\n  targetNodes: 1\n  nodeAffinity:\n    terms:\n    - key: a\n"),
       "f.yaml: document 1, line 9: spec.nodeAffinity.terms[0].expressions: is missing"},
      {"unknown operator",
       Pool("  instanceType: t\n  targetNodes: 1\n  nodeAffinity:\n    terms:\n    - expressions:\n"
            "      - {key: a, operator: Exists}\n      - {key: a, operator: in}\n"),
       "f.yaml: document 1, line 11: spec.nodeAffinity.terms[0].expressions[1].operator: must be "
       "one of In, NotIn, Exists, DoesNotExist, is \"in\""},
      {"prefill's unit",
       Pool("  instanceType: t\n  targetNodes: 1\n  prefill: {enabled: true, timeout: 5m}\n"),
       "f.yaml: document 1, line 7: spec.prefill.timeout: unknown field; allowed here: enabled, "
       "maxNodes, timeoutSeconds"},
      {"priority of 33 bits", Pool("  instanceType: t\n  targetNodes: 1\n  priority: 2147483648\n"),
       "f.yaml: document 1, line 7: spec.priority: must be -2147483648 to 2147483647, is "
       "2147483648"},
      {"32 bits",
       "apiVersion: muster/v1\nkind: Machine\nmetadata: {name: g1}\n"
       "spec: {zone: z, instanceType: t, slot: 2147483648}\n",
       "f.yaml: document 1, line 4: spec.slot: must be -2147483648 to 2147483647, is 2147483648"},
      {"empty set",
       "apiVersion: muster/v1\nkind: MachineSet\nmetadata: {name: a}\nspec: {zone: z, "
       "instanceType: t, "
       "count: 0}\n",
       "f.yaml: document 1, line 4: spec.count: must be 1 to 1000000, is 0"},
      {"in a list",
       absl::StrCat("apiVersion: v1\nkind: List\nitems:\n- apiVersion: muster/v1\n  kind: Zone\n"
                    "  metadata: {name: a}\n  spec: {}\n"),
       "f.yaml: document 1, line 7: items[0].spec.access: is missing"},
      {"twice the same",
       absl::StrCat(Pool("  {instanceType: t, targetNodes: 1}\n"), "---\n",
                    Pool("  {instanceType: t, targetNodes: 2}\n")),
       "f.yaml: document 2, line 7: nodepool/train is there twice, also in f.yaml: document 1, "
       "line 1"},
  };
  for (const BadInput& bad : cases) {
    SCOPED_TRACE(bad.name);
    EXPECT_THAT(Faults(bad.text).front(), StartsWith(bad.fault));
  }
}

TEST(ManifestTest, ReportsEveryFaultOfEveryDocument) {
  const std::vector<std::string> faults =
      Faults(absl::StrCat(Pool("  minNodes: x\n  maxNodes: y\n"), "---\nkind: 3\n"));
  EXPECT_EQ(faults.size(), 8u) << absl::StrJoin(faults, "\n");
}

// Of a wide mapping, and of many documents.
TEST(ManifestTest, NamesAHundredFaultsAndCountsTheOthers) {
  std::string wide, many;
  for (int i = 0; i < 1'000; ++i) {
    absl::StrAppend(&wide, "k", i, ": 1\n");
    absl::StrAppend(&many, "---\napiVersion: muster/v1\nkind: ", i, "\n");
  }
  for (const std::string& text : {wide, many}) {
    const std::vector<std::string> faults = Faults(text);
    ASSERT_EQ(faults.size(), 101u);
    EXPECT_THAT(faults.back(), ::testing::MatchesRegex("and [0-9]+ more"));
  }
}

TEST(ManifestTest, RefusesWhatGrowsWithoutEnd) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    absl::StrAppend(&bomb, "a", i, ": &a", i, " [");
    for (int j = 0; j < 10; ++j) absl::StrAppend(&bomb, "*a", i - 1, ", ");
    absl::StrAppend(&bomb, "]\n");
  }
  EXPECT_THAT(Faults(bomb).front(), HasSubstr("more than 1000000 values"));
  EXPECT_THAT(Faults(std::string(200, '[')).front(), StartsWith("f.yaml: document 1, line 1: "));
  EXPECT_THAT(Faults(std::string(100, '[') + std::string(100, ']')).front(),
              HasSubstr("nested deeper than 64"));
  EXPECT_THAT(Faults(std::string(kMaxManifestBytes + 1, 'a')).front(),
              HasSubstr("larger than 16777216 bytes"));
}

// What yaml-cpp makes of a document is many times as large.
TEST(ManifestTest, BoundsADocumentAndTheValuesOfAFile) {
  const std::string large = absl::StrCat("a: ", std::string(kMaxDocumentBytes, 'a'), "\n");
  EXPECT_THAT(Faults(large), ElementsAre("f.yaml: document 1, line 1: larger than 4194304 bytes; a "
                                         "file may have 16777216 bytes, in several documents"));
  EXPECT_THAT(Faults(absl::StrCat("a: 1\n---\nb: 1\n---\n", large)).front(),
              StartsWith("f.yaml: document 3, line 4: larger than 4194304 bytes"));
  EXPECT_THAT(Faults(absl::StrCat("a: [", std::string(1'000'000, ','), "]\n")).front(),
              HasSubstr("line 1: more than 500000 lines, commas and brackets; a file may have"));
  std::string many;
  for (int document = 0; document < 3; ++document) {
    absl::StrAppend(&many, "---\na: [");
    for (int i = 0; i < 400'000; ++i) absl::StrAppend(&many, "1,");
    absl::StrAppend(&many, "]\n");
  }
  EXPECT_THAT(Faults(many).front(),
              StartsWith("f.yaml: document 3, line 6: more than 1000000 values"));
}

TEST(ManifestTest, NamesLinesOfTheFileInEachOfItsDocuments) {
  EXPECT_THAT(Faults("# one\n---\n# two\n---\nkind: A\n--- # three\nb: [\n").front(),
              StartsWith("f.yaml: document 3, line 8: not YAML"));
  EXPECT_THAT(Faults("a: 1\n...\n%YAML 1.2\n---\nb: 1\nb: 2\n").front(),
              StartsWith("f.yaml: document 2, line 6: \"b\" is there twice"));
}

// JSON knows no other escape for what is beyond the BMP; Python writes it so.
TEST(ManifestTest, ReadsSurrogatePairsOfJson) {
  const auto with = [](const std::string& description) {
    return absl::StrCat(
        R"({"apiVersion": "compute.coreweave.com/v1alpha1", "kind": "NodePool",)", "\n",
        R"("metadata": {"name": "train"}, "spec": {"instanceType": "t", "targetNodes": 1,)", "\n",
        R"("description": ")", description, "\"}}\n");
  };
  const auto read = [](absl::string_view text) {
    const std::vector<Manifest> manifests = Parse(text);
    return manifests.empty()
               ? ""
               : std::get<lifecycle::v1::NodePool>(manifests[0].resource).spec().description();
  };
  EXPECT_EQ(read(with(R"(rocket \ud83d\ude80)")), "rocket \U0001F680");
  EXPECT_EQ(read(with(R"(\uD83D\uDE80\ud83d\ude80\u00e4)")), "\U0001F680\U0001F680\u00e4");
  EXPECT_EQ(read(with(R"(\\ud83d\\ude80)")), R"(\ud83d\ude80)") << "no escape";
  EXPECT_EQ(read(absl::StrCat("---\n", with(R"(\ud83d\ude80)"))), "\U0001F680");
  EXPECT_EQ(read(Pool("  {instanceType: t, targetNodes: 1, description: '\\ud83d\\ude80'}\n")),
            R"(\ud83d\ude80)")
      << "YAML has no escapes there";
  for (const char* lone : {R"(\ud83d)", R"(\ude80)", R"(\ud83d\n)", R"(\ude80\ud83d)"}) {
    const std::string text = absl::StrReplaceAll(with(lone), {{"train", R"(\ud83d\ude80)"}});
    EXPECT_THAT(Faults(text).front(),
                StartsWith("f.yaml: document 1, line 3: not YAML: invalid unicode: "))
        << lone;
  }
}

TEST(MachineSetTest, IsTheSameEveryTimeAndGrowsAtItsEnd) {
  MachineSetSpec spec{
      .prefix = "a100", .zone = "US-EAST-04A", .instance_type = "t", .count = 100, .racks = 7};
  absl::flat_hash_set<std::string> used;
  const auto small = Expand(spec, used);
  used.clear();
  spec.count = 5000;
  const auto large = Expand(spec, used);
  ASSERT_EQ(large.size(), 5000u);
  std::set<std::string> names;
  std::set<std::string> places;
  for (size_t i = 0; i < large.size(); ++i) {
    if (i < small.size()) {
      EXPECT_EQ(large[i].SerializeAsString(), small[i].SerializeAsString());
    }
    names.insert(large[i].name());
    places.insert(absl::StrCat(large[i].rack(), "/", large[i].slot()));
  }
  EXPECT_EQ(names.size(), 5000u);
  EXPECT_EQ(places.size(), 5000u);
  // Never to change: machines that were registered would be strangers.
  EXPECT_EQ(small[0].name(), "machines/g16fa9b");
  EXPECT_EQ(small[99].name(), "machines/g8b4a43");
  EXPECT_EQ(small[0].rack(), "a100-r000");
}

TEST(MachineSetTest, KnowsWhatASetExpandsToByIdAndPlace) {
  absl::flat_hash_set<std::string> used;
  for (const int64_t racks : {0, 7, 300}) {
    SCOPED_TRACE(racks);
    used.clear();
    std::vector<capacity::v1::Machine> machines =
        Expand({.prefix = "a", .count = 40, .racks = racks}, used);
    for (const capacity::v1::Machine& machine : machines) EXPECT_TRUE(IsOfItsRack(machine));
    machines[1].set_rack("b-r000");
    machines[1].set_slot(5);
    EXPECT_FALSE(IsOfItsRack(machines[1]));
  }
  capacity::v1::Machine machine;
  for (const char* rack : {"", "r001", "a-r01", "a-r0x1", "a-r99999999999999999999"}) {
    machine.set_rack(rack);
    EXPECT_FALSE(IsOfItsRack(machine)) << rack;
  }
}

TEST(MachineSetTest, SetsOfOneFileShareNoMachine) {
  absl::flat_hash_set<std::string> used;
  for (const char* prefix : {"a", "b", "c", "d"}) {
    EXPECT_EQ(Expand({.prefix = prefix, .count = 10'000}, used).size(), 10'000u);
  }
  EXPECT_EQ(used.size(), 40'000u);
}

TEST(DocumentTest, WhatOtherReadersTakeForNumbersOrTimesIsQuoted) {
  for (const char* text : {"1_000", "12:30:45", "1e3", "-", "...", "0x1f", "+0XA_b", "-0b11",
                           "0o17", "0x", "2025-06-09", "2025-6-9", "2025-06-09T10:00:00Z",
                           "2025-06-09 at", "yes", "Off", ".NaN", "~"})
    EXPECT_FALSE(ReadsAsString(text)) << text;
  for (const char* text : {"a", "1.33-rc", "0xyz", "1x1f", "2025-06-09x", "20250-06-09x",
                           "2025-006-09x", "2025-06x", "0-1x", "g1f2e3d"})
    EXPECT_TRUE(ReadsAsString(text)) << text;
}

// As an annotation may be, and a file that is only compared.
TEST(DocumentTest, AStringMayBeLong) {
  EXPECT_FALSE(ReadsAsString(std::string(1'000'000, '1')));
  EXPECT_FALSE(ReadsAsString("2025-06-09 " + std::string(1'000'000, 'x')));
  EXPECT_TRUE(ReadsAsString(std::string(1'000'000, 'x')));
}

}  // namespace
}  // namespace muster::musterctl
