#include "services/musterctl/commands/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/common/error.h"
#include "services/musterctl/commands/testing/commands_test_base.h"
#include "services/musterctl/manifest/document.h"
#include "tests/testing/broken_disk.h"

namespace muster::musterctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

absl::Status Refusal() {
  return error::Make(absl::StatusCode::kInvalidArgument, "two faults",
                     {.reason = "INVALID_FIELD",
                      .fields = {{"spec.minNodes", "must be at most spec.maxNodes"},
                                 {"spec.image.kernel", "must be empty with spec.image.name"}}});
}

TEST_F(CommandsTest, FlagsComeFromTheLineThenTheEnvironmentThenTheDefaults) {
  environment_["MUSTER_SERVER"] = "env:1";
  environment_["MUSTER_CLUSTER"] = "env-cluster";
  EXPECT_EQ(RunLine({"--cluster", "c1", "get", "nodepools", "--timeout=3s"}), kDone);
  EXPECT_EQ(options_.server, "env:1");
  EXPECT_EQ(options_.scope.cluster, "c1");
  EXPECT_EQ(options_.scope.organization, "acme");
  EXPECT_EQ(options_.timeout, absl::Seconds(3));
  EXPECT_EQ(err(), "No nodepools found.\n");
}

TEST_F(CommandsTest, WrongUseIsToldAndExitsWithTwo) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"launch"}, "unknown command \"launch\""},
      {{"get"}, "get: say what: nodepools, nodes,"},
      {{"get", "pods"}, "unknown kind \"pods\""},
      {{"get", "nodes", "--color"}, "unknown flag --color for get"},
      {{"get", "nodes", "-o", "xml"},
       "--output: must be wide, json, yaml or name, jsonpath=TEMPLATE or custom-columns"},
      {{"get", "nodes", "-o"}, "-o: needs a value: FORMAT"},
      {{"get", "nodes", "--watch=maybe"}, "--watch: is true or false"},
      {{"get", "quotas", "--nodepool=a"}, "--nodepool: only with nodes and events"},
      {{"get", "nodes", "--timeout=soon"}, "--timeout: must be a duration above zero"},
      {{"describe"}, "describe: say what: nodepools,"},
      {{"get", "nodepool/a", "b"}, "\"b\": beside KIND/NAME every argument must be KIND/NAME"},
      {{"get", "nodepool", "nodepool/b"}, "either KIND NAME or KIND/NAME"},
      {{"get", "pod/b"}, "unknown kind \"pod\""},
      {{"get", "nodepool/"}, "\"nodepool/\": must be KIND/NAME"},
      {{"get", "np,nodes", "a"}, "with several kinds no NAME; say KIND/NAME"},
      {{"get", "np", "a", "-l", "x=y"}, "either NAME, or --selector and --field-selector"},
      {{"get", "np", "a", "-A"}, "a whole resource name says where it is"},
      {{"get", "np", "-l", "x y"}, "--selector: selector \"x y\": must be KEY=VALUE"},
      {{"get", "quotas", "-l", "x=y"}, "--selector: quotas have no labels; nodepools, nodes and"},
      {{"get", "np", "--field-selector=x"},
       "--field-selector: field selector \"x\": must be PATH="},
      {{"get", "np", "-o", "jsonpath={.a"}, "--output: jsonpath \"{.a\": at character 4"},
      {{"get", "np", "-o", "custom-columns=A"},
       "--output: custom-columns: \"A\": must be HEADER:PATH"},
      {{"get", "np", "-w", "--sort-by=.a"}, "--sort-by: not with --watch"},
      {{"get", "np,nodes", "-w"}, "--watch: one kind only"},
      {{"scale", "np/a", "--nodes=1", "--replicas=1"}, "either --nodes or --replicas"},
      {{"scale", "np/a", "np/b", "--remove=g1"}, "--remove: of one NodePool only"},
      {{"scale", "np/a", "--replicas=many"}, "--replicas: must be an integer"},
      {{"apply", "-f", "-", "--dry-run=client"}, "--dry-run: is server or none, not \"client\""},
      {{"delete", "np", "a", "--all"}, "either NAME, or --all or --selector"},
      {{"delete", "zones", "--all"}, "--all and --selector are of NodePools and quotas"},
      {{"delete", "np,quotas", "--all"}, "are of all of the organization"},
      {{"delete", "quotas", "--all", "-n", "test"}, "are of all of the organization"},
      {{"wait", "np", "a", "--for=jsonpath={.a"}, "--for: jsonpath \"{.a\": } is missing"},
      {{"wait", "node", "a/g1"}, "--for=healthy and --for=deleted are of nodepools"},
      {{"events", "--types=Bad"}, "--types: Normal or Warning"},
      {{"events", "--for=zone/a"}, "--for: nodepool/NAME or node/POOL/MACHINE"},
      {{"gte", "np"}, "unknown command \"gte\"; did you mean get?"},
      {{"get", "nodepols"}, "unknown kind \"nodepols\"; did you mean nodepools?"},
      {{"get", "np", "--sort-bye=.a"},
       "unknown flag --sort-bye=.a for get; did you mean --sort-by?"},
      {{"describe", "nodepool", "a", "-o", "json"}, "describe: --output may be wide"},
      {{"scale", "nodepool", "a"}, "--nodes or --remove is missing"},
      // As from variables that are not set: something else would be done than what is meant.
      {{"scale", "np/a", "--nodes=", "--remove=g1"}, "--nodes: is empty; must be N, or not given"},
      {{"rollout", "undo", "np/a", "--to-revision", ""}, "--to-revision: is empty"},
      {{"delete", "np/a", "--request-id="}, "--request-id: is empty"},
      {{"get", "np", "--at="}, "--at: is empty"},
      {{"events", "--since="}, "--since: is empty"},
      {{"events", "--for="}, "--for: is empty"},
      {{"get", "nodes", "--nodepool="}, "--nodepool: is empty"},
      {{"get", "machines", "--claim", ""}, "--claim: is empty; must be UID, or not given"},
      {{"delete", "np", "--all", "--context="}, "--context: is empty; must be NAME[,NAME], or"},
      {{"promote", "nodepool/a", ""},
       "promote: POOL_UID [PROFILE] or nodepool NAME [PROFILE]; "
       "PROFILE is empty"},
      {{"rollback", "nodepool", "a", "profile/"}, "PROFILE is empty"},
      {{"scale", "nodepool", "a", "--nodes=many"}, "--nodes: must be an integer that fits 64 bits"},
      {{"scale", "node", "a", "--nodes=1"}, "scale: nodepool NAME"},
      {{"apply"}, "-f FILE is missing"},
      {{"delete", "node", "a"}, "delete: say nodepool, quota, cluster, zone, instancetype"},
      {{"delete", "nodepool"}, "NAME is missing"},
      {{"wait", "nodepool", "a", "--for=rich"}, "--for: must be healthy or deleted"},
      {{"check", "zone", "a", "--nodes=1"}, "check: quota NAME"},
      {{"check", "quota", "a"}, "--nodes is missing"},
      {{"get", "zones", "--state=free"}, "only with `get machines`"},
      {{"get", "machines", "--state=asleep"}, "--state: must be free, held, reclaiming,"},
      {{"get", "machines", "-w", "--zone=A-1A"}, "only with `get machines`"},
      {{"explain", "zone", "a"}, "explain: nodepool NAME or claim UID, or KIND.FIELD"},
      {{"find", "placements"}, "find: placements TYPE=NODES[:spot]..."},
      {{"find", "placements", "t"}, "must be TYPE=NODES[:spot], is \"t\""},
      {{"find", "placements", "t=few"}, "t: must be an integer that fits 64 bits"},
      {{"find", "placements", "t=1", "--priority=1"}, "--priority"},
      {{"publish", "release"}, "publish: release CHANNEL~COMPONENT~VERSION"},
      {{"withdraw", "zone", "a"}, "withdraw: release CHANNEL~COMPONENT~VERSION"},
      {{"publish", "release", "stable~1"}, "must be CHANNEL~COMPONENT~VERSION"},
      {{"promote"}, "promote: POOL_UID [PROFILE] or nodepool NAME [PROFILE]"},
      {{"promote", "nodepool"}, "promote: POOL_UID [PROFILE]"},
      {{"rollback", "np", "a", "b", "c"}, "nodepool NAME [PROFILE]"},
      {{"delete", "nodepool", "a", "--dry-run", "--wait"}, "either --dry-run or --wait"},
      {{"reconfigure", "a"}, "reconfigure: nodepool NAME"},
      {{"reconfigure", "nodepool", "a", "--allowed-failures=few"}, "--allowed-failures: must be"},
      {{"pause", "node", "a"}, "pause: nodepool/NAME, or reconfiguration NAME"},
      {{"resume", "reconfiguration"}, "or reconfiguration NAME"},
      {{"cancel"}, "or reconfiguration NAME"},
      {{"protect", "node", "a/g1"}, "protect: --for is missing"},
      {{"protect", "node", "g1", "--for=1h"}, "protect: node POOL/MACHINE"},
      {{"protect", "node", "a/g1", "--for=-1h"}, "--for: must be a duration above zero"},
      {{"unprotect", "node", "/g1"}, "unprotect: node POOL/MACHINE"},
      {{"reserve", "node", "g1"}, "reserve: node POOL/MACHINE"},
      {{"rollback", "a", "b", "c"}, "rollback: POOL_UID [PROFILE]"},
      {{"enable", "revision", "a"},
       "enable: revision POOL_UID PROFILE or revision nodepool/NAME... PROFILE"},
      {{"debug"}, "debug: say compare, audit or log-level"}};
  for (const auto& [args, text] : cases) {
    EXPECT_EQ(RunLine(args), kWrongUse) << text;
    EXPECT_THAT(err(), StartsWith("error: "));
    EXPECT_THAT(err(), HasSubstr(text));
  }
  EXPECT_THAT(api_.calls, IsEmpty());
}

TEST_F(CommandsTest, HelpNamesEveryCommandAndFlag) {
  EXPECT_EQ(RunLine({"--help"}), kDone);
  for (const Command& command : Commands()) {
    if (command.is_hidden) continue;
    EXPECT_THAT(out(), HasSubstr("  " + command.name + " "));
  }
  for (const Flag& flag : GlobalFlags()) EXPECT_THAT(out(), HasSubstr("--" + flag.name));
  for (const Command& command : Commands()) {
    EXPECT_EQ(RunLine({command.name, "--help"}), kDone);
    EXPECT_THAT(out(), HasSubstr("Usage: musterctl " + command.usage));
    for (const Flag& flag : command.flags) EXPECT_THAT(out(), HasSubstr("--" + flag.name));
  }
  EXPECT_EQ(RunLine({"describe", "--help"}), kDone);
  EXPECT_THAT(out(), Not(HasSubstr("jsonpath"))) << "it takes wide alone";
  EXPECT_EQ(RunLine({}), kWrongUse);
  EXPECT_EQ(RunLine({"version"}), kDone);
  // As git, kubectl and others have it.
  EXPECT_EQ(RunLine({"help", "rollout", "status"}), kDone);
  EXPECT_THAT(out(), HasSubstr("Usage: musterctl rollout status|"));
  EXPECT_EQ(RunLine({"help", "gte"}), kWrongUse);
  EXPECT_THAT(err(), HasSubstr("unknown command \"gte\"; did you mean get?"));
  for (const char* words : {"help", "help help"})
    EXPECT_EQ(RunLine(absl::StrSplit(words, ' ')), kDone) << words;
  EXPECT_THAT(out(), HasSubstr("\nCommands:\n"));
}

TEST_F(CommandsTest, GetPrintsTablesAndNames) {
  api_.items[Kind::kNodePool] = {ReferencePool()};
  EXPECT_EQ(RunLine({"get", "np"}), kDone);
  EXPECT_THAT(out(), StartsWith("NAME               INSTANCE TYPE    TARGET"));
  EXPECT_EQ(RunLine({"get", "NodePools", "-o", "name"}), kDone);
  EXPECT_EQ(out(), "nodepool/example-nodepool\n");
  EXPECT_EQ(RunLine({"get", "nodepool", "example-nodepool", "-oyaml"}), kDone);
  EXPECT_THAT(out(), StartsWith("apiVersion: compute.coreweave.com/v1alpha1\nkind: NodePool\n"));
  EXPECT_EQ(RunLine({"get", "nodepools", "-o", "json"}), kDone);
  EXPECT_THAT(out(), HasSubstr("\"kind\": \"List\""));
  EXPECT_EQ(RunLine({"get", "nodepool", "other"}), kFailed);
  EXPECT_EQ(err(), "error: other does not exist.\n");
}

TEST_F(CommandsTest, ApplySendsInOrderAndSaysWhatItDid) {
  api_.applied.outcome = Outcome::kCreated;
  EXPECT_EQ(RunLine({"apply", "-f", "-"}, std::string(kTrainManifest) +
                                              "---\napiVersion: muster/v1\nkind: Zone\n"
                                              "metadata: {name: A-1A}\nspec: {access: general}\n"),
            kDone);
  EXPECT_EQ(out(), "zone/A-1A created\nnodepool/train created\n");
}

TEST_F(CommandsTest, ApplySendsNothingWhenAnythingIsWrong) {
  EXPECT_EQ(RunLine({"apply", "-f", "-"}, std::string(kTrainManifest) + "---\nkind: Pod\n"),
            kFailed);
  EXPECT_THAT(err(),
              StartsWith("error: standard input: document 2, line 6: apiVersion: is missing\n"));
  EXPECT_EQ(RunLine({"apply", "-f", "-", "-f", "/no/such/file"}, kTrainManifest), kFailed);
  EXPECT_EQ(err(), "error: /no/such/file: cannot be read\n");
  EXPECT_THAT(api_.calls, IsEmpty());
}

// As `-f /dev/zero`: somebody writes and writes.
TEST_F(CommandsTest, AFileThatDoesNotEndIsNotReadToItsEnd) {
  const std::string fifo = absl::StrCat(::testing::TempDir(), "/endless.", getpid());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  signal(SIGPIPE, SIG_IGN);
  size_t written = 0;
  std::thread writer([&] {
    std::ofstream out(fifo);
    const std::string piece(64 << 10, '\0');
    while (written < 16 * kMaxManifestBytes && out.write(piece.data(), 64 << 10))
      written += piece.size();
  });
  EXPECT_EQ(RunLine({"apply", "-f", fifo}), kFailed);
  writer.join();
  unlink(fifo.c_str());
  EXPECT_THAT(err(), HasSubstr("larger than 16777216 bytes"));
  EXPECT_LT(written, kMaxManifestBytes + (1 << 20));
}

// The documents before the fault are not all that were meant.
TEST_F(CommandsTest, WhatFailsMidwayIsNotApplied) {
  muster::testing::BrokenDisk disk(kTrainManifest);
  std::istream in(&disk);
  input_ = &in;
  EXPECT_EQ(RunLine({"apply", "-f", "-"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("standard input: cannot be read"));
  EXPECT_THAT(api_.calls, IsEmpty());
}

TEST_F(CommandsTest, TheServersFieldViolationsAreLinesOfTheirOwn) {
  api_.refusal = Refusal();
  EXPECT_EQ(RunLine({"apply", "-f", "-"}, kTrainManifest), kFailed);
  EXPECT_EQ(
      err(),
      "error: nodepool/train (standard input: document 1, line 1): spec.minNodes: must be at most "
      "spec.maxNodes\n"
      "error: nodepool/train (standard input: document 1, line 1): spec.image.kernel: must be "
      "empty "
      "with spec.image.name (INVALID_ARGUMENT, INVALID_FIELD)\n");
}

TEST_F(CommandsTest, FieldsAreNamedAsTheUserWroteThem) {
  EXPECT_EQ(ManifestPath("spec.image.kernel"), "spec.image.kernel");
  EXPECT_EQ(ManifestPath("node_pool.spec.targetNodes"), "spec.targetNodes");
  EXPECT_EQ(ManifestPath("zone.instance_types[0]"), "spec.instanceTypes[0]");
  EXPECT_EQ(ManifestPath("instance_type.nodes_per_rack"), "spec.nodesPerRack");
  EXPECT_EQ(ManifestPath("machines[17].instance_type"), "spec.instanceType");
  EXPECT_EQ(ManifestPath("quota.limit"), "spec.limit");
  EXPECT_EQ(ManifestPath("cluster.name"), "metadata.name");
  EXPECT_EQ(ManifestPath("zone"), "spec.zone");

  api_.refusal = BadField("target_nodes", "must be 0 to 100000");
  EXPECT_EQ(RunLine({"scale", "nodepool", "train", "--nodes=-1"}), kFailed);
  EXPECT_EQ(err(), "error: --nodes: must be 0 to 100000 (INVALID_ARGUMENT)\n");
}

TEST_F(CommandsTest, ScaleAndDelete) {
  EXPECT_EQ(RunLine({"scale", "nodepool", "train", "--nodes", "5"}), kDone);
  EXPECT_EQ(out(), "nodepool/train scaled to 5\n");
  EXPECT_EQ(RunLine({"delete", "nodepool", "train", "eval"}), kDone);
  EXPECT_EQ(out(),
            "nodepool/train deleted\nnodepool/eval deleted\n"
            "  0.0s  gone\nnodepool/train is gone\n  0.0s  gone\nnodepool/eval is gone\n");
  EXPECT_EQ(RunLine({"delete", "-f", "-", "--wait=false"}, kTrainManifest), kDone);
  EXPECT_EQ(out(), "nodepool/train deleted\n");
  EXPECT_THAT(api_.calls, ElementsAre("resize name: \"train\" target_nodes: 5", "delete train",
                                      "delete eval", "delete train"));
  api_.calls.clear();
  EXPECT_EQ(RunLine({"delete", "zone/A-1A", "machine/m1", "cluster/c1"}), kDone);
  EXPECT_EQ(out(), "zone/A-1A deleted\nmachine/m1 deleted\ncluster/c1 deleted\n");
  EXPECT_EQ(RunLine({"delete", "release", "stable~gpu-driver~570", "--dry-run"}), kDone);
  EXPECT_EQ(out(), "release/stable~gpu-driver~570 would be deleted\n");
  EXPECT_THAT(api_.calls, ElementsAre("delete A-1A", "delete m1", "delete c1",
                                      "try to delete stable~gpu-driver~570"));

  api_.refusal = absl::NotFoundError("gone");
  EXPECT_EQ(RunLine({"delete", "nodepool", "train"}), kFailed);
  EXPECT_EQ(RunLine({"delete", "nodepool", "train", "--ignore-not-found"}), kDone);
}

// Each before what it needs; NodePools are waited for before what they need.
TEST_F(CommandsTest, DeleteOfAFileTakesWhatAppliesBackwards) {
  const std::string all = std::string(kTrainManifest) +
                          "---\napiVersion: muster/v1\nkind: InstanceType\nmetadata: {name: t}\n"
                          "spec: {vcpus: 8, memoryKib: 1, ephemeralStorageKib: 1, "
                          "architecture: amd64, maxPods: 9}\n"
                          "---\napiVersion: muster/v1\nkind: Zone\nmetadata: {name: A-1A}\n"
                          "spec: {access: general}\n"
                          "---\napiVersion: muster/v1\nkind: Release\nmetadata: {}\n"
                          "spec: {channel: stable, component: kernel, version: '6'}\n"
                          "---\napiVersion: muster/v1\nkind: MachineSet\nmetadata: {name: m}\n"
                          "spec: {zone: A-1A, instanceType: t, count: 2}\n"
                          "---\napiVersion: muster/v1\nkind: Cluster\n"
                          "metadata: {name: c1, organization: beta}\nspec: {zone: A-1A}\n"
                          "---\napiVersion: muster/v1\nkind: Quota\nmetadata: {}\n"
                          "spec: {zone: A-1A, instanceType: t, limit: 3}\n";
  EXPECT_EQ(RunLine({"delete", "-f", "-"}, all), kDone) << err();
  EXPECT_THAT(out(), StartsWith("nodepool/train deleted\n  0.0s  gone\nnodepool/train is gone\n"
                                "cluster/c1 deleted\nrelease/stable~kernel~6 deleted\n"));
  std::erase_if(api_.calls, [](const std::string& call) { return call.starts_with("machines "); });
  ASSERT_EQ(api_.calls.size(), 8u);
  EXPECT_THAT(api_.calls[4], StartsWith("delete g"));
  EXPECT_THAT(api_.calls[5], StartsWith("delete g"));
  api_.calls.erase(api_.calls.begin() + 4, api_.calls.begin() + 6);
  EXPECT_THAT(
      api_.calls,
      ElementsAre("delete train", "delete organizations/beta/clusters/c1", "delete stable~kernel~6",
                  "delete organizations/acme/quotas/A-1A~t~default", "delete A-1A", "delete t"));
}

// Of the server's machines that by chance have its ids none goes.
TEST_F(CommandsTest, DeleteOfAMachineSetTakesItsMachinesByTheirPlaces) {
  const std::string set =
      "apiVersion: muster/v1\nkind: MachineSet\nmetadata: {name: m}\n"
      "spec: {zone: A-1A, instanceType: t, count: 1}\n";
  EXPECT_EQ(RunLine({"delete", "-f", "-"}, set), kDone) << err();
  const std::string id = api_.calls.back().substr(std::string("delete ").size());
  capacity::v1::Machine others;
  others.set_name("machines/" + id);
  others.set_rack("other-r000");
  capacity::v1::Machine its_own;
  its_own.set_name("machines/dgx-17");
  its_own.set_rack("m-r000");
  api_.items[Kind::kMachine] = {others, its_own};
  EXPECT_EQ(RunLine({"delete", "-f", "-"}, set), kDone) << err();
  EXPECT_EQ(api_.calls.back(), "delete dgx-17");
}

TEST_F(CommandsTest, WhatNodePoolsNeedIsNotTakenFromUnderThem) {
  api_.refusal = absl::PermissionDeniedError("not yours");
  EXPECT_EQ(RunLine({"delete", "np/train", "quota/a~b~default", "cluster/c1"}), kFailed);
  EXPECT_THAT(api_.calls, ElementsAre("delete train"));
  EXPECT_THAT(err(), HasSubstr("not yours"));
  EXPECT_THAT(err(), HasSubstr("cluster/c1 was not deleted: a NodePool that was to go first"));
}

// As when the same line was said before, and was interrupted.
TEST_F(CommandsTest, ANodePoolThatIsNotThereIsInNobodysWay) {
  lifecycle::v1::Cluster other;
  other.set_name("organizations/acme/clusters/other");
  api_.items[Kind::kCluster] = {other};
  api_.refusal_of_pools = absl::NotFoundError("nodepool \"train\" does not exist.");
  EXPECT_EQ(RunLine({"delete", "np/train", "quota/a~b~default", "cluster/example"}), kFailed);
  EXPECT_THAT(api_.calls, ElementsAre("delete train", "delete a~b~default", "delete example"));
  EXPECT_EQ(out(), "quota/a~b~default deleted\ncluster/example deleted\n");
  EXPECT_THAT(err(), StartsWith("error: nodepool \"train\" does not exist."));
  EXPECT_EQ(RunLine({"delete", "np/train", "cluster/c1", "--dry-run"}), kFailed);
  EXPECT_EQ(out(), "cluster/c1 would be deleted\n");
}

TEST_F(CommandsTest, DeleteOfWhatIsNotThereWantsTheClusterToBe) {
  api_.refusal = absl::NotFoundError("gone");
  lifecycle::v1::Cluster other;
  other.set_name("organizations/acme/clusters/other");
  api_.items[Kind::kCluster] = {other};
  EXPECT_EQ(RunLine({"delete", "np/train", "--ignore-not-found"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("cluster \"example\""));
  EXPECT_EQ(RunLine({"delete", "-f", "-", "--ignore-not-found"}, kTrainManifest), kFailed);
  EXPECT_EQ(RunLine({"delete", "np/train", "--ignore-not-found", "-n", "other"}), kDone);
  EXPECT_EQ(out(), "nodepool/train not found\n");
  EXPECT_EQ(RunLine({"delete", "zone/A-1A", "--ignore-not-found"}), kDone);
  EXPECT_EQ(RunLine({"delete", "organizations/beta/clusters/c/nodePools/p", "--ignore-not-found"}),
            kDone);
  // One that goes with its NodePools may be gone.
  EXPECT_EQ(RunLine({"delete", "np/train", "cluster/example", "--ignore-not-found"}), kDone)
      << err();
}

// What goes first is still there when the next is tried.
TEST_F(CommandsTest, ADryRunOfSeveralDeletionsKnowsTheirOrder) {
  api_.refusal_of_items =
      error::FailedPrecondition("CLUSTER_IN_USE", "c1", "The cluster has NodePools, e.g. train.");
  EXPECT_EQ(RunLine({"delete", "np/train", "cluster/c1", "--dry-run"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr("nodepool/train would be deleted\n"));
  EXPECT_THAT(out(), HasSubstr("cluster/c1 would be deleted, if what goes before it is all that is "
                               "in it: The cluster has NodePools, e.g. train.\n"));
  EXPECT_EQ(RunLine({"delete", "cluster/c1", "--dry-run"}), kFailed) << "nothing goes before it";
  EXPECT_THAT(err(), HasSubstr("The cluster has NodePools"));
  EXPECT_EQ(RunLine({"delete", "np/train", "cluster/c1", "--wait=false"}), kFailed);
  api_.refusal_of_items = error::FailedPrecondition("MACHINE_NOT_RETIRED", "m1", "Not retired.");
  EXPECT_EQ(RunLine({"delete", "np/train", "machine/m1", "--dry-run"}), kFailed)
      << "that it would not be either once the other is gone";
}

TEST_F(CommandsTest, WhoLooksIsToldHowFarAMachineSetIs) {
  const std::string set =
      "apiVersion: muster/v1\nkind: MachineSet\nmetadata: {name: a}\n"
      "spec: {zone: A-1A, instanceType: t, count: 2}\n";
  EXPECT_EQ(RunLine({"apply", "-f", "-"}, set), kDone) << err();
  EXPECT_EQ(progress(), "") << "nobody looks";
  is_watched_ = true;
  EXPECT_EQ(RunLine({"apply", "-f", "-"}, set), kDone) << err();
  const std::string last = "machineset/a: 1000 of 1200 machines";
  EXPECT_EQ(progress(), "\rmachineset/a: 500 of 1200 machines\r" + last + "\r" +
                            std::string(last.size(), ' ') + "\r");
}

TEST_F(CommandsTest, AHoldingIsNamedByItsQuotaAndItsPool) {
  quota::v1::Holding holding;
  holding.set_name("organizations/acme/quotas/A-1A~t~default/holdings/u1");
  holding.set_nodes(3);
  holding.set_pool("organizations/acme/clusters/example/nodePools/train");
  api_.items[Kind::kHolding] = {holding};
  EXPECT_EQ(RunLine({"get", "holdings", "--no-headers", "-o", "custom-columns=N:.spec.nodes"}),
            kDone);
  EXPECT_EQ(out(), "3\n");
  EXPECT_EQ(RunLine({"get", "holdings", "-o", "name"}), kDone);
  EXPECT_EQ(out(), "holding/A-1A~t~default/u1\n");
  for (const char* name :
       {"holding/A-1A~t~default/u1", "organizations/acme/quotas/A-1A~t~default/holdings/u1"}) {
    EXPECT_EQ(RunLine({"describe", name}), kDone) << err();
    EXPECT_THAT(out(), HasSubstr("train")) << name;
  }
  EXPECT_EQ(RunLine({"get", "holding", "A-1A~t~default/u1"}), kDone) << err();
  EXPECT_EQ(RunLine({"delete", "holding/A-1A~t~default/u1"}), kWrongUse) << "its pool's";
}

TEST_F(CommandsTest, OrdersHaveAName) {
  EXPECT_EQ(RunLine({"scale", "nodepool", "train", "--nodes=5", "--request-id=mine"}), kDone);
  EXPECT_EQ(options_.request_id, "mine");
  EXPECT_EQ(RunLine({"scale", "nodepool", "train", "--nodes=5"}), kDone);
  const std::string random = options_.request_id;
  EXPECT_EQ(random.size(), 32u);
  EXPECT_EQ(RunLine({"scale", "nodepool", "train", "--nodes=5"}), kDone);
  EXPECT_NE(options_.request_id, random);
  EXPECT_EQ(
      RunLine({"scale", "nodepool", "train", "--nodes=5", "--request-id", std::string(65, 'x')}),
      kWrongUse);
  // Whoever does not know what became of it is told how to find out.
  api_.refusal = absl::UnavailableError("away");
  EXPECT_EQ(RunLine({"delete", "nodepool", "train", "--request-id=mine"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("with --request-id=mine the same again is done once"));
  EXPECT_EQ(RunLine({"delete", "nodepool", "train"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("--request-id=" + options_.request_id));
  EXPECT_EQ(RunLine({"delete", "nodepool", "train", "--dry-run"}), kFailed);
  EXPECT_THAT(err(), Not(HasSubstr("--request-id")));
  EXPECT_EQ(RunLine({"get", "nodepools", "--request-id=mine"}), kWrongUse);
  // What is chosen anew each time is no same request.
  EXPECT_EQ(RunLine({"delete", "nodepools", "--all", "--request-id=mine"}), kWrongUse);
  EXPECT_THAT(err(), HasSubstr("--request-id: not with --all or -l"));
}

}  // namespace
}  // namespace muster::musterctl
