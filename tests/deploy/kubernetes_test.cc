#include <map>
#include <regex>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "services/common/address.h"
#include "services/common/first_edition.h"
#include "services/common/resource_name.h"
#include "services/kubernetes/core/objects.h"
#include "services/lifecycle/core/validate.h"
#include "services/lifecycle/wire/lifecycle_wire.h"
#include "services/musterctl/manifest/manifest.h"
#include "tests/deploy/files.h"

namespace muster::deploy {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

constexpr absl::string_view kFolders[] = {
    "crd",     "base",    "admission-v1", "admission-v1beta1", "first-edition",
    "samples", "servers", "tls",          "new-history"};

std::string FolderOf(absl::string_view name) { return absl::StrCat("kubernetes/", name); }

// The documents of that kind in base/ and admission-v1/.
std::vector<Value> OfKind(absl::string_view kind) {
  std::vector<Value> found;
  for (const absl::string_view folder : {"base", "admission-v1"}) {
    for (const std::string& file : YamlFilesOf(FolderOf(folder))) {
      for (Value& document : Load(absl::StrCat(FolderOf(folder), "/", file))) {
        if (At(document, "kind").text == kind) found.push_back(std::move(document));
      }
    }
  }
  EXPECT_THAT(found, ::testing::Not(IsEmpty())) << kind;
  return found;
}

// Of the Deployment.
const Value& AdapterPod() {
  static const Value& deployment = *new Value(OfKind("Deployment").at(0));
  return At(deployment, "spec.template.spec");
}

std::string NameOf(const Value& object) { return At(object, "metadata.name").text; }

TEST(Kustomizations, NameEveryFile) {
  for (const absl::string_view folder : kFolders) {
    std::vector<std::string> files = YamlFilesOf(FolderOf(folder));
    ASSERT_EQ(std::erase(files, "kustomization.yaml"), 1u) << folder;
    if (folder == "admission-v1beta1") files.emplace_back("../admission-v1");
    const Value kustomization = Load(absl::StrCat(FolderOf(folder), "/kustomization.yaml")).at(0);
    EXPECT_THAT(Strings(At(kustomization, "resources")), UnorderedElementsAreArray(files))
        << folder;
  }
}

TEST(Kustomizations, AreAllThatThereIs) {
  std::vector<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(PathOf("kubernetes"))) {
    if (entry.is_directory()) folders.push_back(entry.path().filename());
  }
  EXPECT_THAT(folders, UnorderedElementsAreArray(std::begin(kFolders), std::end(kFolders)));
}

// What is removed with them would take every NodePool of the cluster with it.
TEST(Kustomizations, HaveTheDefinitionApart) {
  for (const absl::string_view folder : {"base", "admission-v1"}) {
    for (const std::string& file : YamlFilesOf(FolderOf(folder))) {
      for (const Value& document : Load(absl::StrCat(FolderOf(folder), "/", file)))
        EXPECT_NE(At(document, "kind").text, "CustomResourceDefinition") << file;
    }
  }
  EXPECT_EQ(At(Load("kubernetes/crd/crd.yaml").at(0), "kind").text, "CustomResourceDefinition");
}

// So an overlay that forgets one of them gets no adapter that serves something else.
TEST(Kustomizations, WhatIsToBeSetIsRefusedUntilItIs) {
  const Value kustomization = Load("kubernetes/base/kustomization.yaml").at(0);
  const std::map<std::string, bool (*)(absl::string_view)> checks = {{"organization", &IsDnsLabel},
                                                                     {"cluster", &IsDnsLabel},
                                                                     {"zone", &IsZoneId},
                                                                     {"server", &IsTarget}};
  const std::vector<std::string> literals =
      Strings(At(kustomization, "configMapGenerator.0.literals"));
  EXPECT_EQ(literals.size(), checks.size());
  for (const std::string& literal : literals) {
    const std::pair<std::string, std::string> setting =
        absl::StrSplit(literal, absl::MaxSplits('=', 1));
    ASSERT_TRUE(checks.contains(setting.first)) << literal;
    EXPECT_FALSE(checks.at(setting.first)(setting.second)) << literal;
  }
}

// A Service without an address of its own stands for several replicas: only of a target with
// dns:/// are those passed over that do not serve.
TEST(Kubernetes, NamesOfServicesAreCalledByDns) {
  const std::regex target("(dns:///)?[a-z-]+\\.[a-z-]+\\.svc:[0-9]+");
  int found = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(PathOf("kubernetes"))) {
    if (!entry.is_regular_file()) continue;
    const std::string text = ReadFile(entry.path()).value_or("");
    for (std::sregex_iterator it(text.begin(), text.end(), target), end; it != end; ++it) {
      ++found;
      EXPECT_TRUE(absl::StartsWith(it->str(), "dns:///")) << entry.path() << ": " << it->str();
    }
  }
  EXPECT_GT(found, 2);
}

TEST(Kubernetes, EveryDocumentHasAKindAndAName) {
  for (const absl::string_view folder : kFolders) {
    for (const std::string& file : YamlFilesOf(FolderOf(folder))) {
      for (const Value& document : Load(absl::StrCat(FolderOf(folder), "/", file))) {
        EXPECT_FALSE(At(document, "apiVersion").text.empty()) << file;
        EXPECT_FALSE(At(document, "kind").text.empty()) << file;
        EXPECT_EQ(NameOf(document).empty(), file == "kustomization.yaml") << file;
      }
    }
  }
}

// Rights that let their owner get any other, and the secrets of others.
TEST(Rbac, HasNoWildcards) {
  std::vector<Value> roles = OfKind("ClusterRole");
  for (Value& role : OfKind("Role")) roles.push_back(std::move(role));
  for (const Value& role : roles) {
    ASSERT_FALSE(At(role, "rules").list.empty()) << NameOf(role);
    for (const Value& rule : At(role, "rules").list) {
      for (const absl::string_view part : {"apiGroups", "resources", "verbs"}) {
        EXPECT_THAT(At(rule, part).list, ::testing::Not(IsEmpty())) << NameOf(role);
        for (const std::string& word : Strings(At(rule, part))) {
          EXPECT_FALSE(absl::StrContains(word, "*")) << NameOf(role) << " " << part;
          EXPECT_THAT((std::set<std::string>{"secrets", "escalate", "bind", "impersonate"}),
                      ::testing::Not(Contains(word)))
              << NameOf(role);
        }
      }
    }
  }
}

// kustomize takes a Role's resourceNames for references to what it generates, whatever resource
// they are of, and renames them with it: the adapter could not read its Lease.
TEST(Rbac, NamesNothingThatKustomizeRenames) {
  const Value kustomization = Load("kubernetes/base/kustomization.yaml").at(0);
  std::set<std::string> generated;
  for (const Value& generator : At(kustomization, "configMapGenerator").list)
    generated.insert(At(generator, "name").text);
  EXPECT_FALSE(generated.empty());
  for (const Value& role : OfKind("Role")) {
    for (const Value& rule : At(role, "rules").list) {
      if (Strings(At(rule, "verbs")) == std::vector<std::string>{"create"}) continue;
      if (Strings(At(rule, "resources")) != std::vector<std::string>{"leases"}) continue;
      for (const std::string& name : Strings(At(rule, "resourceNames")))
        EXPECT_FALSE(generated.contains(name)) << NameOf(role) << ": " << name;
    }
  }
}

// Of other Leases in its namespace the adapter knows nothing. Who creates one has not named it yet.
TEST(Rbac, LeavesTheLeasesOfOthersAlone) {
  std::set<std::string> verbs;
  for (const Value& role : OfKind("Role")) {
    for (const Value& rule : At(role, "rules").list) {
      if (Strings(At(rule, "resources")) != std::vector<std::string>{"leases"}) continue;
      const std::vector<std::string> of_rule = Strings(At(rule, "verbs"));
      verbs.insert(of_rule.begin(), of_rule.end());
      if (of_rule == std::vector<std::string>{"create"}) continue;
      EXPECT_EQ(Strings(At(rule, "resourceNames")), std::vector<std::string>{"muster-kubernetes"});
    }
  }
  EXPECT_EQ(verbs, (std::set<std::string>{"create", "get", "patch", "update"}));
  for (const std::string& argument : Strings(At(AdapterPod(), "containers.0.args")))
    EXPECT_FALSE(absl::StartsWith(argument, "--lease_name=")) << "its default is the name";
}

// The instance types of the sample catalogue, with their GPUs.
std::map<std::string, int64_t> Gpus() {
  std::map<std::string, int64_t> gpus;
  for (const Value& document : Load("local/catalogue.yaml")) {
    if (At(document, "kind").text == "InstanceType")
      gpus[NameOf(document)] = At(document, "spec.gpus").integer;
  }
  return gpus;
}

TEST(Deployment, StaysOffEveryTypeWithGpus) {
  std::set<std::string> types;
  for (const auto& [type, gpus] : Gpus()) {
    if (gpus > 0) types.insert(type);
  }
  EXPECT_EQ(types.size(), 12u);
  const Value& terms =
      At(AdapterPod(),
         "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
  ASSERT_EQ(terms.list.size(), 1u) << "of several one is enough";
  const Value& rule = At(terms, "0.matchExpressions.0");
  EXPECT_EQ(At(rule, "key").text, "node.kubernetes.io/instance-type");
  EXPECT_EQ(At(rule, "operator").text, "NotIn");
  EXPECT_THAT(Strings(At(rule, "values")), UnorderedElementsAreArray(types));
}

TEST(Deployment, MayNotEatTheMemoryOfItsNode) {
  for (const Value& container : At(AdapterPod(), "containers").list) {
    EXPECT_FALSE(At(container, "resources.requests.memory").text.empty());
    EXPECT_FALSE(At(container, "resources.limits.memory").text.empty());
  }
}

// `system:serviceaccount:<namespace>:<name>` as which the Deployment runs.
std::string AdapterIdentity() {
  const Value deployment = OfKind("Deployment").at(0);
  return absl::StrCat("system:serviceaccount:", At(deployment, "metadata.namespace").text, ":",
                      At(deployment, "spec.template.spec.serviceAccountName").text);
}

TEST(Rbac, BindsEveryRoleToTheAdapter) {
  for (const absl::string_view kind : {"ClusterRole", "Role"}) {
    std::set<std::string> roles;
    for (const Value& role : OfKind(kind)) {
      roles.insert(absl::StrCat(At(role, "metadata.namespace").text, "/", NameOf(role)));
    }
    std::set<std::string> bound;
    for (const Value& binding : OfKind(absl::StrCat(kind, "Binding"))) {
      EXPECT_EQ(At(binding, "roleRef.kind").text, kind);
      bound.insert(absl::StrCat(At(binding, "metadata.namespace").text, "/",
                                At(binding, "roleRef.name").text));
      ASSERT_EQ(At(binding, "subjects").list.size(), 1u) << NameOf(binding);
      const Value& subject = At(binding, "subjects.0");
      EXPECT_EQ(absl::StrCat("system:serviceaccount:", At(subject, "namespace").text, ":",
                             At(subject, "name").text),
                AdapterIdentity())
          << NameOf(binding);
    }
    EXPECT_EQ(roles, bound) << kind;
  }
}

TEST(Policies, AreBoundByTheirNames) {
  for (const absl::string_view kind : {"ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"}) {
    std::vector<std::string> policies;
    for (const Value& policy : OfKind(kind)) policies.push_back(NameOf(policy));
    std::vector<std::string> bound;
    for (const Value& binding : OfKind(absl::StrCat(kind, "Binding"))) {
      bound.push_back(At(binding, "spec.policyName").text);
    }
    EXPECT_THAT(bound, UnorderedElementsAreArray(policies)) << kind;
  }
}

TEST(Policies, LetTheAdapterPass) {
  const std::string adapter =
      absl::StrCat("request.userInfo.username != '", AdapterIdentity(), "'");
  for (const Value& policy : OfKind("ValidatingAdmissionPolicy")) {
    EXPECT_TRUE(absl::StrContains(At(policy, "spec.matchConditions.0.expression").text, adapter))
        << NameOf(policy);
  }
}

std::vector<error::FieldViolation> FaultsOf(const lifecycle::Spec& spec, int64_t target) {
  error::Faults faults;
  lifecycle::ValidateSpec(spec, target, faults);
  return faults.named();
}

// What lifecycle says of a reserved key, in every policy on reserved keys.
TEST(Policies, RefuseReservedKeysInLifecyclesWords) {
  const lifecycle::Spec spec = {.instance_type = "t",
                                .node_labels = {{"foo.coreweave.com/bar", ""}}};
  const auto faults = FaultsOf(spec, 0);
  ASSERT_EQ(faults.size(), 1u);
  int policies = 0;
  for (const Value& policy : OfKind("ValidatingAdmissionPolicy")) {
    if (!absl::StrContains(NameOf(policy), "reserved-keys")) continue;
    ++policies;
    for (const Value& validation : At(policy, "spec.validations").list) {
      EXPECT_EQ(At(validation, "message").text, faults[0].description) << NameOf(policy);
    }
  }
  EXPECT_EQ(policies, 2);
}

// The columns are those of the conditions that the first edition has.
TEST(FirstEdition, ShowsItsConditions) {
  const Value component = Load("kubernetes/first-edition/kustomization.yaml").at(0);
  const auto patch = musterctl::ParseDocuments("patch", At(component, "patches.0.patch").text);
  ASSERT_THAT(patch, testing::IsOk());
  std::set<std::string> shown;
  for (const Value& column : At(patch->at(0).value, "0.value").list) {
    const std::string path = At(column, "jsonPath").text;
    const size_t type = path.find("type==\"");
    if (type != std::string::npos && column.Find("priority") == nullptr)
      shown.insert(path.substr(type + 7, path.find('"', type + 7) - type - 7));
  }
  std::set<std::string> had = {kMetadataSynced};
  for (const char* condition : {"Validated", "Capacity", "AtTarget"})
    had.insert(FirstEditionOfCondition(condition, "")->type);
  EXPECT_EQ(shown, had);
}

// With it an overlay's adapter is told all that mutual TLS takes, and finds the files.
TEST(Tls, GivesTheAdapterItsFiles) {
  const Value component = Load("kubernetes/tls/kustomization.yaml").at(0);
  const auto patch = musterctl::ParseDocuments("patch", At(component, "patches.0.patch").text);
  ASSERT_THAT(patch, testing::IsOk());
  std::set<std::string> flags;
  std::string mounted, secret;
  for (const Value& operation : patch->at(0).value.list) {
    const std::string text = At(operation, "value").text;
    if (absl::StartsWith(text, "--")) flags.insert(text.substr(0, text.find('=')));
    if (const Value* path = At(operation, "value").Find("mountPath")) mounted = path->text;
    if (At(operation, "value").Find("secret") != nullptr)
      secret = At(operation, "value.secret.secretName").text;
    if (absl::StrContains(text, "_file=")) {
      EXPECT_THAT(text, ::testing::HasSubstr("=/etc/muster/tls/"));
    }
  }
  EXPECT_THAT(flags, ::testing::ElementsAre("--tls_ca_file", "--tls_cert_file", "--tls_key_file",
                                            "--trust_domain"));
  EXPECT_EQ(mounted, "/etc/muster/tls");
  EXPECT_EQ(secret, "muster-kubernetes-tls");
}

// The NodePools of a manifest.
std::vector<lifecycle::v1::NodePool> PoolsOf(absl::string_view file) {
  std::vector<lifecycle::v1::NodePool> pools;
  const auto manifests =
      musterctl::ParseManifests(file, TextOf(file), {.organization = "acme", .cluster = "example"});
  EXPECT_THAT(manifests, testing::IsOk());
  if (!manifests.ok()) return pools;
  for (const auto& manifest : *manifests) {
    pools.push_back(std::get<lifecycle::v1::NodePool>(manifest.resource));
  }
  return pools;
}

TEST(Samples, AreTakenByMuster) {
  int pools = 0;
  for (const std::string& file : YamlFilesOf("kubernetes/samples")) {
    const std::string path = absl::StrCat("kubernetes/samples/", file);
    if (At(Load(path).at(0), "kind").text != "NodePool") continue;
    for (const auto& pool : PoolsOf(path)) {
      ++pools;
      EXPECT_THAT(FaultsOf(lifecycle::FromProto(pool.spec()), pool.spec().target_nodes()),
                  IsEmpty())
          << file;
    }
  }
  EXPECT_EQ(pools, 3);
}

// The two words differ in their spelling, too.
TEST(Samples, HavePodsOfTheKindsThatADrainKnows) {
  using Class = kubernetes::PodObject::Class;
  std::map<std::string, Class> kinds;
  for (const Value& document : Load("kubernetes/samples/interruptible-pods.yaml")) {
    ASSERT_EQ(At(document, "kind").text, "Pod");
    nlohmann::json labels = nlohmann::json::object();
    for (const auto& [key, value] : At(document, "metadata.labels").map) labels[key] = value.text;
    kinds[NameOf(document)] = kubernetes::ReadPod({{"metadata", {{"labels", labels}}}}).kind;
  }
  EXPECT_THAT(kinds,
              ::testing::ElementsAre(::testing::Pair("graceful-interruptible", Class::kGraceful),
                                     ::testing::Pair("interruptable", Class::kInterruptable)));
}

// The types that users cannot scale from zero are types that there are.
TEST(Samples, NameTypesThatTheAutoscalerLacks) {
  const std::map<std::string, int64_t> gpus = Gpus();
  const std::string readme = TextOf("kubernetes/samples/README.md");
  const size_t list = readme.find("which lacks six");
  ASSERT_NE(list, std::string::npos);
  const std::vector<std::string> words =
      absl::StrSplit(readme.substr(list, readme.find(". ", list) - list), '`');
  int types = 0;
  for (size_t word = 1; word < words.size(); word += 2) {
    ++types;
    EXPECT_TRUE(gpus.contains(words[word])) << words[word];
  }
  EXPECT_EQ(types, 6);
}

TEST(Samples, HaveTheExampleOfTheLocalStack) {
  const auto sample = PoolsOf("kubernetes/samples/example-nodepool.yaml");
  const auto local = PoolsOf("local/example-nodepool.yaml");
  ASSERT_EQ(sample.size(), 1u);
  ASSERT_EQ(local.size(), 1u);
  EXPECT_EQ(sample[0].DebugString(), local[0].DebugString());
}

// The local stack puts all of base/ into a cluster but for what runs the adapter there.
TEST(LocalStack, PutsWhatProductionHas) {
  std::set<std::string> put;
  for (const absl::string_view line : absl::StrSplit(TextOf("local/kubernetes.sh"), '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.size() != 3 || words[0] != "put" || !absl::StartsWith(words[1], "-")) continue;
    EXPECT_TRUE(std::filesystem::exists(PathOf(FolderOf(words[2])))) << words[2];
    put.insert(words[2]);
  }
  std::set<std::string> wanted = {"crd", "admission-v1", "admission-v1beta1"};
  for (const std::string& file :
       Strings(At(Load("kubernetes/base/kustomization.yaml").at(0), "resources"))) {
    if (file != "deployment.yaml" && file != "pod_disruption_budget.yaml")
      wanted.insert(absl::StrCat("base/", file));
  }
  EXPECT_EQ(put, wanted);
}

}  // namespace
}  // namespace muster::deploy
