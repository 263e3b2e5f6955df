#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "services/musterctl/commands/testing/cells_test_base.h"

// Command lines over several cells.
namespace muster::musterctl {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(CellsTest, AListIsOfAllCellsAndSaysWhich) {
  EXPECT_EQ(RunLine({"get", "np", "-A", "--context=east,west"}), kDone) << err();
  EXPECT_EQ(
      out(),
      "CELL   ORGANIZATION   CLUSTER   NAME    INSTANCE TYPE    TARGET   QUEUED   INPROGRESS  "
      " CURRENT   VALIDATED   CAPACITY     QUOTA   AGE\n"
      "east   acme           c-east    train   gd-8xa100-i128   3        0        0           "
      " 1         Valid       Sufficient   Under   10m\n"
      "west   acme           c-west    eval    gd-8xa100-i128   12       0        0           "
      " 1         Valid       Sufficient   Under   10m\n");
  EXPECT_EQ(RunLine({"get", "zones", "--sort-by=.metadata.name", "--no-headers"}), kDone);
  EXPECT_EQ(out(), "east   EAST-1A   general      0\nwest   WEST-1A   general      0\n");
  EXPECT_EQ(RunLine({"get", "np", "-A", "--sort-by=.spec.targetNodes", "-o",
                     "custom-columns=CELL:.metadata.cell,N:.spec.targetNodes"}),
            kDone);
  EXPECT_EQ(out(), "CELL   N\neast   3\nwest   12\n");
  EXPECT_EQ(RunLine({"get", "np", "-A", "--field-selector=metadata.cell=west", "-o", "name"}),
            kDone);
  EXPECT_EQ(out(), "nodepool/organizations/acme/clusters/c-west/nodePools/eval\n");
  EXPECT_EQ(RunLine({"get", "np", "-A", "-o", "jsonpath={.items[*].metadata.cell}"}), kDone);
  EXPECT_EQ(out(), "east west");
  EXPECT_EQ(RunLine({"get", "np", "-A", "--context=west"}), kDone);
  EXPECT_THAT(out(), StartsWith("ORGANIZATION")) << "one is as it ever was";
  EXPECT_EQ(RunLine({"get", "np", "-A", "-o", "yaml", "--context=west"}), kDone);
  EXPECT_THAT(out(), Not(HasSubstr("cell:")));
}

TEST_F(CellsTest, WhatAllCellsHaveIsListedOfEachAndNamedOnce) {
  EXPECT_EQ(RunLine({"get", "releases", "--no-headers"}), kDone);
  EXPECT_THAT(out(), AllOf(HasSubstr("east   stable"), HasSubstr("west   stable")));
  EXPECT_EQ(RunLine({"get", "releases", "-o", "name"}), kDone);
  EXPECT_EQ(out(), "release/stable~gpu-driver~580.1\n");
  EXPECT_EQ(RunLine({"get", "release/stable~gpu-driver~580.1", "-o", "json"}), kDone);
  EXPECT_THAT(out(), AllOf(HasSubstr("\"cell\": \"east\""), HasSubstr("\"cell\": \"west\"")));
  EXPECT_EQ(RunLine({"describe", "release/stable~gpu-driver~580.1"}), kDone);
  EXPECT_THAT(out(), AllOf(ContainsRegex("Cell: +east\n"), ContainsRegex("Cell: +west\n")));
}

TEST_F(CellsTest, ACellThatDoesNotAnswerHidesNothingOfTheOthers) {
  Away(east_);
  EXPECT_EQ(RunLine({"get", "np,zones", "-A", "-o", "name"}), kFailed);
  EXPECT_EQ(out(),
            "nodepool/organizations/acme/clusters/c-west/nodePools/eval\n"
            "zone/WEST-1A\n");
  EXPECT_EQ(err(), "error: cell east: nobody is there (UNAVAILABLE)\n");
  EXPECT_EQ(east_.lists, 1) << "it is not asked again";
  EXPECT_EQ(RunLine({"get", "zone/WEST-1A", "zone/EAST-1A", "zone/X"}), kFailed);
  EXPECT_THAT(out(), HasSubstr("west   WEST-1A"));
  EXPECT_EQ(err(),
            "error: cell east: nobody is there (UNAVAILABLE)\n"
            "error: zone \"EAST-1A\" is in none of the cells that answer\n"
            "error: zone \"X\" is in none of the cells that answer\n");
  EXPECT_EQ(RunLine({"get", "zone/X", "--ignore-not-found"}), kFailed) << "it may be in the other";
  west_.events = {PoolEvent("Up", 1, "2025-06-09T14:50:00Z", "2025-06-09T14:50:00Z", "m")};
  EXPECT_EQ(RunLine({"describe", "nodepool/organizations/acme/clusters/c-west/nodePools/eval"}),
            kFailed);
  EXPECT_THAT(out(), ContainsRegex("Cell: +west\n"));
}

TEST_F(CellsTest, WhereNobodyAnswersItSaysWhatEachSays) {
  Away(east_);
  west_.refusal_of_reads = FromServer(absl::PermissionDeniedError("not you"));
  EXPECT_EQ(RunLine({"get", "np", "-A"}), kFailed);
  EXPECT_THAT(out(), IsEmpty());
  EXPECT_EQ(err(),
            "error: cell east: nobody is there (UNAVAILABLE)\n"
            "error: cell west: not you (PERMISSION_DENIED)\n");
  east_.refusal_of_reads = west_.refusal_of_reads = BadField("filter", "is none.");
  EXPECT_EQ(RunLine({"get", "np", "-A"}), kFailed);
  EXPECT_EQ(err(), "error: filter: is none. (INVALID_ARGUMENT)\n") << "what all say is said once";
}

class CellsWaitTest : public CellsTest {
 protected:
  CellsWaitTest() {
    lifecycle::v1::NodePool ready = SummedUpPool();
    ready.set_name(Pool("c-east", "train", 1).name());
    east_.items[Kind::kNodePool] = {ready};
  }
  // Of what east is asked of single things, it does not answer from that one on, before the other
  // one (from 1).
  void AwayFor(int from, int until) {
    east_.gets = 0;
    east_.before_get = [this, from, until] {
      east_.refusal_of_reads = absl::OkStatus();
      if (east_.gets >= from && east_.gets < until) Away(east_);
    };
  }
};

TEST_F(CellsWaitTest, GoesOnWhileACellThatMayHaveItIsAway) {
  AwayFor(1, 3);
  EXPECT_EQ(RunLine({"wait", "nodepool/train"}), kDone) << err();
  EXPECT_THAT(out(), AllOf(StartsWith("  0.0s  the server is away, trying again\n  0.5s  target 1"),
                           EndsWith("nodepool/train is healthy\n")));
  EXPECT_EQ(err(), "error: cell east: nobody is there (UNAVAILABLE)\n") << "once";
  AwayFor(1, 3);
  EXPECT_EQ(RunLine({"wait", "nodepool/train", "--for=create"}), kDone) << err();
  EXPECT_EQ(out(), "nodepool/train condition met\n");
  EXPECT_EQ(err(),
            "error: cell east: nobody is there (UNAVAILABLE)\n"
            "nodepool/train: the server is away, trying again\n");
}

TEST_F(CellsWaitTest, GoesOnWhileAllAreAwayAndSaysSoOnce) {
  Away(east_);
  Away(west_);
  EXPECT_EQ(RunLine({"wait", "nodepool/train", "--timeout=2s"}), kFailed);
  EXPECT_EQ(out(), "  0.0s  the server is away, trying again\n");
  EXPECT_EQ(err(),
            "error: cell east: nobody is there (UNAVAILABLE)\n"
            "error: nodepool/train is not healthy after 2s: cell west: nobody is there\n");
}

TEST_F(CellsWaitTest, EndsWhereACellThatMayHaveItRefuses) {
  east_.refusal_of_reads = FromServer(absl::PermissionDeniedError("not you"));
  EXPECT_EQ(RunLine({"wait", "nodepool/train"}), kFailed);
  EXPECT_EQ(err(),
            "error: cell east: not you (PERMISSION_DENIED)\n"
            "error: nodepool \"train\" is in none of the cells that answer\n");
  EXPECT_EQ(east_.gets, 1);
}

TEST_F(CellsWaitTest, ANodesOrderIsWaitedForWhileItsCellIsAway) {
  lifecycle::v1::Node node;
  node.set_name(Pool("c-east", "train", 1).name() + "/nodes/g1");
  node.set_state(lifecycle::v1::Node::STATE_PRODUCTION);
  node.mutable_orders()->mutable_drain_time()->set_seconds(1);
  east_.items[Kind::kNode] = {node};
  AwayFor(2, 4);  // once its NodePool is found
  EXPECT_EQ(RunLine({"drain", "node/train/g1", "--wait"}), kDone) << err();
  EXPECT_THAT(out(), AllOf(HasSubstr("  0.0s  the server is away, trying again\n"),
                           EndsWith("node/g1 is drained\n")));
}

TEST_F(CellsTest, EventsOfAllCellsAreInTheOrderOfTime) {
  const auto at = [](const char* reason, const char* time) {
    return PoolEvent(reason, 1, time, time, "m");
  };
  east_.items[Kind::kEvent] = {at("A", "2025-06-09T14:50:00Z"), at("C", "2025-06-09T14:52:00Z")};
  west_.items[Kind::kEvent] = {at("B", "2025-06-09T14:51:00Z")};
  EXPECT_EQ(RunLine({"events", "-A", "-o", "jsonpath={.items[*].metadata.cell}"}), kDone) << err();
  EXPECT_EQ(out(), "east west east");
}

TEST_F(CellsTest, AChangeGoesToTheCellThatHasIt) {
  EXPECT_EQ(RunLine({"scale", "nodepool/organizations/acme/clusters/c-west/nodePools/eval",
                     "--replicas=4"}),
            kDone)
      << err();
  EXPECT_THAT(east_.calls, IsEmpty());
  EXPECT_THAT(west_.calls, ElementsAre(StartsWith("resize ")));
  EXPECT_EQ(RunLine({"promote", "nodepool/train"}), kDone) << err();
  EXPECT_THAT(east_.calls, ElementsAre("promote uid-of-train "));
  EXPECT_EQ(RunLine({"patch", "np/train", "-p", "{\"spec\":{\"targetNodes\":5}}"}), kDone) << err();
  EXPECT_EQ(east_.calls.back(), "update spec.target_nodes");
  EXPECT_EQ(RunLine({"delete", "zone/WEST-1A"}), kDone) << err();
  EXPECT_EQ(west_.calls.back(), "delete WEST-1A");
  EXPECT_EQ(RunLine({"scale", "nodepool/none", "--replicas=4", "--cluster=c-east"}), kFailed);
  EXPECT_EQ(err(), "error: none does not exist.\n");
}

TEST_F(CellsTest, AChangeOfWhatSeveralHaveIsRefused) {
  west_.items[Kind::kNodePool].push_back(Pool("c-east", "train", 1));
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"scale", "nodepool/train", "--replicas=4"},
        {"delete", "nodepool/train", "--wait=false"},
        {"explain", "nodepool/train"}}) {
    EXPECT_EQ(RunLine(line), kFailed);
    EXPECT_EQ(err(),
              "error: nodepool \"train\" is in several cells: east, west; say which is meant, e.g. "
              "--context=east\n");
  }
  EXPECT_THAT(east_.calls, IsEmpty());
  EXPECT_THAT(west_.calls, IsEmpty());
  EXPECT_EQ(RunLine({"scale", "nodepool/train", "--replicas=4", "--context=east"}), kDone);
  EXPECT_EQ(east_.calls.size(), 1u);
}

TEST_F(CellsTest, AChangeIsRefusedWhileACellThatMayHaveItDoesNotAnswer) {
  Away(east_);
  EXPECT_EQ(RunLine({"scale", "nodepool/eval", "--replicas=4"}), kFailed);
  EXPECT_THAT(west_.calls, IsEmpty());
  EXPECT_EQ(err(),
            "error: cell east: nobody is there (UNAVAILABLE)\n"
            "error: nodepool \"eval\" is in cell west, and one that does not answer may have it, "
            "too: nothing was changed; --context=west says that this one is meant\n");
  EXPECT_EQ(RunLine({"patch", "np/eval", "-p", "{\"spec\":{\"targetNodes\":5}}"}), kFailed);
  EXPECT_THAT(west_.calls, IsEmpty()) << "although it was read";
}

constexpr char kMine[] =
    "apiVersion: compute.coreweave.com/v1alpha1\nkind: NodePool\nmetadata: {name: mine, cell: x}\n"
    "spec: {instanceType: t, targetNodes: 1}\n";

std::string ClusterIn(const std::string& id, const std::string& zone) {
  return absl::StrCat("apiVersion: muster/v1\nkind: Cluster\nmetadata: {name: ", id,
                      "}\nspec: {zone: ", zone, ", kubernetesVersion: '1.33'}\n");
}

TEST_F(CellsTest, AManifestGoesWhereItsClusterOrItsZoneIs) {
  EXPECT_EQ(RunLine({"apply", "-f", "-", "--cluster=c-west"}, kMine), kDone) << err();
  EXPECT_EQ(out(), "nodepool/mine unchanged (in west)\n");
  EXPECT_EQ(RunLine({"apply", "-f", "-"}, ClusterIn("new", "EAST-1A")), kDone) << err();
  EXPECT_EQ(out(), "cluster/new unchanged (in east)\n");
  EXPECT_EQ(RunLine({"apply", "-f", "-"},
                    "apiVersion: muster/v1\nkind: Quota\nmetadata: {organization: acme}\n"
                    "spec: {zone: WEST-1A, instanceType: t, computeClass: default, limit: 3}\n"
                    "---\napiVersion: muster/v1\nkind: MachineSet\nmetadata: {name: m}\n"
                    "spec: {zone: WEST-1A, instanceType: t, count: 2}\n"),
            kDone)
      << err();
  EXPECT_EQ(east_.resources.size(), 1u);
  EXPECT_EQ(west_.resources.size(), 3u);
}

TEST_F(CellsTest, AManifestThatBelongsNowhereIsRefused) {
  EXPECT_EQ(RunLine({"apply", "-f", "-", "--cluster=none"}, kMine), kFailed);
  EXPECT_THAT(err(), HasSubstr("no cell has cluster \"none\"; --context=NAME says which"));
  EXPECT_EQ(RunLine({"apply", "-f", "-"}, ClusterIn("new", "NORTH-1A")), kFailed);
  EXPECT_THAT(err(), HasSubstr("no cell has zone \"NORTH-1A\""));
  EXPECT_EQ(RunLine({"apply", "-f", "-"},
                    "apiVersion: muster/v1\nkind: Zone\nmetadata: {name: NORTH-1A}\n"
                    "spec: {access: general, instanceTypes: [t]}\n"),
            kFailed);
  EXPECT_THAT(err(), HasSubstr("no cell has zone \"NORTH-1A\""));
  EXPECT_EQ(RunLine({"apply", "-f", "-"}, ClusterIn("c-west", "EAST-1A")), kFailed);
  EXPECT_THAT(err(), HasSubstr("it is in cell west, and zone EAST-1A in cell east: a cluster moves "
                               "by being deleted and made anew"));
  WriteContexts(", cluster: c-west");
  EXPECT_EQ(RunLine({"apply", "-f", "-"}, kMine), kFailed);
  EXPECT_THAT(err(), HasSubstr("where it is to be is not said: --organization and --cluster do"));
  EXPECT_EQ(RunLine({"find", "placements", "t=4", "--apply", "--name", "batch"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("where it is to be is not said: --organization and --cluster do"));
  EXPECT_EQ(out(), "");
  EXPECT_THAT(east_.calls, IsEmpty()) << "nobody is asked";
  EXPECT_THAT(east_.resources, IsEmpty());
  EXPECT_THAT(west_.resources, IsEmpty());
}

TEST_F(CellsTest, AReleaseGoesToAllCells) {
  EXPECT_EQ(RunLine({"publish", "release", "stable~gpu-driver~580.1"}), kDone) << err();
  EXPECT_EQ(out(), "release/stable~gpu-driver~580.1 published in east, west\n");
  EXPECT_EQ(RunLine({"withdraw", "release", "stable~gpu-driver~580.1", "--dry-run"}), kDone);
  EXPECT_EQ(out(), "release/stable~gpu-driver~580.1 would be withdrawn in east, west\n");
  for (const FakeApi* api : {&east_, &west_})
    EXPECT_THAT(api->calls,
                ElementsAre(absl::StrCat("publish ", kRelease), StartsWith("try withdraw ")));
  west_.applied.outcome = Outcome::kCreated;
  EXPECT_EQ(RunLine({"apply", "-f", "-"},
                    "apiVersion: muster/v1\nkind: Release\nmetadata: {}\n"
                    "spec: {channel: stable, component: kernel, version: '6.1'}\n"
                    "---\napiVersion: muster/v1\nkind: InstanceType\nmetadata: {name: t}\n"
                    "spec: {gpus: 0, vcpus: 1, memoryKib: 1, ephemeralStorageKib: 1, "
                    "architecture: amd64, maxPods: 1}\n"),
            kDone)
      << err();
  EXPECT_EQ(out(),
            "instancetype/t configured (in east, west)\n"
            "release/stable~kernel~6.1 configured (in east, west)\n");
}

TEST_F(CellsTest, WhatIsInAllCellsIsDeletedFromAll) {
  EXPECT_EQ(RunLine({"delete", "release/stable~gpu-driver~580.1", "instancetype/t"}), kDone)
      << err();
  EXPECT_EQ(out(),
            "release/stable~gpu-driver~580.1 deleted in east, west\n"
            "instancetype/t deleted in east, west\n");
  for (const FakeApi* api : {&east_, &west_})
    EXPECT_THAT(api->calls, ElementsAre("delete stable~gpu-driver~580.1", "delete t"));
  // Where it was done before it is not found.
  east_.refusal_of_items = FromServer(absl::NotFoundError("t does not exist."));
  EXPECT_EQ(RunLine({"delete", "instancetype/t", "--dry-run"}), kDone) << err();
  EXPECT_EQ(out(), "instancetype/t would be deleted in west\n");
  west_.refusal_of_items = east_.refusal_of_items;
  EXPECT_EQ(RunLine({"delete", "instancetype/t"}), kFailed);
  EXPECT_EQ(err(), "error: t does not exist. (NOT_FOUND)\n");
  west_.refusal_of_items = FromServer(absl::FailedPreconditionError("Pools are of it."));
  EXPECT_EQ(RunLine({"delete", "instancetype/t"}), kFailed);
  EXPECT_EQ(err(), "error: cell west: Pools are of it. (FAILED_PRECONDITION)\n");
}

// What is shown is one cell's.
TEST_F(CellsTest, AnEditOfWhatSeveralHaveIsRefused) {
  capacity::v1::InstanceType type;
  type.set_name("instanceTypes/t");
  for (FakeApi* api : {&east_, &west_}) api->items[Kind::kInstanceType] = {type};
  EXPECT_EQ(RunLine({"patch", "instancetype/t", "-p", "{\"spec\":{\"vcpus\":2}}"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("is in several cells: east, west"));
  EXPECT_THAT(east_.calls, IsEmpty());
  EXPECT_THAT(west_.calls, IsEmpty());
}

TEST_F(CellsTest, AMachinesStateIsSetInTheCellThatHasIt) {
  capacity::v1::Machine machine;
  machine.set_name("machines/g1");
  west_.items[Kind::kMachine] = {machine};
  EXPECT_EQ(RunLine({"set-state", "machine/g1", "free"}), kDone) << err();
  EXPECT_THAT(west_.calls, ElementsAre("set g1 STATE_FREE"));
  EXPECT_THAT(east_.calls, IsEmpty());
}

TEST_F(CellsTest, AReleaseThatACellDidNotGetIsToldOf) {
  Away(west_);
  EXPECT_EQ(RunLine({"publish", "release", "stable~gpu-driver~580.1"}), kFailed);
  EXPECT_EQ(out(), "release/stable~gpu-driver~580.1 published in east\n");
  EXPECT_EQ(err(), "error: cell west: nobody is there (UNAVAILABLE)\n");
  Away(east_);
  EXPECT_EQ(RunLine({"publish", "release", "stable~gpu-driver~580.1", "--request-id=r"}), kFailed);
  EXPECT_THAT(out(), IsEmpty());
  EXPECT_THAT(err(), AllOf(StartsWith("error: cell east: nobody is there (UNAVAILABLE)\nnote: "),
                           HasSubstr("--request-id=r"),
                           EndsWith("error: cell west: nobody is there (UNAVAILABLE)\n")));
}

TEST_F(CellsTest, WhatIsOfOneCellIsRefused) {
  for (const std::vector<std::string>& line : {std::vector<std::string>{"auth", "whoami"},
                                               {"get", "np", "--at=41"},
                                               {"get", "np/train", "--at=41"},
                                               {"diff", "np/train", "--since=41"},
                                               {"debug", "compare"},
                                               {"check", "quota", "EAST-1A~t~default", "--nodes=1"},
                                               {"version"}}) {
    EXPECT_EQ(RunLine(line), line[0] == "diff" ? 2 : kFailed) << line[0];
    EXPECT_THAT(err(), HasSubstr("of one cell at a time; say by --context which of east, west"))
        << line[0];
  }
}

TEST_F(CellsTest, EachContextSaysItsOwnServer) {
  for (const auto& [args, says] :
       {std::pair(std::vector<std::string>{"--context=east,none"}, "there is no context \"none\""),
        std::pair(std::vector<std::string>{"--context=east,"}, "there is no context \"\""),
        std::pair(std::vector<std::string>{"--context=east,nowhere"},
                  "context \"nowhere\" names no server"),
        std::pair(std::vector<std::string>{"--context=east,twin"},
                  "contexts \"east\" and \"twin\" are both east:1"),
        std::pair(std::vector<std::string>{"--context=east,east"}, "are both east:1"),
        std::pair(std::vector<std::string>{"--server=s:1"},
                  "--server: of several contexts each names its own")}) {
    std::vector<std::string> line = {"get", "np"};
    line.insert(line.end(), args.begin(), args.end());
    EXPECT_EQ(RunLine(line), kWrongUse) << says;
    EXPECT_THAT(err(), HasSubstr(says));
  }
  environment_["MUSTER_SERVER"] = "elsewhere:1";
  EXPECT_EQ(RunLine({"get", "zones", "-o", "name"}), kDone);
  EXPECT_EQ(out(), "zone/EAST-1A\nzone/WEST-1A\n");
}

TEST_F(CellsTest, SeveralContextsAreUsedFromNowOn) {
  environment_.erase("MUSTER_CONTEXT");
  EXPECT_EQ(RunLine({"config", "use-context", "east,none"}), kFailed);
  EXPECT_EQ(RunLine({"config", "use-context", ""}), kFailed);
  EXPECT_EQ(RunLine({"config", "use-context", "east,west"}), kDone) << err();
  EXPECT_EQ(RunLine({"get", "zones", "-o", "name"}), kDone);
  EXPECT_EQ(out(), "zone/EAST-1A\nzone/WEST-1A\n");
  EXPECT_EQ(RunLine({"config", "get-contexts"}), kDone);
  EXPECT_THAT(out(), AllOf(HasSubstr("*         east"), HasSubstr("*         west"),
                           HasSubstr("\n          twin")));
  EXPECT_EQ(RunLine({"config", "set-context", "a,b", "--server=s:1"}), kWrongUse);
  EXPECT_EQ(RunLine({"config", "delete-context", "west"}), kDone);
  EXPECT_EQ(RunLine({"config", "get-contexts"}), kDone);
  EXPECT_THAT(out(), Not(HasSubstr("*")));
}

TEST_F(CellsTest, EachIsAskedInItsOwnScope) {
  WriteContexts(", cluster: c-west, organization: beta");
  EXPECT_EQ(RunLine({"get", "np", "-o", "name"}), kDone) << err();
  EXPECT_EQ(options_.scope.cluster, "c-west");
  EXPECT_EQ(options_.scope.organization, "beta");
  EXPECT_EQ(out(),
            "nodepool/organizations/acme/clusters/c-east/nodePools/train\n"
            "nodepool/organizations/acme/clusters/c-west/nodePools/eval\n")
      << "names that say where";
}

TEST_F(CellsTest, CompletionIsSilentAboutWhoIsAway) {
  Away(west_);
  EXPECT_EQ(RunLine({"__complete", "--", "get", "zones", ""}), kFailed);
  EXPECT_EQ(out(), "EAST-1A\n");
  EXPECT_THAT(err(), IsEmpty());
}

}  // namespace
}  // namespace muster::musterctl
