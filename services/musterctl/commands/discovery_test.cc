#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/musterctl/commands/testing/commands_test_base.h"

// What tells what there is: api-resources, version, explain of fields, completion; and the
// manifests that the finder writes.
namespace muster::musterctl {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class DiscoveryTest : public CommandsTest {
 protected:
  void SetUp() override { api_.items[Kind::kNodePool] = {ReferencePool()}; }
  std::vector<std::string> Completed(std::vector<std::string> words) {
    words.insert(words.begin(), {"__complete", "--"});
    EXPECT_EQ(RunLine(words), kDone) << err();
    return absl::StrSplit(out(), '\n', absl::SkipEmpty());
  }
};

// Whoever types a cluster's line is not to be offered the names of another.
TEST_F(DiscoveryTest, CompletionAsksWhereTheLineGoes) {
  const auto asked = [&](const std::vector<std::string>& words) {
    Completed(words);
    return absl::StrCat(options_.server, " ", options_.scope.organization, " ",
                        options_.scope.cluster);
  };
  const std::string here = "127.0.0.1:7600 acme example";
  EXPECT_EQ(asked({"delete", "np", ""}), here);
  EXPECT_EQ(asked({"delete", "np", "-n", "prod", ""}), "127.0.0.1:7600 acme prod");
  EXPECT_EQ(asked({"-nprod", "delete", "-l", "a=b", "np", ""}), "127.0.0.1:7600 acme prod");
  EXPECT_EQ(asked({"--server=far:1", "--organization", "bcme", "get", "np/ex"}),
            "far:1 bcme example");
  // The last word is the value of a flag.
  EXPECT_EQ(asked({"get", "nodes", "--cluster=prod", "--nodepool", ""}),
            "127.0.0.1:7600 acme prod");
  EXPECT_EQ(asked({"--server=far:1", "--cluster", ""}), "far:1 acme example");
  EXPECT_EQ(asked({"delete", "np", "--cluster=pr"}), here);
  EXPECT_EQ(asked({"get", "np", "--nosuch", "x", ""}), here);
}

TEST_F(DiscoveryTest, CompletionKnowsCommandsFlagsKindsAndNames) {
  EXPECT_THAT(Completed({"ge"}), ElementsAre("get"));
  EXPECT_THAT(Completed({""}), Contains("rollout"));
  EXPECT_THAT(Completed({""}), Not(Contains("__complete")));
  EXPECT_THAT(Completed({"get", "nodep"}), ElementsAre("nodepools"));
  EXPECT_THAT(Completed({"get", "nodepools", ""}), ElementsAre("example-nodepool"));
  EXPECT_THAT(Completed({"get", "np/ex"}), ElementsAre("np/example-nodepool"));
  EXPECT_THAT(Completed({"scale", ""}), ElementsAre("nodepool/example-nodepool"));
  EXPECT_THAT(Completed({"rollout", "st"}), ElementsAre("status"));
  EXPECT_THAT(Completed({"rollout", "status", "nodepool/"}),
              ElementsAre("nodepool/example-nodepool"));
  EXPECT_THAT(Completed({"get", "np", "--sort"}), ElementsAre("--sort-by"));
  EXPECT_THAT(Completed({"get", "nodes", "--nodepool", ""}), ElementsAre("example-nodepool"));
  EXPECT_THAT(Completed({"get", "nodes", "-o", "js"}), ElementsAre("json", "jsonpath="));
  // Of the formats those that the command has.
  EXPECT_THAT(Completed({"events", "-o", "y"}), ElementsAre("yaml"));
  EXPECT_THAT(Completed({"describe", "np", "-o", ""}), ElementsAre("wide"));
  EXPECT_THAT(Completed({"find", "placements", "-o", ""}), ElementsAre("json", "yaml"));
  EXPECT_THAT(Completed({"api-resources", "--output="}),
              ElementsAre("--output=name", "--output=wide"));
  EXPECT_THAT(Completed({"--cluster", "c", "get", "nodes", "-o", "wide", "--no"}),
              ElementsAre("--no-headers", "--nodepool"));
  EXPECT_THAT(Completed({"explain", "nodepool.spec.target"}),
              ElementsAre("nodepool.spec.targetNodes"));
  EXPECT_THAT(Completed({"nosuch", ""}), IsEmpty());
  // Where no server answers nothing is offered, and nothing said.
  api_.refusal_of_reads = absl::UnavailableError("away");
  EXPECT_THAT(Completed({"get", "np", ""}), IsEmpty());
  EXPECT_EQ(err(), "");
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_EQ(RunLine({"completion", shell}), kDone);
    EXPECT_THAT(out(), HasSubstr("__complete -- "));
  }
  EXPECT_EQ(RunLine({"completion", "tcsh"}), kWrongUse);
}

// What is offered first is not refused, and the next words are offered behind it.
TEST_F(DiscoveryTest, CompletionKnowsTheFirstWordsThatAreFixed) {
  lifecycle::v1::Cluster cluster;
  cluster.set_name("organizations/acme/clusters/example");
  api_.items[Kind::kCluster] = {cluster};
  EXPECT_THAT(Completed({"enable", ""}), ElementsAre("revision"));
  EXPECT_THAT(Completed({"enable", "revision", ""}), ElementsAre("nodepool/example-nodepool"));
  EXPECT_THAT(Completed({"allow", ""}), ElementsAre("removals"));
  EXPECT_THAT(Completed({"allow", "removals", ""}), ElementsAre("example"));
  EXPECT_THAT(Completed({"allow", "removals", "cluster/"}), ElementsAre("cluster/example"));
  EXPECT_EQ(RunLine({"allow", "removals", "example"}), kDone) << err();
}

TEST_F(DiscoveryTest, CompletionOfPlacementsOffersInstanceTypes) {
  capacity::v1::InstanceType type;
  for (const char* id : {"cd-gp-i96-icelake", "gd-8xa100-i128"}) {
    type.set_name(absl::StrCat("instanceTypes/", id));
    api_.items[Kind::kInstanceType].emplace_back(type);
  }
  EXPECT_THAT(Completed({"find", ""}), ElementsAre("placements"));
  EXPECT_THAT(Completed({"find", "placements", ""}),
              ElementsAre("cd-gp-i96-icelake=", "gd-8xa100-i128="));
  EXPECT_THAT(Completed({"find", "placements", "cd-gp-i96-icelake=2", "gd"}),
              ElementsAre("gd-8xa100-i128="));
  EXPECT_EQ(api_.listed.begin, "gd");
  EXPECT_THAT(Completed({"find", "placements", "gd-8xa100-i128=8"}), IsEmpty());
  EXPECT_THAT(Completed({"find", "placements", "gd-8xa100-i128=8", "--must"}),
              ElementsAre("--must-fit"));
}

// However many there are: the server leaves out what begins otherwise; where it does not, pages are
// gone through.
TEST_F(DiscoveryTest, CompletionAsksForWhatIsTyped) {
  for (int i = 0; i < 5; ++i) {
    lifecycle::v1::Node node;
    node.set_name(absl::StrCat("organizations/acme/clusters/example/nodePools/train/nodes/g", i));
    api_.items[Kind::kNode].emplace_back(node);
  }
  api_.page_size = 2;
  EXPECT_THAT(Completed({"get", "node", "train/g4"}), ElementsAre("train/g4"));
  EXPECT_EQ(api_.listed.begin, "train/g4");
  EXPECT_THAT(Completed({"cordon", "node/train/g3"}), ElementsAre("node/train/g3"));
  EXPECT_EQ(api_.listed.begin, "train/g3");
  EXPECT_THAT(Completed({"get", "nodes", "--nodepool", "ex"}), ElementsAre("example-nodepool"));
  EXPECT_EQ(api_.listed.begin, "ex");
  EXPECT_THAT(Completed({"drain", "no"}), SizeIs(5));
  EXPECT_EQ(api_.listed.begin, "");
  // What can be none of them is not asked for.
  api_.lists = 0;
  EXPECT_THAT(Completed({"drain", "g4"}), IsEmpty());
  EXPECT_EQ(api_.lists, 0);
}

TEST_F(DiscoveryTest, CompletionOfFlagsWithTheirValues) {
  EXPECT_THAT(Completed({"get", "nodes", "--nodepool=ex"}),
              ElementsAre("--nodepool=example-nodepool"));
  EXPECT_EQ(api_.listed.begin, "ex");
  EXPECT_THAT(Completed({"get", "nodes", "-o=js"}), ElementsAre("-o=json", "-o=jsonpath="));
  EXPECT_THAT(Completed({"apply", "--dry-run="}),
              ElementsAre("--dry-run=none", "--dry-run=server"));
  EXPECT_THAT(Completed({"get", "nodes", "--nosuch=e"}), IsEmpty());
}

TEST_F(DiscoveryTest, CompletionOffersTheKindsThatDeleteEditAndPatchTake) {
  const auto takes = [&](const std::string& command, const std::string& kind) {
    std::vector<std::string> line = {command, kind, "x"};
    if (command == "patch") line.insert(line.end(), {"-p", "{}"});
    if (command == "delete") line.emplace_back("--dry-run");
    return RunLine(line) != kWrongUse;
  };
  for (const char* command : {"delete", "edit", "patch"}) {
    const std::vector<std::string> offered = Completed({command, ""});
    for (const Kind kind : AllKinds()) {
      const std::string word(KindWord(kind));
      const bool is_offered = std::find(offered.begin(), offered.end(), word) != offered.end();
      EXPECT_EQ(is_offered, takes(command, word)) << command << " " << word;
    }
  }
  capacity::v1::Zone zone;
  zone.set_name("zones/A-1A");
  api_.items[Kind::kZone] = {zone};
  EXPECT_THAT(Completed({"delete", "zone", ""}), ElementsAre("A-1A"));
  EXPECT_THAT(Completed({"edit", "zone/"}), ElementsAre("zone/A-1A"));
}

TEST_F(DiscoveryTest, ExplainsFieldsBesideNodePools) {
  EXPECT_EQ(RunLine({"explain", "np.spec.targetNodes"}), kDone);
  EXPECT_THAT(out(), HasSubstr("FIELD: targetNodes <integer>\n\nDESCRIPTION:\n    Required. "
                               "Desired Nodes, 0 to 100,000."));
  EXPECT_EQ(RunLine({"explain", "nodepool", "--recursive"}), kDone);
  EXPECT_THAT(out(), HasSubstr("    scaleDownStrategy\t<string>\n"));
  EXPECT_EQ(RunLine({"explain", "nodepool.spec.nosuch"}), kFailed);
  EXPECT_THAT(err(), StartsWith("error: field \"nosuch\" does not exist; there are computeClass,"));
  EXPECT_EQ(RunLine({"explain", "nodepol.spec"}), kWrongUse);
  EXPECT_THAT(err(), HasSubstr("did you mean nodepool?"));
  EXPECT_THAT(api_.calls, IsEmpty());
  EXPECT_EQ(RunLine({"explain", "nodepool/a"}), kDone);
  EXPECT_THAT(api_.calls, ElementsAre("explain nodepool a"));
}

TEST_F(DiscoveryTest, ApiResourcesAndVersion) {
  EXPECT_EQ(RunLine({"api-resources"}), kDone);
  EXPECT_THAT(out(), HasSubstr("nodepools        np           compute.coreweave.com/v1alpha1   "
                               "cluster        NodePool\n"));
  EXPECT_EQ(RunLine({"api-resources", "-o", "wide", "--no-headers"}), kDone);
  EXPECT_THAT(out(), HasSubstr("get,list,watch,apply,patch,delete\n"));
  EXPECT_EQ(RunLine({"version"}), kDone);
  EXPECT_THAT(out(), HasSubstr("\nserver 127.0.0.1:7600 does not tell its version\n"));
  api_.caller.mutable_server()->set_version("9.8.7");
  api_.caller.mutable_server()->set_commit("0123456789ab");
  EXPECT_EQ(RunLine({"version"}), kDone);
  EXPECT_THAT(out(), HasSubstr("\nserver 127.0.0.1:7600 9.8.7 (0123456789ab)\n"));
  EXPECT_EQ(RunLine({"version", "--client"}), kDone);
  EXPECT_THAT(out(), StartsWith("musterctl 0."));
  const std::string one_line = out();
  EXPECT_EQ(std::count(one_line.begin(), one_line.end(), '\n'), 1);
}

// And they are lines that the parser takes, up to where a shell's words begin.
TEST_F(DiscoveryTest, EveryCommandHasExamples) {
  for (const Command& command : Commands()) {
    if (command.is_hidden) continue;
    EXPECT_THAT(Help(&command),
                HasSubstr(absl::StrCat("\nExamples:\n  musterctl ", command.name, " ")));
    for (const absl::string_view example : absl::StrSplit(command.examples, '\n')) {
      const std::vector<std::string> words =
          absl::StrSplit(example.substr(0, example.find_first_of("|>")), ' ', absl::SkipEmpty());
      const auto line = ParseArgs(words, [](const std::string&) { return std::nullopt; });
      EXPECT_TRUE(line.ok()) << example << ": " << line.status();
    }
  }
}

class FinderTest : public DiscoveryTest {
 protected:
  void SetUp() override {
    api_.placements.set_recommended_zone("B-1A");
    lifecycle::v1::Cluster cluster;
    cluster.set_name("organizations/acme/clusters/example");
    cluster.set_zone("B-1A");
    api_.items[Kind::kCluster] = {cluster};
    api_.applied.outcome = Outcome::kCreated;
  }
};

TEST_F(FinderTest, WritesTheManifestOfWhatItRecommends) {
  EXPECT_EQ(RunLine({"find", "placements", "t=4:spot", "-o", "yaml", "--name", "batch", "--labels",
                     "team=ml"}),
            kDone);
  EXPECT_EQ(out(),
            "# For a cluster in B-1A.\n"
            "apiVersion: compute.coreweave.com/v1alpha1\nkind: NodePool\nmetadata:\n  name: "
            "batch\nspec:\n"
            "  autoscaling: false\n  computeClass: spot\n  instanceType: t\n  lifecycle:\n"
            "    disableUnhealthyNodeEviction: true\n    scaleDownStrategy: IdleOnly\n  maxNodes: "
            "0\n  minNodes: 0\n"
            "  nodeLabels:\n    team: ml\n  targetNodes: 4\n");
  const std::string manifest = out();
  EXPECT_EQ(RunLine({"apply", "-f", "-"}, manifest), kDone) << err();
  EXPECT_EQ(out(), "nodepool/batch created\n");
  EXPECT_EQ(RunLine({"find", "placements", "T=4", "t=2:spot", "-o", "json"}), kDone);
  EXPECT_THAT(out(), HasSubstr("\"name\": \"t\""));
  EXPECT_THAT(out(), HasSubstr("\"name\": \"t-spot\""));
  // As from a terminal of Latin-1.
  EXPECT_EQ(RunLine({"find", "placements", "t=4", "-o", "json", "--labels=team=\xe4"}), kDone);
  EXPECT_THAT(out(), HasSubstr("\"team\": \"\xef\xbf\xbd\""));
}

// The line that applies it need not say so again.
TEST_F(FinderTest, AManifestForAClusterThatIsNamedSaysIt) {
  EXPECT_EQ(RunLine({"find", "placements", "t=4", "-o", "yaml", "-n", "example"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr("  cluster: example\n  name: t\n  organization: acme\n"));
  api_.placements.set_recommended_zone("C-1A");
  EXPECT_EQ(RunLine({"find", "placements", "t=4", "-o", "yaml", "-n", "example"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("the recommended zone is C-1A, and cluster \"example\" is in B-1A"));
  EXPECT_EQ(out(), "");
}

TEST_F(FinderTest, WritesEachManifestUnderANameOfItsOwn) {
  EXPECT_EQ(RunLine({"find", "placements", "T=4", "t=8", "t=1:spot", "T-2=2", "t=3", "-o", "yaml"}),
            kDone);
  const std::string manifests = out();
  for (const char* name : {"t", "t-2", "t-spot", "t-2-2", "t-3"})
    EXPECT_THAT(manifests, HasSubstr(absl::StrCat("\n  name: ", name, "\n")));
  EXPECT_EQ(RunLine({"apply", "-f", "-"}, manifests), kDone) << err();
  EXPECT_EQ(api_.resources.size(), 5u);
}

TEST_F(FinderTest, AppliesItInAClusterOfThatZone) {
  EXPECT_EQ(RunLine({"find", "placements", "t=4:spot", "u=1", "--apply", "--name", "batch"}), kDone)
      << err();
  EXPECT_THAT(out(), HasSubstr("nodepool/batch created\nnodepool/batch-2 created\n"));
  const auto& first = std::get<lifecycle::v1::NodePool>(api_.resources[0]);
  EXPECT_EQ(first.name(), "organizations/acme/clusters/example/nodePools/batch");
  EXPECT_EQ(first.spec().compute_class(), "spot");
  EXPECT_EQ(first.spec().target_nodes(), 4);
  EXPECT_EQ(RunLine({"find", "placements", "t=4", "--apply", "--name", "batch", "--must-fit"}),
            kDone);
  EXPECT_EQ(api_.calls.back(), "apply 7 must fit");
  EXPECT_EQ(RunLine({"find", "placements", "t=4", "--must-fit"}), kWrongUse);
  api_.placements.set_recommended_zone("C-1A");
  EXPECT_EQ(RunLine({"find", "placements", "t=4", "--apply", "--name", "batch"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("the recommended zone is C-1A, and cluster \"example\" is in B-1A"));
  api_.placements.clear_recommended_zone();
  EXPECT_EQ(RunLine({"find", "placements", "t=4", "-o", "yaml"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("no zone is recommended"));
  EXPECT_EQ(api_.resources.size(), 3u);
  EXPECT_EQ(RunLine({"find", "placements", "t=4", "--apply"}), kWrongUse);
  EXPECT_EQ(RunLine({"find", "placements", "t=4", "-o", "wide"}), kWrongUse);
}

TEST_F(FinderTest, NamesWhatWasNotTried) {
  api_.apply_answers = {[] { return BadField("spec.instance_type", "is none"); }};
  EXPECT_EQ(RunLine({"find", "placements", "t=4", "u=1", "--apply", "--name", "batch"}), kFailed);
  EXPECT_THAT(err(), StartsWith("note: not tried: nodepool/batch-2\nerror: spec.instance"));
}

// Neither is made where one of them is there: its labels, its size, its autoscaling would be gone.
TEST_F(FinderTest, PutsNothingInThePlaceOfANodePoolThatIsThere) {
  lifecycle::v1::NodePool pool;
  pool.set_name("organizations/acme/clusters/example/nodePools/batch-2");
  api_.items[Kind::kNodePool] = {pool};
  EXPECT_EQ(RunLine({"find", "placements", "t=4", "u=1", "--apply", "--name", "batch"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("nodepool \"batch-2\" is there already; choose another --name"));
  // Nor where it cannot be told: the look at the cluster is answered, the one at the pool is not.
  int looks = 0;
  api_.before_get = [&] {
    if (++looks == 2) api_.refusal_of_reads = absl::DeadlineExceededError("too late");
  };
  EXPECT_EQ(RunLine({"find", "placements", "t=4", "--apply", "--name", "new"}), kFailed);
  EXPECT_EQ(looks, 2);
  EXPECT_THAT(err(), HasSubstr("too late"));
  EXPECT_EQ(api_.resources.size(), 0u);
}

}  // namespace
}  // namespace muster::musterctl
