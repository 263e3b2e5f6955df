#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "tests/kubernetes/adapter/adapter_test_base.h"
#include "tests/testing/reference_example.h"

// What a user does and sees: kubectl, with the manifests of deploy/kubernetes and the adapter as
// their service account.
namespace muster::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kReserved[] = "Namespaces `*.coreweave.cloud` or `*.coreweave.com` are not allowed.";
constexpr absl::Duration kPolicyPatience = absl::Seconds(30);

class KubectlTest : public AdapterTest<KubectlTest> {
 public:
  static bool IsReal() { return std::getenv("KUBEBUILDER_ASSETS") != nullptr; }
  static void SetUpTestSuite() {
    if (IsReal()) AdapterTest::SetUpTestSuite();
  }
  static AdapterStack::Options MakeOptions() {
    AdapterStack::Options options;
    options.as_deployed = true;
    return options;
  }

 protected:
  void SetUp() override {
    if (!IsReal()) {
      GTEST_SKIP() << "not run on the fake API server: kubectl, the schema, the columns and "
                      "the admission policies need a real one";
    }
  }
  // What it printed; the test fails when it does.
  std::string Run(const std::vector<std::string>& words) {
    const Finished done = stack().Kubectl(words);
    EXPECT_EQ(done.exit_code, 0) << absl::StrJoin(words, " ") << "\n" << done.output;
    return done.output;
  }
  // What it said when it refused.
  std::string Refused(const std::vector<std::string>& words) {
    const Finished done = stack().Kubectl(words);
    EXPECT_NE(done.exit_code, 0) << absl::StrJoin(words, " ") << "\n" << done.output;
    return done.exit_code == 0 ? "" : done.output;
  }
  // A policy takes effect a second or two after it was applied.
  std::string Eventually(const std::vector<std::string>& words, absl::string_view wanted) {
    const absl::Time give_up = absl::Now() + kPolicyPatience;
    Finished done = stack().Kubectl(words);
    while (!absl::StrContains(done.output, wanted) && absl::Now() < give_up)
      done = stack().Kubectl(words);
    return done.output;
  }
  // A file that is there until the test ends.
  std::string File(absl::string_view text) {
    files_.push_back(absl::StrCat(::testing::TempDir(), Name("kubectl"), "-", getpid(), ".yaml"));
    std::ofstream(files_.back()) << std::string(text);
    return files_.back();
  }
  std::string PoolFile(const std::string& name, const Json& spec) {
    return File(PoolObject(name, spec).dump());
  }
  // `kubectl edit` with an editor that shows what it is given, and does `sed` to it. Refused, it is
  // given the reasons and the same again, and gives up when it has nothing to change then.
  std::string Edit(const std::string& pool, const std::string& sed) {
    const std::string editor = File(absl::StrCat("cat \"$1\"\nsed -i '", sed, "' \"$1\"\n"));
    const std::string folder = absl::StrCat(editor, ".d");  // for what it leaves behind
    std::filesystem::create_directories(folder);
    const Finished edited = RunProgram(
        {"/usr/bin/env", absl::StrCat("KUBE_EDITOR=sh ", editor), absl::StrCat("TMPDIR=", folder),
         absl::StrCat(std::getenv("KUBEBUILDER_ASSETS"), "/kubectl"),
         absl::StrCat("--kubeconfig=", stack().server().kubeconfig()), "edit", "nodepool", pool});
    std::filesystem::remove_all(folder);
    EXPECT_NE(edited.exit_code, 0) << edited.output;
    return edited.output;
  }
  static std::vector<std::string> AsCustomer(std::vector<std::string> words) {
    words.insert(words.begin(),
                 {"--as=customer", "--as-group=customers", "--as-group=system:authenticated"});
    return words;
  }
  void TearDown() override {
    AdapterTestBase::TearDown();
    for (const std::string& file : files_) std::remove(file.c_str());
  }

 private:
  std::vector<std::string> files_;
};

std::vector<std::string> Lines(absl::string_view text) {
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

// A table's line; columns are three spaces apart, and a heading may hold one.
std::vector<std::string> Cells(absl::string_view line) {
  std::vector<std::string> cells;
  for (const absl::string_view cell : absl::StrSplit(line, "   ", absl::SkipWhitespace()))
    cells.emplace_back(absl::StripAsciiWhitespace(cell));
  return cells;
}

// How deep, the key and the value, without the spaces that line values up. What differs from object
// to object is left out.
std::string Normal(absl::string_view line) {
  const size_t depth = std::min(line.find_first_not_of(' '), line.size());
  const std::vector<absl::string_view> parts =
      absl::StrSplit(line.substr(depth), absl::MaxSplits(':', 1));
  const absl::string_view key = parts[0];
  absl::string_view value = parts.size() > 1 ? absl::StripAsciiWhitespace(parts[1]) : "";
  for (const char* varies :
       {"Creation Timestamp", "Resource Version", "UID", "Last Transition Time"}) {
    if (key == varies) value = "(varies)";
  }
  return absl::StrCat(std::string(depth, ' '), key, ": ", value);
}

TEST_F(KubectlTest, TheReferencesExampleFromApplyToDelete) {
  const std::string samples = absl::StrCat(MigrationsDir(), "/../deploy/kubernetes/samples");
  Run({"apply", "-k", samples});
  constexpr char kPool[] = "example-nodepool";
  ASSERT_TRUE(stack().AwaitHealthy(kPool, 1));

  const std::vector<std::string> table = Lines(Run({"get", "nodepools", kPool}));
  ASSERT_EQ(table.size(), 2u);
  EXPECT_THAT(Cells(table[0]),
              ElementsAre("NAME", "INSTANCE TYPE", "TARGET", "QUEUED", "INPROGRESS", "CURRENT",
                          "VALIDATED", "CAPACITY", "QUOTA", "AGE"));
  std::vector<std::string> row = Cells(table[1]);
  ASSERT_EQ(row.size(), 10u);
  row.pop_back();
  EXPECT_THAT(row, ElementsAre(kPool, "gd-8xa100-i128", "1", "0", "0", "1", "Valid", "Sufficient",
                               "Under"));
  EXPECT_THAT(Run({"get", "np"}), HasSubstr("autoscaled-nodepool"));

  Run({"scale", "nodepool", kPool, "--replicas=2"});
  ASSERT_TRUE(stack().AwaitHealthy(kPool, 2));
  EXPECT_THAT(Edit(kPool, "s/gd-8xa100-i128/gd-8xh100ib-i128/"),
              HasSubstr("InstanceType cannot be changed"));

  for (const char* pool : {kPool, "spot-nodepool", "autoscaled-nodepool"})
    Run({"delete", "nodepool", pool, "--timeout=60s"});
  EXPECT_TRUE(
      stack().Await(kNodesPath, [](const AdapterStack::Objects& nodes) { return nodes.empty(); }));
  Run({"delete", "-k", samples, "--ignore-not-found", "--wait=false"});
}

TEST_F(KubectlTest, DescribeReadsAsTheReferencesExample) {
  constexpr char kPool[] = "example-nodepool";
  CreateHealthyPool(kPool);
  std::vector<std::string> said;
  for (const std::string& line : Lines(Run({"describe", "nodepools", kPool}))) {
    if (absl::StartsWith(line, "Events:")) break;
    said.push_back(Normal(line));
  }
  std::vector<std::string> added;
  auto next = said.begin();
  for (const std::string& line : Lines(kReferenceExample)) {
    const std::string wanted = Normal(line);
    const auto found = std::find(next, said.end(), wanted);
    ASSERT_NE(found, said.end()) << "no line `" << wanted << "` after what came before it in\n"
                                 << absl::StrJoin(said, "\n");
    added.insert(added.end(), next, found);
    next = found + 1;
  }
  added.insert(added.end(), next, said.end());
  // What is said beyond the example, by the first word or two.
  for (const std::string& line : added) {
    const absl::string_view text = absl::StripLeadingAsciiWhitespace(line);
    const bool known =
        absl::StartsWith(text, "Finalizers:") || text == "compute.coreweave.com/nodepool: " ||
        absl::StartsWith(text, "Compute Class: default") || text == "Observed Generation: 1" ||
        absl::StartsWith(text, "Node Configuration Revisions:") ||
        absl::StartsWith(text, "Active Nodes: 1") || absl::StartsWith(text, "Created At:") ||
        absl::StartsWith(text, "Node Profile: np-") || absl::StartsWith(text, "Summary:") ||
        absl::StartsWith(text, "GPU driver ") || absl::StartsWith(text, "Kubernetes 1.33") ||
        absl::StartsWith(text, "ncore image ");
    EXPECT_TRUE(known) << line;
  }
  EXPECT_THAT(Eventually({"describe", "nodepools", kPool}, "CWNodePoolScaledUp"),
              HasSubstr("CWNodePoolScaledUp"));
}

TEST_F(KubectlTest, ASpecWithFaultsIsRefusedWithEachOfThem) {
  const std::vector<std::pair<Json, std::string>> table = {
      {{{"targetNodes", nullptr}}, "spec.targetNodes: Required value"},
      {{{"instanceType", nullptr}}, "spec.instanceType: Required value"},
      {{{"instanceType", "gd-8xh100ib-i128-"}},
       "spec.instanceType: Invalid value: must be 1 to 63 letters, digits"},
      {{{"targetNodes", -1}}, "spec.targetNodes: Invalid value"},
      {{{"computeClass", "cheap"}}, "spec.computeClass: Unsupported value"},
      {{{"minNodes", 2}}, "spec.minNodes: Invalid value: must not be greater than spec.maxNodes"},
      {{{"autoscaling", true}}, "spec.maxNodes: Required value: is required with spec.autoscaling"},
      {{{"autoscaling", true}, {"maxNodes", 4}, {"targetNodes", 5}},
       "spec.targetNodes: Invalid value: must be between spec.minNodes and spec.maxNodes"},
      {{{"instanceType", "gb200-4x"}, {"targetNodes", 17}},
       "spec.targetNodes: Invalid value: must be a multiple of 18 for gb200-4x"},
      {{{"instanceType", "gb300-4x"}, {"targetNodes", 18}, {"autoscaling", true}, {"maxNodes", 36}},
       "spec.autoscaling: Invalid value: is not available for gb300-4x"},
      {{{"instanceType", "gd-1xgh200"}, {"computeClass", "spot"}},
       "`spot` is not available for superchip type gd-1xgh200"},
      {{{"image", {{"name", "a"}, {"kernel", "b"}}}},
       "spec.image.kernel: Invalid value: must be empty when spec.image.name is set"},
      {{{"image", {{"name", "a"}, {"releaseTrain", "latest"}}}},
       "must be `stable` when spec.image.name is set"},
      {{{"gpu", {{"version", "570.1"}}}}, "must be a bare major version such as `570`"},
      {{{"nodeLabels", {{"a b", "c"}}}}, "is not a valid Kubernetes label key"},
      {{{"nodeLabels", {{"foo.coreweave.com/bar", "c"}}}}, kReserved},
      {{{"nodeLabels", {{"beta.kubernetes.io/arch", "c"}}}},
       "is put on and taken off by Kubernetes itself"},
      {{{"nodeAnnotations", {{"node.alpha.kubernetes.io/ttl", "30"}}}},
       "is put on and taken off by Kubernetes itself"},
      {{{"nodeTaints", Json::array({{{"key", "node.cloudprovider.kubernetes.io/uninitialized"},
                                     {"effect", "NoSchedule"}}})}},
       "is put on and taken off by Kubernetes itself"},
      {{{"nodeTaints",
         Json::array({{{"key", "ToBeDeletedByClusterAutoscaler"}, {"effect", "NoSchedule"}}})}},
       "is the cluster autoscaler's"},
      {{{"nodeTaints", Json::array({{{"key", "x.coreweave.cloud/y"}, {"effect", "NoExecute"}}})}},
       kReserved},
      {{{"nodeTaints",
         Json::array({{{"key", "node.kubernetes.io/not-ready"}, {"effect", "NoExecute"}}})}},
       "is put on and taken off by Kubernetes itself"},
      {{{"nodeTaints", Json::array({{{"key", "a"}, {"effect", "NoExecute"}},
                                    {{"key", "a"}, {"effect", "NoExecute"}, {"value", "b"}}})}},
       "spec.nodeTaints[1]: Duplicate value"},
  };
  for (const auto& [spec, message] : table) {
    EXPECT_THAT(Refused({"create", "--dry-run=server", "-f", PoolFile("faulty", spec)}),
                HasSubstr(message));
  }
  const std::string all = Refused(
      {"create", "-f",
       PoolFile("faulty",
                {{"minNodes", 3}, {"maxNodes", 1}, {"autoscaling", true}, {"targetNodes", 5}})});
  EXPECT_THAT(all, HasSubstr("must not be greater than spec.maxNodes"));
  EXPECT_THAT(all, HasSubstr("must be between spec.minNodes and spec.maxNodes"));
  Run({"create", "--dry-run=server", "-f",
       PoolFile("fine", {{"nodeLabels", {{"cks.coreweave.cloud/system-critical", "true"}}}})});
}

TEST_F(KubectlTest, ReservedKeysAreTheAdaptersAlone) {
  Run({"create", "clusterrolebinding", "customer", "--clusterrole=cluster-admin",
       "--group=customers"});
  const std::string uid = CreateHealthyPool(Name());
  const std::string node = NodeNamesOf(uid).at(0);
  EXPECT_THAT(Eventually(AsCustomer({"label", "--dry-run=server", "node", node,
                                     "foo.coreweave.com/bar=true"}),
                         kReserved),
              HasSubstr(kReserved));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"label", "--overwrite", "node", node,
                                 "node.coreweave.cloud/state=zap"},
        {"label", "node", node, "node.coreweave.cloud/state-"},
        {"annotate", "node", node, "node.coreweave.cloud/taints-"},
        // The server takes an annotation's key in any case.
        {"annotate", "node", node, "Node.CoreWeave.Cloud/x=y"},
        {"taint", "node", node, "foo.coreweave.com/x=x:NoSchedule"}})
    EXPECT_THAT(Refused(AsCustomer(words)), HasSubstr(kReserved));
  EXPECT_EQ(LabelOf(stack().GetNode(node), "node.coreweave.cloud/state"), "production");
  // "new labels cannot be created": nor with a Node that is new, nor with its status.
  const std::string made = Name("made");
  const auto node_file = [&](const Json& labels) {
    return File(Json{
        {"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", made}, {"labels", labels}}}}
                    .dump());
  };
  for (const char* key : {"foo.coreweave.cloud/bar", "foo.coreweave.com/bar"}) {
    const Json labels = {{key, "true"}};
    const Json patch = {{"metadata", {{"labels", labels}}}};
    EXPECT_THAT(Refused(AsCustomer({"create", "-f", node_file(labels)})), HasSubstr(kReserved));
    EXPECT_THAT(Refused(AsCustomer({"patch", "node", node, "--subresource=status", "--type=merge",
                                    "-p", patch.dump()})),
                HasSubstr(kReserved));
  }
  Run(AsCustomer({"create", "--dry-run=server", "-f", node_file({{"example.com/mine", "true"}})}));
  Run(AsCustomer({"label", "node", node, "example.com/mine=true"}));
  Run(AsCustomer({"taint", "node", node, "sunk.coreweave.com/lock=true:NoExecute"}));
  Run(AsCustomer({"cordon", node}));
  EXPECT_THAT(Refused(AsCustomer(
                  {"create", "-f",
                   PoolFile("sly", {{"nodeAnnotations", {{"qos.coreweave.cloud/x", "a"}}}})})),
              HasSubstr(kReserved));
  EXPECT_THAT(Refused(AsCustomer({"label", "namespace", "kube-system", "a=b"})),
              HasSubstr("Control-plane namespaces cannot be changed or deleted."));
}

// A Node says itself what it booted: its kubelet may, and nobody else.
TEST_F(KubectlTest, TheBootedProfileIsTheKubeletsToTell) {
  Run({"create", "clusterrolebinding", "nodes", "--clusterrole=cluster-admin",
       "--group=system:nodes"});
  Run({"create", "clusterrolebinding", "customer-of-nodes", "--clusterrole=cluster-admin",
       "--group=customers"});
  const std::string uid = CreateHealthyPool(Name());
  const std::string node = NodeNamesOf(uid).at(0);
  const std::vector<std::string> tell = {"annotate", "--overwrite", "node", node,
                                         "node.coreweave.cloud/node-profile=np-0123456789ab"};
  EXPECT_THAT(Eventually(AsCustomer(tell), kReserved), HasSubstr(kReserved));
  const auto as_kubelet = [&](std::vector<std::string> words) {
    words.insert(words.begin(),
                 {absl::StrCat("--as=system:node:", node), "--as-group=system:nodes"});
    return words;
  };
  Run(as_kubelet(tell));
  EXPECT_THAT(Refused(as_kubelet(
                  {"annotate", "--overwrite", "node", node, "node.coreweave.cloud/taints=none"})),
              HasSubstr(kReserved));
}

// As the fleet does: what a kubelet may, an administrator may not, and who may not act as others
// does not.
TEST_F(KubectlTest, OneActsAsAnother) {
  kubernetes::Endpoint endpoint = stack().server().endpoint();
  endpoint.as = "muster-fleetsim";
  endpoint.as_groups = {"system:masters", "system:nodes"};
  const auto fleet = kubernetes::Client::Create(endpoint, {});
  ASSERT_TRUE(fleet.ok()) << fleet.status();
  const auto review =
      (*fleet)->Create("/apis/authentication.k8s.io/v1/selfsubjectreviews",
                       {{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "SelfSubjectReview"}});
  ASSERT_TRUE(review.ok()) << review.status();
  const Json& user = review->at("status").at("userInfo");
  EXPECT_EQ(user.at("username"), "muster-fleetsim");
  EXPECT_THAT(user.at("groups").get<std::vector<std::string>>(),
              ::testing::IsSupersetOf({"system:masters", "system:nodes"}));

  const std::string node = NodeNamesOf(CreateHealthyPool(Name())).at(0);
  const std::string path = absl::StrCat(kNodesPath, "/", node);
  EXPECT_THAT(Eventually({"annotate", "--dry-run=server", "node", node,
                          "node.coreweave.cloud/node-profile=x"},
                         kReserved),
              HasSubstr(kReserved));
  const absl::Status told =
      (*fleet)
          ->Patch(kubernetes::PatchType::kMerge, path,
                  {{"metadata", {{"annotations", {{"node.coreweave.cloud/node-profile", "x"}}}}}},
                  {{"dryRun", "All"}})
          .status();
  EXPECT_TRUE(told.ok()) << told;

  endpoint.token = std::string(absl::StripAsciiWhitespace(
      Run({"create", "token", "muster-kubernetes", "--namespace=muster-system"})));
  const auto stranger = kubernetes::Client::Create(endpoint, {});
  ASSERT_TRUE(stranger.ok()) << stranger.status();
  EXPECT_THAT(std::string((*stranger)->Get(path).status().message()),
              HasSubstr("cannot impersonate"));
}

// With the rights that it has as deployed.
TEST_F(KubectlTest, TheAdapterWritesDownWhoseHistoryItAccepted) {
  EXPECT_THAT(Eventually({"get", "lease", "muster-kubernetes", "--namespace=muster-system",
                          "--output=yaml"},
                         "/history: "),
              HasSubstr("/history: "));
}

// "Customers may not change or delete control-plane namespaces, nor that label": their own they
// may.
TEST_F(KubectlTest, NamespacesOfTheControlPlaneAreNotTheCustomers) {
  constexpr char kProtected[] = "Control-plane namespaces cannot be changed or deleted.";
  constexpr char kLabel[] = "Label ns.coreweave.cloud/org cannot be set or changed.";
  Run({"create", "clusterrolebinding", "customer-of-namespaces", "--clusterrole=cluster-admin",
       "--group=customers"});
  Run({"create", "namespace", "hpc-verification"});
  const auto await_owner = [&](const std::string& name, const std::string& owner) {
    return stack().Await(kNamespacesPath, [&](const AdapterStack::Objects& all) {
      const auto found = all.find(name);
      return found != all.end() && LabelOf(found->second, "ns.coreweave.cloud/org") == owner;
    });
  };
  ASSERT_TRUE(await_owner("hpc-verification", "control-plane"));
  EXPECT_THAT(Eventually(AsCustomer({"label", "namespace", "hpc-verification", "a=b"}), kProtected),
              HasSubstr(kProtected));
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"delete", "namespace", "hpc-verification", "--wait=false"},
           {"delete", "namespace", "muster-system", "--wait=false"},
           {"label", "--overwrite", "namespace", "hpc-verification", "ns.coreweave.cloud/org=acme"},
           {"label", "namespace", "hpc-verification", "ns.coreweave.cloud/org-"},
           {"annotate", "namespace", "muster-system", "a=b"},
           {"create", "namespace", "node-problem-detector"}})
    EXPECT_THAT(Refused(AsCustomer(words)), HasSubstr(kProtected)) << absl::StrJoin(words, " ");

  const std::string own = Name("team");
  Run(AsCustomer({"create", "namespace", own}));
  ASSERT_TRUE(await_owner(own, "acme"));
  const std::string taken =
      Json{{"apiVersion", "v1"},
           {"kind", "Namespace"},
           {"metadata", {{"name", Name("team")}, {"labels", {{"ns.coreweave.cloud/org", "acme"}}}}}}
          .dump();
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"label", "--overwrite", "namespace", own, "ns.coreweave.cloud/org=control-plane"},
           {"label", "--overwrite", "namespace", own, "ns.coreweave.cloud/org=globex"},
           {"label", "namespace", own, "ns.coreweave.cloud/org-"},
           {"create", "-f", File(taken)}})
    EXPECT_THAT(Refused(AsCustomer(words)), HasSubstr(kLabel)) << absl::StrJoin(words, " ");
  Run(AsCustomer({"label", "namespace", own, "example.com/mine=true"}));
  Run(AsCustomer({"delete", "namespace", own, "--wait=false"}));
  // The platform's own administrators may.
  Run({"label", "namespace", "hpc-verification", "a=b"});
  Run({"delete", "namespace", "hpc-verification", "--wait=false"});
}

// The CKS admission policy "automatically adds the is_cpu_compute toleration to any Pod that does
// not request a GPU resource".
TEST_F(KubectlTest, PodsWithoutGpusTolerateCpuNodes) {
  const auto container = [](const Json& limits) {
    return Json{{"name", "a"}, {"image", "b"}, {"resources", {{"limits", limits}}}};
  };
  const auto create = [this](const Json& spec) {
    const Json pod = {{"apiVersion", "v1"},
                      {"kind", "Pod"},
                      {"metadata", {{"name", "p"}, {"namespace", "default"}}},
                      {"spec", spec}};
    return std::vector<std::string>{"create", "--dry-run=server", "--output=json", "-f",
                                    File(pod.dump())};
  };
  const auto with = [&](const Json& limits, const Json& tolerations = nullptr) {
    Json spec = {{"containers", Json::array({container(limits)})}};
    if (!tolerations.is_null()) spec["tolerations"] = tolerations;
    return spec;
  };
  // But for those that Kubernetes itself gives every Pod.
  const auto tolerated = [&](const Json& spec) {
    const std::string text = Run(create(spec));
    const Json made = Json::parse(text.substr(std::min(text.find('{'), text.size())), nullptr,
                                  /*allow_exceptions=*/false);
    Json found = Json::array();
    if (!made.is_object()) return found;
    for (const Json& each : made.at("spec").value("tolerations", Json::array())) {
      if (!absl::StartsWith(each.value("key", ""), "node.kubernetes.io/")) found.push_back(each);
    }
    return found;
  };
  const Json none = Json::array();
  const Json cpu = {{"cpu", "1"}};
  const Json added = {{"key", "is_cpu_compute"}, {"operator", "Exists"}, {"effect", "NoSchedule"}};
  ASSERT_THAT(Eventually(create(with(cpu)), "is_cpu_compute"), HasSubstr("is_cpu_compute"));
  EXPECT_EQ(tolerated(with(cpu)), Json::array({added}));
  for (const char* gpu : {"nvidia.com/gpu", "sunk.coreweave.com/accelerator"}) {
    SCOPED_TRACE(gpu);
    EXPECT_EQ(tolerated(with({{gpu, "1"}})), none);
    EXPECT_EQ(tolerated(with({{gpu, "0"}})), Json::array({added}));
    Json first = with(cpu);
    Json init = container({{gpu, "1"}});
    init["name"] = "init";
    first["initContainers"] = Json::array({init});
    EXPECT_EQ(tolerated(first), none);
  }
  // What it tolerates already is kept, and is added to only if it does not do.
  const Json own = {{"key", "example.com/only"}, {"operator", "Exists"}, {"effect", "NoSchedule"}};
  const Json whatever = {{"key", "is_cpu_compute"}, {"operator", "Exists"}};
  const Json other = {{"key", "is_cpu_compute"}, {"operator", "Exists"}, {"effect", "NoExecute"}};
  EXPECT_EQ(tolerated(with(cpu, Json::array({own}))), Json::array({own, added}));
  EXPECT_EQ(tolerated(with(cpu, Json::array({other}))), Json::array({other, added}));
  for (const Json& enough : {added, whatever})
    EXPECT_EQ(tolerated(with(cpu, Json::array({enough}))), Json::array({enough}));
}

}  // namespace
}  // namespace muster::testing
