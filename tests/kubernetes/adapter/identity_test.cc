#include <unistd.h>

#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/kubernetes/adapter/adapter_test_base.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kRefused[] = "muster_kubernetes_cluster_refused 1\n";
constexpr char kServed[] = "muster_kubernetes_cluster_refused 0\n";
constexpr char kLeads[] = "leader_election_master_status{name=\"muster-kubernetes\"} 1\n";

std::string UidOf(kubernetes::Client& client, const std::string& path) {
  const auto found = client.Get(path);
  return found.ok() ? (*found)["metadata"]["uid"].get<std::string>() : "none";
}

// Which Kubernetes the adapter is at. Each test has a AdapterStack of its own.
class IdentityTest : public AdapterTestBase {
 protected:
  AdapterStack& stack() override { return stack_; }

  bool StatusMatches(const char* line) { return absl::StrContains(stack_.AdapterMetrics(), line); }
  void StartAt(const ApiServer& server, std::vector<std::string> flags = {}) {
    flags.push_back(absl::StrCat("--kubeconfig=", server.kubeconfig()));
    stack_.StartAdapter(0, flags);
  }
  // Where the adapter's Lease is.
  static void MakeNamespace(const ApiServer& server) {
    const auto made = server.Connect()->Create(
        kNamespacesPath,
        {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "muster-system"}}}});
    ASSERT_TRUE(made.ok()) << made.status();
  }
  static std::string KubernetesOf(const ApiServer& server) {
    return UidOf(*server.Connect(), "/api/v1/namespaces/kube-system");
  }
  std::string ClusterUid() {
    const Finished shown = stack_.muster().Ctl({"get", "cluster", "example", "-o", "json"});
    return Json::parse(shown.output).value(Json::json_pointer("/status/kubernetesUid"), "");
  }
  std::map<std::string, std::string> NodeUids() {
    std::map<std::string, std::string> uids;
    for (const Json& node : stack_.Nodes())
      uids[node["metadata"]["name"]] = node["metadata"]["uid"];
    return uids;
  }

  AdapterStack stack_;
};

TEST_F(IdentityTest, AnotherKubernetesOfThatNameIsRefusedAndNothingGoes) {
  const std::string pool = Name();
  CreateHealthyPool(pool, {{"targetNodes", 2}});
  EXPECT_EQ(ClusterUid(), KubernetesOf(stack_.server())) << "bound at first contact: no pool was";
  const auto nodes = NodeUids();
  stack_.KillAdapter();

  const auto other = ApiServer::Start();
  StartAt(*other, {"--adopt_cluster"});
  Until([&] { return StatusMatches(kRefused); }, "the refusal");
  EXPECT_FALSE(MusterPool(pool).has_delete_time());
  EXPECT_EQ(MusterNodesOf(pool).size(), 2U);
  EXPECT_TRUE(absl::IsNotFound(other->Connect()->Get(kAdapterLease).status()));
  if (other->fake_or_null() != nullptr) {
    EXPECT_EQ(other->fake_or_null()->WritesBy("muster-kubernetes"), 0) << "no Lease either";
  }
  EXPECT_THAT(stack_.ServerLogs(),
              HasSubstr(absl::StrCat(
                  "musterctl bind cluster organizations/acme/clusters/example --kubernetes-uid=",
                  KubernetesOf(*other), " --replaces=", KubernetesOf(stack_.server()))));
  stack_.KillAdapter();

  stack_.StartAdapter();
  Until([&] { return StatusMatches(kLeads); }, "the adapter at work");
  EXPECT_TRUE(stack_.AwaitHealthy(pool, 2));
  EXPECT_EQ(NodeUids(), nodes);
}

TEST_F(IdentityTest, AnOrderHealsARefusal) {
  const auto other = ApiServer::Start();
  Until([&] { return StatusMatches(kLeads); }, "the first at work");
  const std::string first = KubernetesOf(stack_.server());
  Until([&] { return ClusterUid() == first; }, "the binding");
  ASSERT_EQ(stack_.TerminateAdapter(), 0);
  StartAt(*other);
  Until([&] { return StatusMatches(kRefused); }, "the refusal");
  MakeNamespace(*other);
  Ctl({"bind", "cluster", "example", absl::StrCat("--kubernetes-uid=", KubernetesOf(*other)),
       absl::StrCat("--replaces=", first)});
  Until([&] { return StatusMatches(kLeads) && StatusMatches(kServed); }, "the second at work");
  EXPECT_EQ(ClusterUid(), KubernetesOf(*other));
}

TEST_F(IdentityTest, AClusterThatIsTurnedOverIsLetGo) {
  Until([&] { return StatusMatches(kLeads); }, "the adapter at work");
  const std::string first = KubernetesOf(stack_.server());
  // It leads before it has bound its cluster.
  Until(
      [&] {
        const Finished told = stack_.muster().Ctl({"get", "cluster", "example", "-o", "yaml"});
        return told.output.find(first) != std::string::npos;
      },
      "the binding");
  Ctl({"bind", "cluster", "example", "--kubernetes-uid=another",
       absl::StrCat("--replaces=", first)});
  Until([&] { return !stack_.AdapterRuns(); }, "its end");
  stack_.StartAdapter();
  Until([&] { return StatusMatches(kRefused); }, "the refusal");
}

TEST_F(IdentityTest, OneWithPoolsIsNotAdoptedUnasked) {
  stack_.KillAdapter();
  const auto other = ApiServer::Start();
  MakeNamespace(*other);
  ApplyToMuster(
      "{apiVersion: muster/v1, kind: Cluster, metadata: {name: second}, spec: {zone: RNO2A}}");
  const std::string file = absl::StrCat(::testing::TempDir(), "/second-", getpid(), ".yaml");
  std::ofstream(file) << "{apiVersion: compute.coreweave.com/v1alpha1, kind: NodePool, metadata: "
                         "{name: p}, spec: {instanceType: gd-8xa100-i128, targetNodes: 0}}";
  Ctl({"apply", "-f", file, "--cluster=second"});
  StartAt(*other, {"--cluster=second", "--lease_name=second"});
  Until([&] { return StatusMatches(kRefused); }, "the refusal");
  Until(
      [&] {
        return absl::StrContains(stack_.ServerLogs(),
                                 "The cluster has NodePools, and nobody has said yet");
      },
      "its word in the log");
  stack_.KillAdapter();
  StartAt(*other, {"--cluster=second", "--lease_name=second", "--adopt_cluster"});
  Until([&] { return StatusMatches("leader_election_master_status{name=\"second\"} 1\n"); },
        "its work");
}

// Two Nodes are few: nothing would hold them back.
TEST_F(IdentityTest, AnotherClusterOfMustersIsRefusedAndNothingGoes) {
  const std::string pool = Name();
  CreateHealthyPool(pool, {{"targetNodes", 2}});
  const auto nodes = NodeUids();
  stack_.KillAdapter();
  StartAt(stack_.server(), {"--cluster=second"});
  Until([&] { return StatusMatches(kRefused); }, "the refusal");
  EXPECT_THAT(stack_.ServerLogs(), HasSubstr("is the cluster example already"));
  EXPECT_NE(stack_.muster().Ctl({"get", "cluster", "second"}).exit_code, 0) << "it was not made";
  stack_.KillAdapter();
  ApplyToMuster(
      "{apiVersion: muster/v1, kind: Cluster, metadata: {name: second}, spec: {zone: RNO2A}}");
  StartAt(stack_.server(), {"--cluster=second", "--adopt_cluster"});
  Until([&] { return StatusMatches(kRefused); }, "the refusal");
  stack_.KillAdapter();

  stack_.StartAdapter();
  Until([&] { return StatusMatches(kLeads); }, "the adapter at work");
  EXPECT_TRUE(stack_.AwaitHealthy(pool, 2));
  EXPECT_EQ(NodeUids(), nodes);
}

TEST_F(IdentityTest, AClusterThatMusterLostIsMissedUntilItIsMadeAgain) {
  constexpr char kMissed[] = "Muster does not have the cluster any more";
  stack_.StartAdapter(0, {"--refusal_retry=200ms"});
  const std::string own = KubernetesOf(stack_.server());
  Until([&] { return ClusterUid() == own; }, "the binding");
  Until([&] { return stack_.AdapterReady(); }, "its readiness");
  Ctl({"delete", "cluster", "example"});
  const std::string pool = Name();
  CreatePool(pool);
  ASSERT_TRUE(AwaitReason(pool, "Validated", "InternalError"));
  const Json validated = ConditionOf(stack_.GetNodePool(pool), "Validated");
  EXPECT_EQ(validated["status"], "Unknown");
  EXPECT_THAT(validated["message"], HasSubstr("does not have the cluster example any more"));
  Until([&] { return !stack_.AdapterReady(); }, "that it is not ready");
  EXPECT_TRUE(stack_.AdapterRuns());

  ApplyToMuster(
      "{apiVersion: muster/v1, kind: Cluster, metadata: {name: example}, spec: {zone: RNO2A}}");
  EXPECT_TRUE(stack_.AwaitHealthy(pool, 1));
  EXPECT_EQ(ClusterUid(), own);
  Until([&] { return stack_.AdapterReady(); }, "its readiness");
  const std::vector<std::string> told = absl::StrSplit(stack_.ServerLogs(), kMissed);
  EXPECT_EQ(told.size(), 2U) << "logged once";
}

TEST_F(IdentityTest, AClusterThatIsMadeAnewInAnotherZoneEndsTheAdapter) {
  stack_.StartAdapter();
  const std::string own = KubernetesOf(stack_.server());
  Until([&] { return ClusterUid() == own; }, "the binding");
  Ctl({"delete", "cluster", "example"});
  ApplyToMuster(
      "{apiVersion: muster/v1, kind: Cluster, metadata: {name: example}, spec: {zone: "
      "US-EAST-04A}}");
  Until([&] { return !stack_.AdapterRuns(); }, "its end");
  EXPECT_EQ(ClusterUid(), "") << "it is not bound to what the adapter does not serve";
}

// A load balancer, or a name, that leads elsewhere from now on.
TEST_F(IdentityTest, ARunningAdapterThatFindsItselfElsewhereEnds) {
  if (stack_.server().is_real()) GTEST_SKIP() << "a real API server does not become another one";
  FakeApiServer& server = *stack_.server().fake_or_null();
  const std::string pool = Name();
  CreateHealthyPool(pool, {{"targetNodes", 2}});
  const auto nodes = NodeUids();
  const auto before = server.Save();
  server.Restore(FakeApiServer().Save());
  Until([&] { return !stack_.AdapterRuns(); }, "its end");
  EXPECT_EQ(UidOf(stack_.client(), kAdapterLease), "none") << "not even a Lease was made there";
  EXPECT_FALSE(MusterPool(pool).has_delete_time());
  EXPECT_EQ(MusterNodesOf(pool).size(), 2U);
  server.Restore(before);
  stack_.StartAdapter();
  Until([&] { return StatusMatches(kLeads); }, "the adapter at work");
  EXPECT_TRUE(stack_.AwaitHealthy(pool, 2));
  EXPECT_EQ(NodeUids(), nodes);
}

// Whoever stayed would never lead again, and nobody would start it anew.
TEST_F(IdentityTest, SoDoesOneThatWaitsForTheLeaseAndTakesNone) {
  if (stack_.server().is_real()) GTEST_SKIP() << "a real API server does not become another one";
  FakeApiServer& server = *stack_.server().fake_or_null();
  Until([&] { return StatusMatches(kLeads); }, "the first at work");
  Until([&] { return ClusterUid() == KubernetesOf(stack_.server()); }, "the binding");
  stack_.StartAdapter(1);
  Until([&] { return stack_.AdapterReady(1); }, "the second waiting");
  const auto before = server.Save();
  FakeApiServer other;
  const auto client = kubernetes::Client::Create({.server = other.url()}, {});
  ASSERT_TRUE(client.ok()) << client.status();
  const auto create = [&](const std::string& collection, const Json& object) {
    const auto made = (*client)->Create(collection, object);
    ASSERT_TRUE(made.ok()) << made.status();
  };
  create(kNamespacesPath,
         {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "muster-system"}}}});
  const std::string lease = kAdapterLease;
  create(
      lease.substr(0, lease.rfind('/')),
      {{"apiVersion", "coordination.k8s.io/v1"},
       {"kind", "Lease"},
       {"metadata", {{"name", lease.substr(lease.rfind('/') + 1)}, {"namespace", "muster-system"}}},
       {"spec", {{"leaseDurationSeconds", 1}}}});
  server.Restore(other.Save());
  Until([&] { return !stack_.AdapterRuns(0) && !stack_.AdapterRuns(1); }, "their end");
  const auto left = stack_.client().Get(lease);
  ASSERT_TRUE(left.ok()) << left.status();
  EXPECT_FALSE((*left)["spec"].contains("holderIdentity")) << left->dump();
  server.Restore(before);
  stack_.StartAdapter();
  Until([&] { return StatusMatches(kLeads); }, "the adapter at work");
}

}  // namespace
}  // namespace muster::testing
