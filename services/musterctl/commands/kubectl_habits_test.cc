#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "services/musterctl/commands/testing/commands_test_base.h"

// What a person with kubectl in the fingers types.
namespace muster::musterctl {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kCluster[] = "organizations/acme/clusters/example";

class KubectlHabitsTest : public CommandsTest {
 protected:
  static lifecycle::v1::NodePool Pool(const std::string& name, int64_t nodes,
                                      const std::map<std::string, std::string>& labels = {}) {
    lifecycle::v1::NodePool pool = ReferencePool();
    pool.set_name(absl::StrCat(kCluster, "/nodePools/", name));
    pool.set_uid("uid-of-" + name);
    pool.mutable_spec()->set_target_nodes(nodes);
    for (const auto& [key, value] : labels)
      (*pool.mutable_spec()->mutable_node_labels())[key] = value;
    return pool;
  }
  static lifecycle::v1::Node NodeOf(const std::string& pool, const std::string& machine,
                                    const std::string& zone = "z1") {
    lifecycle::v1::Node node;
    node.set_name(absl::StrCat(kCluster, "/nodePools/", pool, "/nodes/", machine));
    node.set_pool_uid("uid-of-" + pool);
    node.set_state(lifecycle::v1::Node::STATE_PRODUCTION);
    (*node.mutable_desired()->mutable_labels())["zone"] = zone;
    return node;
  }
  void SetUp() override {
    api_.items[Kind::kNodePool] = {Pool("eval", 12, {{"team", "ml"}}), Pool("train", 3)};
    api_.items[Kind::kNode] = {NodeOf("train", "g1"), NodeOf("train", "g2", "z2"),
                               NodeOf("eval", "g10")};
  }
};

TEST_F(KubectlHabitsTest, SeveralNamesOfOneKindOrOfSeveral) {
  EXPECT_EQ(RunLine({"get", "np", "train", "eval", "-o", "name"}), kDone);
  EXPECT_EQ(out(), "nodepool/train\nnodepool/eval\n");
  EXPECT_EQ(RunLine({"get", "nodepool/train", "node/train/g1", "-o", "name"}), kDone);
  EXPECT_EQ(out(), "nodepool/train\nnode/train/g1\n");
  EXPECT_EQ(RunLine({"get", "np/train", "-o", "jsonpath={.metadata.name}"}), kDone);
  EXPECT_EQ(out(), "train");
  EXPECT_EQ(RunLine({"get", "np/train", "np/eval", "-o", "jsonpath={.items[*].metadata.name}"}),
            kDone);
  EXPECT_EQ(out(), "train eval");
  // One that is missing does not keep the others from being shown, and is told once.
  EXPECT_EQ(RunLine({"get", "np", "nosuch", "train", "-o", "name"}), kFailed);
  EXPECT_EQ(out(), "nodepool/train\n");
  EXPECT_EQ(err(), "error: nosuch does not exist.\n");
  EXPECT_EQ(RunLine({"get", "np", "nosuch", "train", "-o", "name", "--ignore-not-found"}), kDone);
  EXPECT_EQ(err(), "");
  // Where no server answers the second is not asked for.
  api_.refusal_of_reads = absl::UnavailableError("away");
  EXPECT_EQ(RunLine({"get", "np", "train", "eval"}), kFailed);
  EXPECT_EQ(err(), "error: away\n");
}

// kubectl tries all: who is used to that is told which were not.
TEST_F(KubectlHabitsTest, WhatIsLeftWhereTheServerGoesAwayIsNamed) {
  const std::string whole = absl::StrCat(kCluster, "/nodePools/train");
  api_.pools = {Pool("eval", 1), absl::UnavailableError("away")};
  EXPECT_EQ(RunLine({"rollout", "undo", "np/eval", "np/a", "np/b", whole}), kFailed);
  EXPECT_THAT(out(), StartsWith("nodepool/eval rolled back"));
  EXPECT_THAT(err(),
              HasSubstr(absl::StrCat("note: not tried: nodepool/b, nodepool/", whole, "\n")));
  EXPECT_THAT(err(), HasSubstr("error: away\n"));
  api_.refusals_of_lists = {{Kind::kQuota, absl::UnavailableError("away")}};
  EXPECT_EQ(RunLine({"get", "np,quotas,zones", "-o", "name"}), kFailed);
  EXPECT_THAT(err(), StartsWith("note: not tried: zones\n"));
}

TEST_F(KubectlHabitsTest, WhatIsLeftOfAnApplyIsNamed) {
  const std::string all =
      absl::StrCat(kTrainManifest, "---\n", absl::StrReplaceAll(kTrainManifest, {{"train", "b"}}),
                   "---\n", absl::StrReplaceAll(kTrainManifest, {{"train", "c"}}));
  api_.apply_answers = {[] { return absl::OkStatus(); }, [] { return BadField("spec.x", "no"); }};
  EXPECT_EQ(RunLine({"apply", "-f", "-"}, all), kFailed);
  EXPECT_THAT(out(), StartsWith("nodepool/train "));
  EXPECT_THAT(err(), StartsWith("note: not tried: nodepool/c\nerror: nodepool/b "));
}

TEST_F(KubectlHabitsTest, OfSeveralKindsTheOthersAreShownWhereOneIsRefused) {
  api_.refusals_of_lists = {{Kind::kQuota, absl::PermissionDeniedError("not for you")}};
  EXPECT_EQ(RunLine({"get", "quotas,np", "-o", "name"}), kFailed);
  EXPECT_EQ(out(), "nodepool/eval\nnodepool/train\n");
  EXPECT_EQ(err(), "error: not for you\n");
  EXPECT_EQ(RunLine({"get", "np,quotas", "-o", "jsonpath={.items[*].metadata.name}"}), kFailed);
  EXPECT_EQ(out(), "eval train");
  EXPECT_EQ(err(), "error: not for you\n");
  api_.refusals_of_lists[Kind::kNodePool] = absl::InternalError("broken");
  EXPECT_EQ(RunLine({"get", "np,quotas", "-o", "json"}), kFailed);
  EXPECT_EQ(out(), "");
  EXPECT_EQ(err(), "error: broken\nerror: not for you\n");
  // Wrong use is told alone.
  api_.refusals_of_lists.clear();
  EXPECT_EQ(RunLine({"get", "np,nodes", "--sort-by=.spec.targetNodes"}), kWrongUse);
  EXPECT_EQ(out(), "");
}

TEST_F(KubectlHabitsTest, WhatOneNamedIsFetchedByItsGet) {
  for (const std::vector<std::string>& line :
       std::vector<std::vector<std::string>>{{"get", "node", "g1"},
                                             {"get", "node/train/g1"},
                                             {"get", "np/train"},
                                             {"describe", "node/train/g1"}}) {
    EXPECT_EQ(RunLine(line), kDone) << err();
  }
  EXPECT_EQ(api_.lists, 0);
  EXPECT_GE(api_.gets, 4);
}

TEST_F(KubectlHabitsTest, NamesOfGetFeedTheOtherCommands) {
  EXPECT_EQ(RunLine({"get", "nodes", "-o", "name"}), kDone);
  EXPECT_EQ(out(), "node/train/g1\nnode/train/g2\nnode/eval/g10\n");
  EXPECT_EQ(RunLine({"protect", "node/train/g1", "node/train/g2", "--for=1h"}), kDone);
  EXPECT_EQ(RunLine({"protect", std::string("node/") + kCluster + "/nodePools/train/nodes/g1",
                     "--for=1h"}),
            kDone);
  EXPECT_THAT(api_.calls.back(), HasSubstr(absl::StrCat(kCluster, "/nodePools/train g1 ")));
  api_.calls.clear();
  EXPECT_EQ(RunLine({"scale", "nodepool/train", "nodepool/eval", "--replicas=4"}), kDone);
  EXPECT_EQ(out(), "nodepool/train scaled to 4\nnodepool/eval scaled to 4\n");
  EXPECT_EQ(RunLine({"scale", absl::StrCat(kCluster, "/nodePools/train"), "--nodes=4"}), kDone);
  EXPECT_EQ(out(), "nodepool/train scaled to 4\n");
  EXPECT_EQ(RunLine({"scale", "np/train", "--remove=node/train/g1"}), kDone);
  EXPECT_EQ(RunLine({"reconfigure", "nodepool/train", "--machine", "node/train/g1"}), kDone);
  EXPECT_EQ(RunLine({"pause", "nodepool/train"}), kDone);
  EXPECT_EQ(RunLine({"promote", "nodepool/train", "profile/np-1"}), kDone);
  EXPECT_EQ(RunLine({"rollback", "configuration/uid-of-train"}), kDone);
  EXPECT_EQ(RunLine({"explain", "nodepool/train"}), kDone);
  EXPECT_EQ(RunLine({"history", "node/train/g1"}), kDone);
  EXPECT_EQ(RunLine({"get", "nodes", "--nodepool=nodepool/train"}), kDone);
  EXPECT_EQ(RunLine({"publish", "release/stable~gpu-driver~570"}), kDone);
  EXPECT_THAT(
      api_.calls,
      ElementsAre("resize name: \"train\" target_nodes: 4", "resize name: \"eval\" target_nodes: 4",
                  absl::StrCat("resize name: \"", kCluster, "/nodePools/train\" target_nodes: 4"),
                  "resize name: \"train\" remove_machines: \"g1\"",
                  "reconfigure name: \"train\" machines: \"g1\"", "control 0 train",
                  "promote uid-of-train np-1", "rollback uid-of-train ", "explain nodepool train",
                  "changes node train/g1 20 infinite-past",
                  "publish channels/stable/components/gpu-driver/releases/570"));
}

// What is elsewhere has its whole name, which every command takes.
TEST_F(KubectlHabitsTest, AllClusters) {
  lifecycle::v1::NodePool other = Pool("far", 1);
  other.set_name("organizations/beta/clusters/c2/nodePools/far");
  api_.items[Kind::kNodePool].push_back(other);
  EXPECT_EQ(RunLine({"get", "np", "-A"}), kDone);
  EXPECT_EQ(options_.scope.organization, "-");
  EXPECT_EQ(options_.scope.cluster, "-");
  EXPECT_THAT(out(), StartsWith("ORGANIZATION   CLUSTER   NAME    INSTANCE TYPE "));
  EXPECT_THAT(out(), HasSubstr("\nbeta           c2        far "));
  EXPECT_EQ(RunLine({"get", "np", "-A", "-o", "name"}), kDone);
  EXPECT_THAT(out(), EndsWith("nodepool/organizations/beta/clusters/c2/nodePools/far\n"));
  // What is printed is applied where it was.
  EXPECT_EQ(RunLine({"get", "np", "-A", "-o", "yaml"}), kDone);
  const std::string all = out();
  EXPECT_THAT(all, HasSubstr("cluster: c2\n"));
  const auto read = ParseManifests("all.yaml", all, {"acme", "example"});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(std::get<lifecycle::v1::NodePool>(read->back().resource).name(), other.name());
  EXPECT_EQ(RunLine({"delete", "--wait=false", "-f", "-"}, all), kDone) << err();
  EXPECT_EQ(api_.calls.back(), absl::StrCat("delete ", other.name()));
  EXPECT_EQ(RunLine({"get", "np", "-A", "--field-selector=metadata.cluster=c2", "-o", "name"}),
            kDone);
  EXPECT_EQ(out(), absl::StrCat("nodepool/", other.name(), "\n")) << err();
  EXPECT_EQ(RunLine({"get", "np", "-A", "--sort-by=.metadata.cluster", "-o", "name"}), kDone);
  EXPECT_EQ(RunLine({"get", "np", "-A", "--organization=acme"}), kDone);
  EXPECT_EQ(options_.scope.organization, "acme");
  EXPECT_EQ(options_.scope.cluster, "-");
  EXPECT_EQ(RunLine({"-n", "c9", "get", "np"}), kDone);
  EXPECT_EQ(options_.scope.cluster, "c9");
}

TEST_F(KubectlHabitsTest, SelectorsSortingColumnsAndHeaders) {
  EXPECT_EQ(RunLine({"get", "nodes", "-l", "zone in (z1),zone", "-o", "name"}), kDone);
  EXPECT_EQ(out(), "node/train/g1\nnode/eval/g10\n");
  EXPECT_EQ(RunLine({"get", "np", "-l", "team=ml", "-o", "name"}), kDone);
  EXPECT_EQ(out(), "nodepool/eval\n");
  EXPECT_EQ(RunLine({"get", "np", "--field-selector", "spec.targetNodes=3", "-o", "name"}), kDone);
  EXPECT_EQ(out(), "nodepool/train\n");
  EXPECT_EQ(RunLine({"get", "np", "--field-selector", "spec.tagretNodes=3"}), kDone);
  EXPECT_EQ(err(),
            "note: none of the nodepools has a field spec.tagretNodes\nNo nodepools found.\n");
  EXPECT_EQ(RunLine({"get", "np", "--sort-by=.spec.targetNodes", "--no-headers", "-o",
                     "custom-columns=N:.metadata.name,W:.spec.targetNodes"}),
            kDone);
  EXPECT_EQ(out(), "train   3\neval    12\n");
  EXPECT_EQ(RunLine({"get", "np", "--sort-by=.nosuch"}), kWrongUse);
  EXPECT_EQ(err(), "error: --sort-by: nothing in the list has a field .nosuch\n");
  EXPECT_EQ(RunLine({"get", "np", "--show-labels"}), kDone);
  EXPECT_THAT(out(), HasSubstr("LABELS\n"));
  EXPECT_THAT(out(), HasSubstr("team=ml\n"));
  EXPECT_EQ(RunLine({"get", "np,nodes", "--no-headers", "-o", "custom-columns=N:.metadata.name"}),
            kDone);
  EXPECT_EQ(out(), "eval\ntrain\n\ng1\ng2\ng10\n");
  EXPECT_EQ(RunLine({"get", "np", "-o", "jsonpath={.items[7]}"}), kFailed);
  EXPECT_EQ(err(), "error: jsonpath: index 7 of a list that has 2\n");
}

// Whoever looks at a hundred thousand Nodes sees the first at once.
TEST_F(KubectlHabitsTest, NodesArePrintedAsTheirPagesCome) {
  api_.page_size = 1;
  EXPECT_EQ(RunLine({"get", "nodes", "-o", "custom-columns=NAME:.metadata.name,S:.status.state"}),
            kDone);
  EXPECT_EQ(out(), "NAME   S\ng1     PRODUCTION\ng2     PRODUCTION\ng10    PRODUCTION\n");
}

// One page has the one field, another the other.
TEST_F(KubectlHabitsTest, AFieldIsUnknownWhereNoPageHasIt) {
  api_.page_size = 1;
  std::get<lifecycle::v1::NodePool>(api_.items[Kind::kNodePool][0])
      .mutable_spec()
      ->set_description("first");
  std::get<lifecycle::v1::NodePool>(api_.items[Kind::kNodePool][1])
      .mutable_spec()
      ->set_compute_class("spot");
  const std::string text = "spec.description=x,";
  EXPECT_EQ(RunLine({"get", "np", "--field-selector", text + "spec.computeClass=y"}), kDone);
  EXPECT_EQ(err(), "No nodepools found.\n");
  EXPECT_EQ(RunLine({"get", "np", "--field-selector", text + "spec.no=y,spec.nix=y"}), kDone);
  EXPECT_EQ(err(),
            "note: none of the nodepools has a field spec.nix\n"
            "note: none of the nodepools has a field spec.no\nNo nodepools found.\n");
}

TEST_F(KubectlHabitsTest, AClusterThatDoesNotExistIsAnErrorThatNamesWhatNamedIt) {
  lifecycle::v1::Cluster other;
  other.set_name("organizations/acme/clusters/other");
  api_.items[Kind::kCluster] = {other};
  api_.items[Kind::kNodePool].clear();
  environment_["MUSTER_CLUSTER"] = "nosuch";
  const std::string by_variable =
      "error: cluster \"nosuch\" (named by MUSTER_CLUSTER) does not exist in organization "
      "\"acme\"; see "
      "musterctl get clusters\n";
  for (const std::vector<std::string>& line :
       std::vector<std::vector<std::string>>{{"get", "np"},
                                             {"get", "np", "-o", "json"},
                                             {"get", "np/train"},
                                             {"describe", "np", "train"},
                                             {"wait", "np/train"},
                                             {"delete", "np", "--all"}}) {
    EXPECT_EQ(RunLine(line), kFailed);
    EXPECT_EQ(err(), by_variable);
    EXPECT_EQ(out(), "");
  }
  EXPECT_EQ(RunLine({"get", "np", "--cluster=nix"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("cluster \"nix\" (named by --cluster)"));
  EXPECT_EQ(RunLine({"get", "zones"}), kDone);
  environment_["MUSTER_CLUSTER"] = "other";
  EXPECT_EQ(RunLine({"get", "np"}), kDone);
  EXPECT_EQ(err(), "No nodepools found.\n");
}

// Also where nothing, or nothing yet, would do.
TEST_F(KubectlHabitsTest, AClusterThatDoesNotExistIsAnErrorWhereNothingMayBe) {
  lifecycle::v1::Cluster other;
  other.set_name("organizations/acme/clusters/other");
  api_.items[Kind::kCluster] = {other};
  api_.items[Kind::kNodePool].clear();
  api_.items[Kind::kNode].clear();
  environment_["MUSTER_CLUSTER"] = "nosuch";
  const std::string manifest =
      "apiVersion: compute.coreweave.com/v1alpha1\nkind: NodePool\nmetadata: {name: a}\n"
      "spec: {instanceType: t, targetNodes: 1}\n";
  for (const std::vector<std::string>& line :
       std::vector<std::vector<std::string>>{{"get", "np", "-w"},
                                             {"get", "node/train/g1", "-w"},
                                             {"events", "-w"},
                                             {"get", "nodes", "--at=1h"},
                                             {"get", "np/train", "--ignore-not-found"},
                                             {"history", "np/train"},
                                             {"diff", "-f", "-"}}) {
    api_.streams = {{{{.type = type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END}}, absl::OkStatus()}};
    EXPECT_EQ(RunLine(line, manifest), line[0] == "diff" ? 2 : kFailed);
    EXPECT_THAT(err(), StartsWith("error: cluster \"nosuch\" (named by MUSTER_CLUSTER)"))
        << line[0];
    EXPECT_EQ(out(), "");
  }
  // A whole name says where it is; and a manifest may make the cluster.
  const std::string whole = "organizations/acme/clusters/other/nodePools/a";
  EXPECT_EQ(RunLine({"get", "np", whole, "--ignore-not-found"}), kDone);
  EXPECT_EQ(RunLine({"history", "np", whole}), kDone);
  EXPECT_EQ(RunLine({"wait", "nodepool/" + whole, "--for=deleted"}), kDone) << err();
  for (const std::vector<std::string>& line :
       std::vector<std::vector<std::string>>{{"get", "nodepool/" + whole}, {"get", "np", whole}}) {
    EXPECT_EQ(RunLine(line), kFailed);
    EXPECT_THAT(err(), Not(HasSubstr("nosuch")));
  }
  EXPECT_EQ(
      RunLine({"diff", "-f", "-"},
              manifest + "---\napiVersion: muster/v1\nkind: Cluster\nmetadata: {name: nosuch}\n"
                         "spec: {zone: A-1A}\n"),
      kFailed);
  EXPECT_EQ(err(), "");
}

// Who applies it may have another variable, another context, or none.
TEST_F(KubectlHabitsTest, WhatIsPrintedSaysWhereItIs) {
  lifecycle::v1::NodePool far = Pool("far", 1);
  far.set_name("organizations/beta/clusters/c2/nodePools/far");
  api_.items[Kind::kNodePool] = {far};
  environment_["MUSTER_ORGANIZATION"] = "beta";
  environment_["MUSTER_CLUSTER"] = "c2";
  for (const std::vector<std::string>& line :
       std::vector<std::vector<std::string>>{{"get", "np/far", "-o", "yaml"},
                                             {"get", "np", "-o", "yaml"},
                                             {"get", "np", "-o", "json"}}) {
    EXPECT_EQ(RunLine(line), kDone) << err();
    const auto read = ParseManifests("dump", out(), {"acme", "example"});
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(std::get<lifecycle::v1::NodePool>(read->back().resource).name(), far.name());
  }
}

TEST_F(KubectlHabitsTest, AManifestOfAnotherPlaceThanTheFlagsIsRefused) {
  const std::string pool =
      "{apiVersion: compute.coreweave.com/v1alpha1, kind: NodePool, metadata: {name: a, "
      "organization: acme, cluster: prod}, spec: {instanceType: t, targetNodes: 1}}\n";
  const std::string quota =
      "{apiVersion: muster/v1, kind: Quota, metadata: {organization: acme}, "
      "spec: {zone: Z, instanceType: t, limit: 1}}\n";
  for (const std::string verb : {"apply", "delete", "diff"}) {
    const int failed = verb == "diff" ? 2 : kFailed;
    EXPECT_EQ(RunLine({verb, "-f", "-", "--cluster=test"}, pool), failed);
    EXPECT_EQ(err(),
              "error: standard input: document 1, line 1: nodepool/a: metadata.cluster is "
              "\"prod\", and --cluster says \"test\"; leave out one of them\n");
    EXPECT_EQ(RunLine({verb, "-f", "-", "--organization=beta"}, quota), failed);
    EXPECT_THAT(err(), HasSubstr("quota/Z~t~default: metadata.organization is \"acme\", and "));
  }
  EXPECT_EQ(RunLine({"apply", "-f", "-", "--cluster=", "--dry-run"}, pool), kWrongUse);
  EXPECT_EQ(err(), "error: --cluster: is empty; say which, or leave it out\n");
  EXPECT_EQ(RunLine({"get", "np", "--server=", "--organization="}), kWrongUse);
  EXPECT_EQ(err(), "error: --server: is empty; say which, or leave it out\n");
  EXPECT_THAT(api_.calls, IsEmpty());
  EXPECT_EQ(RunLine({"apply", "-f", "-", "--cluster=prod", "--organization=acme"}, pool), kDone);
  EXPECT_EQ(RunLine({"apply", "-f", "-", "--cluster=test"}, quota), kDone) << "is in no cluster";
  environment_["MUSTER_CLUSTER"] = "test";
  EXPECT_EQ(RunLine({"apply", "-f", "-"}, pool), kDone) << "what is not said on the line";
}

// Not that of the scope, which nobody spoke of.
TEST_F(KubectlHabitsTest, ApplyTellsOfTheClusterThatTheManifestNames) {
  lifecycle::v1::Cluster other;
  other.set_name("organizations/acme/clusters/other");
  api_.items[Kind::kCluster] = {other};
  api_.refusal = absl::NotFoundError("clusters/c9 does not exist.");
  const std::string of_c9 =
      "{apiVersion: compute.coreweave.com/v1alpha1, kind: NodePool, metadata: {name: a, cluster: "
      "c9}, spec: {instanceType: t, targetNodes: 1}}\n";
  EXPECT_EQ(RunLine({"apply", "-f", "-"}, of_c9), kFailed);
  EXPECT_THAT(err(),
              HasSubstr("(standard input: document 1, line 1): clusters/c9 does not exist."));
  EXPECT_EQ(RunLine({"apply", "-f", "-"}, kTrainManifest), kFailed);
  EXPECT_THAT(err(),
              StartsWith("error: cluster \"example\" (named by the context, or by default)"));
}

TEST_F(KubectlHabitsTest, LabelsAreSiftedByTheServerToo) {
  EXPECT_EQ(RunLine({"get", "np", "-l", "team=ml", "-o", "name"}), kDone);
  EXPECT_EQ(out(), "nodepool/eval\n") << "whatever the server did";
  EXPECT_EQ(api_.listed.filter, "(spec.node_labels.\"team\" = \"ml\")");
  EXPECT_EQ(RunLine({"get", "nodes", "--nodepool=train", "-l", "zone", "-o", "json"}), kDone);
  EXPECT_EQ(api_.listed.filter, "desired.labels:\"zone\"");
  EXPECT_EQ(api_.listed.pool, "train");
  // A field that none has is told of where all are seen.
  EXPECT_EQ(RunLine({"get", "nodes", "-l", "zone", "--field-selector", "status.x=1"}), kDone);
  EXPECT_EQ(api_.listed.filter, "");
  EXPECT_EQ(RunLine({"get", "np", "-l", "team=" + std::string(1024, 'a')}), kDone);
  EXPECT_EQ(api_.listed.filter, "") << "longer than a server takes";
}

TEST_F(KubectlHabitsTest, TablesFitTheTerminalAndAreInColourUnlessNot) {
  NarrowTerminal terminal;
  terminal_at_ = &terminal;
  capacity::v1::Machine made;
  made.set_name("machines/a-name-that-is-never-cut");
  made.set_zone("US-EAST-04A-with-a-long-name");
  made.set_instance_type("gd-8xa100-i128-with-a-long-name");
  made.set_state(capacity::v1::Machine::STATE_IN_REPAIR);
  api_.items[Kind::kMachine] = {made};
  EXPECT_EQ(RunLine({"get", "machines"}), kDone);
  EXPECT_THAT(out(), StartsWith("\x1b[1mNAME\x1b[0m "));
  EXPECT_THAT(out(), HasSubstr("\x1b[31mIN_REPAIR\x1b[0m"));
  environment_["NO_COLOR"] = "1";
  EXPECT_EQ(RunLine({"get", "machines"}), kDone);
  EXPECT_THAT(out(), Not(HasSubstr("\x1b")));
  EXPECT_THAT(out(), HasSubstr("a-name-that-is-never-cut   "));
  EXPECT_THAT(out(), HasSubstr(".."));
  for (const absl::string_view line : absl::StrSplit(out(), '\n'))
    EXPECT_LE(line.size(), 80u) << line;
  EXPECT_EQ(RunLine({"get", "machines", "-o", "wide"}), kDone);
  EXPECT_THAT(out(), HasSubstr("gd-8xa100-i128-with-a-long-name"));
}

TEST_F(KubectlHabitsTest, DeleteWaitsUnlessTold) {
  api_.changed.set_uid("uid-of-train");
  api_.pools = {Pool("train", 3), absl::NotFoundError("gone")};
  EXPECT_EQ(RunLine({"delete", "np/train"}), kDone);
  EXPECT_THAT(out(), StartsWith("nodepool/train deleted\n  0.0s  target 3"));
  EXPECT_THAT(out(), EndsWith("nodepool/train is gone\n"));
  // Another of the name is not waited for.
  lifecycle::v1::NodePool next = Pool("train", 3);
  next.set_uid("another");
  api_.pools = {next};
  EXPECT_EQ(RunLine({"delete", "np/train"}), kDone);
  EXPECT_EQ(out(), "nodepool/train deleted\n  0.0s  gone\nnodepool/train is gone\n");
  api_.pools = {Pool("train", 3)};
  EXPECT_EQ(RunLine({"delete", "np/train", "--wait=false"}), kDone);
  EXPECT_EQ(out(), "nodepool/train deleted\n");
  EXPECT_EQ(RunLine({"delete", "np/train", "--timeout=2s"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("nodepool/train is not gone after 2s"));
  api_.calls.clear();
  EXPECT_EQ(RunLine({"delete", "np", "-l", "team=ml", "--wait=false"}), kDone);
  EXPECT_EQ(RunLine({"delete", "np", "--all", "--wait=false"}), kDone);
  EXPECT_THAT(api_.calls, ElementsAre("delete eval", "delete eval", "delete train"));
}

TEST_F(KubectlHabitsTest, DeleteOfAllTakesWhatHasGoneMeanwhileForDeleted) {
  api_.refusal = absl::NotFoundError("it does not exist");
  for (const std::vector<std::string>& chosen :
       std::vector<std::vector<std::string>>{{"--all"}, {"-l", "team=ml"}}) {
    std::vector<std::string> line = {"delete", "np"};
    line.insert(line.end(), chosen.begin(), chosen.end());
    api_.calls.clear();
    EXPECT_EQ(RunLine(line), kDone);
    EXPECT_EQ(out(), "");
    EXPECT_EQ(err(), "");
    EXPECT_FALSE(api_.calls.empty());
  }
  EXPECT_EQ(RunLine({"delete", "np/train"}), kFailed) << "by its name";
}

TEST_F(KubectlHabitsTest, WaitForConditionsFieldsAndDeletion) {
  EXPECT_EQ(RunLine({"wait", "np/train", "np/eval", "--for=condition=attarget"}), kDone);
  EXPECT_EQ(out(), "nodepool/train condition met\nnodepool/eval condition met\n");
  EXPECT_EQ(RunLine({"wait", "np/train", "--for=condition=AtTarget=false", "--timeout=1s"}),
            kFailed);
  EXPECT_EQ(
      err(),
      "nodepool/train: AtTarget is True (TargetMet: NodePool has reached its target node count.)\n"
      "error: timed out waiting for condition=AtTarget=false of nodepool/train\n");
  EXPECT_EQ(RunLine({"wait", "np/train", "--for=condition=Ready", "--timeout=1s"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("nodepool/train: it has no condition Ready\n"));
  *std::get<lifecycle::v1::NodePool>(api_.items[Kind::kNodePool][1])
       .mutable_status()
       ->add_conditions() = *SummedUpPool().status().conditions().rbegin();
  EXPECT_EQ(RunLine({"wait", "np/train", "--for=condition=Ready"}), kDone);
  EXPECT_EQ(RunLine({"wait", "np/train", "--for=jsonpath={.spec.targetNodes}=3"}), kDone);
  EXPECT_EQ(RunLine({"wait", "node/train/g2", "--for=jsonpath={.status.state}"}), kDone);
  EXPECT_EQ(RunLine({"wait", "np/train", "--for=jsonpath={.spec.targetNodes}=4", "--timeout=1s"}),
            kFailed);
  EXPECT_THAT(err(), HasSubstr("nodepool/train: it is \"3\"\n"));
  EXPECT_EQ(RunLine({"wait", "np/nosuch", "--for=delete"}), kDone);
  EXPECT_EQ(out(), "nodepool/nosuch condition met\n");
  api_.items[Kind::kCluster] = {lifecycle::v1::Cluster()};  // not the one that is meant
  EXPECT_EQ(RunLine({"wait", "np/nosuch", "--for=delete"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("does not exist in organization"));
  EXPECT_EQ(RunLine({"wait", "zone/nosuch", "--for=delete"}), kDone);
  api_.items[Kind::kCluster].clear();
  EXPECT_EQ(RunLine({"wait", "np/nosuch", "--for=create", "--timeout=1s"}), kFailed);
  EXPECT_EQ(RunLine({"wait", "np", "--all", "--for=create"}), kDone);
  EXPECT_EQ(out(), "nodepool/eval condition met\nnodepool/train condition met\n");
}

TEST_F(KubectlHabitsTest, DescribeOfEveryKind) {
  quota::v1::Quota quota;
  quota.set_name("organizations/acme/quotas/A~t~default");
  quota.set_limit(7);
  api_.items[Kind::kQuota] = {quota};
  EXPECT_EQ(RunLine({"describe", "quota/A~t~default"}), kDone);
  EXPECT_THAT(out(), StartsWith("Name:         A~t~default\nNamespace:\n"));
  EXPECT_THAT(out(), HasSubstr("Limit:  "));
  EXPECT_THAT(out(), Not(HasSubstr("Events:")));
  EXPECT_EQ(RunLine({"describe", "np"}), kDone);
  EXPECT_THAT(out(), HasSubstr("<none>\n\n\nName:         train\n"));
}

TEST_F(KubectlHabitsTest, EventsByObjectTypeAndTimeNewestLast) {
  lifecycle::v1::Event late =
      PoolEvent("Late", 1, "2025-06-09T14:50:00Z", "2025-06-09T14:58:00Z", "m");
  lifecycle::v1::Event bad =
      PoolEvent("Bad", 1, "2025-06-09T14:40:00Z", "2025-06-09T14:41:00Z", "m");
  bad.set_type("Warning");
  lifecycle::v1::Event of_node =
      PoolEvent("OfNode", 1, "2025-06-09T14:42:00Z", "2025-06-09T14:42:00Z", "m");
  of_node.set_object(absl::StrCat(kCluster, "/nodePools/train/nodes/g1"));
  api_.items[Kind::kEvent] = {late, bad, of_node};
  const auto reasons = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), "events");
    flags.insert(flags.end(), {"--no-headers", "-o", "custom-columns=R:.reason"});
    EXPECT_EQ(RunLine(flags), kDone) << err();
    return absl::StrReplaceAll(out(), {{"\n", " "}});
  };
  EXPECT_EQ(reasons({}), "Bad OfNode Late ");
  EXPECT_EQ(reasons({"--types=warning"}), "Bad ");
  EXPECT_EQ(reasons({"--since=5m"}), "Late ");
  EXPECT_EQ(reasons({"--for=np/train"}), "OfNode ");
  EXPECT_EQ(reasons({"--for=node/train/g1"}), "OfNode ");
  EXPECT_EQ(reasons({"--for=nodepool/example-nodepool", "--types=Normal,Warning"}), "Bad Late ");
  EXPECT_EQ(reasons({"--for=nodepool/gone"}), "");
  EXPECT_EQ(err(), "No events found.\n");
}

// A cluster may be called as a collection is.
TEST_F(KubectlHabitsTest, EventsOfANodeAreNotThoseOfAPoolInAClusterNamedNodes) {
  lifecycle::v1::Event of_pool =
      PoolEvent("OfPool", 1, "2025-06-09T14:40:00Z", "2025-06-09T14:40:00Z", "m");
  of_pool.set_object("organizations/acme/clusters/nodes/nodePools/g1");
  lifecycle::v1::Event of_node =
      PoolEvent("OfNode", 1, "2025-06-09T14:42:00Z", "2025-06-09T14:42:00Z", "m");
  of_node.set_object("organizations/acme/clusters/nodes/nodePools/train/nodes/g1");
  api_.items[Kind::kEvent] = {of_pool, of_node};
  EXPECT_EQ(RunLine({"events", "--for=node/g1", "--no-headers", "-o", "custom-columns=R:.reason"}),
            kDone)
      << err();
  EXPECT_EQ(out(), "OfNode\n");
}

// The scope's need not even be there.
TEST_F(KubectlHabitsTest, EventsOfAWholeNameAreLookedForInItsCluster) {
  const std::string cluster = "organizations/acme/clusters/c2";
  const std::string pool = cluster + "/nodePools/train";
  lifecycle::v1::Cluster there;
  there.set_name(cluster);
  api_.items[Kind::kCluster] = {there};
  lifecycle::v1::Event event =
      PoolEvent("There", 1, "2025-06-09T14:50:00Z", "2025-06-09T14:50:00Z", "m");
  event.set_object(pool + "/nodes/g1");
  api_.items[Kind::kEvent] = {event};
  EXPECT_EQ(RunLine({"events", "--for=node/" + pool + "/nodes/g1"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr("There"));
  EXPECT_EQ(api_.listed.cluster, cluster);
  // A NodePool that is gone.
  api_.lists = 0;
  api_.before_list = [this] {
    api_.refusal_of_reads =
        api_.lists == 1 ? absl::NotFoundError("train does not exist.") : absl::OkStatus();
  };
  EXPECT_EQ(RunLine({"events", "--for=nodepool/" + pool}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr("There"));
  EXPECT_EQ(api_.listed.pool, "");
  EXPECT_EQ(api_.listed.cluster, cluster);
  api_.before_list = [] {};
  api_.items[Kind::kEvent].clear();
  for (const std::string& about : {"node/" + pool + "/nodes/g1", "nodepool/" + pool}) {
    EXPECT_EQ(RunLine({"events", "--for=" + about}), kDone);
    EXPECT_EQ(err(), "No events found.\n");
  }
  api_.refusal_of_reads = absl::NotFoundError("c2 does not exist.");
  for (const std::vector<std::string>& line : std::vector<std::vector<std::string>>{
           {"events", "--for=nodepool/" + pool}, {"get", "events", "--nodepool=" + pool}}) {
    EXPECT_EQ(RunLine(line), kFailed);
    EXPECT_THAT(err(), HasSubstr("c2 does not exist."));
  }
}

// Of all clusters the server tells of the events of others, too.
TEST_F(KubectlHabitsTest, EventsOfANodePoolOfAllClusters) {
  const auto about = [](const std::string& reason, const std::string& object) {
    lifecycle::v1::Event event =
        PoolEvent(reason, 1, "2025-06-09T14:50:00Z", "2025-06-09T14:50:00Z", "m");
    event.set_object(object);
    return event;
  };
  api_.items[Kind::kEvent] = {
      about("Here", absl::StrCat(kCluster, "/nodePools/train")),
      about("There", "organizations/acme/clusters/c2/nodePools/train/nodes/g1"),
      about("Other", absl::StrCat(kCluster, "/nodePools/trainer"))};
  const auto reasons = [&](std::vector<std::string> line) {
    line.insert(line.end(), {"-A", "--no-headers", "-o", "custom-columns=R:.reason"});
    EXPECT_EQ(RunLine(line), kDone) << err();
    return out();
  };
  EXPECT_EQ(reasons({"get", "events", "--nodepool=train"}), "Here\nThere\n");
  EXPECT_EQ(reasons({"events", "--for=nodepool/train"}), "Here\nThere\n");
  EXPECT_EQ(reasons({"get", "events", "--nodepool=nodepool/eval"}), "");
  EXPECT_EQ(err(), "No events found.\n");
}

TEST_F(KubectlHabitsTest, FoldersAreReadByNameAndWithRAsAWhole) {
  const std::string folder = absl::StrCat(::testing::TempDir(), "/manifests.", getpid());
  std::filesystem::create_directories(folder + "/sub");
  const auto write = [&](const std::string& file, const std::string& name) {
    std::ofstream(folder + "/" + file)
        << "apiVersion: compute.coreweave.com/v1alpha1\nkind: NodePool\nmetadata: {name: " << name
        << "}\nspec: {instanceType: t, targetNodes: 1}\n";
  };
  write("b.yaml", "b");
  write("a.yml", "a");
  write("sub/c.json.yaml", "c");
  write("notes.txt", "not-a-manifest");
  EXPECT_EQ(RunLine({"apply", "-f", folder}), kDone);
  EXPECT_EQ(out(), "nodepool/a unchanged\nnodepool/b unchanged\n");
  EXPECT_EQ(RunLine({"apply", "-Rf", folder, "--dry-run=server"}), kDone);
  EXPECT_EQ(out(),
            "nodepool/a would be unchanged\nnodepool/b would be unchanged\nnodepool/c would be "
            "unchanged\n");
  EXPECT_EQ(RunLine({"apply", "-f", folder, "-f", folder + "/a.yml"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("nodepool/a is there twice, also in"));
  EXPECT_EQ(RunLine({"apply", "-f", folder, "--dry-run=none"}), kDone);
  EXPECT_EQ(out(), "nodepool/a unchanged\nnodepool/b unchanged\n");
  // A part of it alone is not what was meant.
  for (const char* lost : {"nowhere", "z.yaml"}) {
    std::filesystem::create_symlink(lost, folder + "/z.yaml");
    EXPECT_EQ(RunLine({"apply", "-f", folder}), kFailed);
    EXPECT_EQ(err(), absl::StrCat("error: ", folder, "/z.yaml: cannot be read\n"));
    EXPECT_EQ(out(), "");
    std::filesystem::remove(folder + "/z.yaml");
  }
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  EXPECT_EQ(RunLine({"apply", "-f", folder}), kFailed);
  EXPECT_THAT(err(), HasSubstr("has no *.yaml, *.yml or *.json; see -R"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace muster::musterctl
