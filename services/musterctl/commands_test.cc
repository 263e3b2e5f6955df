#include "services/musterctl/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "google/rpc/error_details.pb.h"
#include "services/common/fake_clock.h"
#include "services/musterctl/fake_api.h"
#include "services/musterctl/test_pools.h"

namespace muster::musterctl {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class CommandsTest : public ::testing::Test {
 protected:
  // Runs a command line; its output is then in out() and err().
  int RunLine(const std::vector<std::string>& args, const std::string& input = "") {
    in_.str(input);
    in_.clear();
    out_.str("");
    err_.str("");
    World world{.in = in_,
                .out = out_,
                .err = err_,
                .environment = [this](const std::string& name) -> std::optional<std::string> {
                  const auto it = environment_.find(name);
                  if (it == environment_.end()) return std::nullopt;
                  return it->second;
                },
                .connect =
                    [this](const ApiOptions& options) {
                      options_ = options;
                      return std::shared_ptr<Api>(std::shared_ptr<Api>(), &api_);
                    },
                .clock = clock_,
                .sleep = [this](absl::Duration duration) { clock_.Advance(duration); }};
    return musterctl::Run(args, world);
  }
  std::string out() const { return out_.str(); }
  std::string err() const { return err_.str(); }

  FakeApi api_;
  FakeClock clock_{absl::FromUnixSeconds(TimestampOf("2025-06-09T14:58:54Z").seconds())};
  std::map<std::string, std::string> environment_;
  ApiOptions options_;

 private:
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
};

WatchMessage Message(type::v1::WatchEventType type, int64_t revision,
                     std::optional<Item> item = std::nullopt) {
  return {.type = type,
          .revision = revision,
          .key = item ? NameOf(*item) : "",
          .item = std::move(item)};
}

lifecycle::v1::NodePool PoolWithTarget(int64_t nodes) {
  lifecycle::v1::NodePool pool = ReferencePool();
  pool.mutable_spec()->set_target_nodes(nodes);
  return pool;
}

absl::Status Refusal() {
  google::rpc::Status status;
  status.set_code(static_cast<int>(absl::StatusCode::kInvalidArgument));
  status.set_message("two faults");
  google::rpc::BadRequest bad;
  auto& first = *bad.add_field_violations();
  first.set_field("spec.minNodes");
  first.set_description("must be at most spec.maxNodes");
  auto& second = *bad.add_field_violations();
  second.set_field("spec.image.kernel");
  second.set_description("must be empty with spec.image.name");
  google::rpc::ErrorInfo info;
  info.set_reason("INVALID_FIELD");
  status.add_details()->PackFrom(info);
  status.add_details()->PackFrom(bad);
  return FromRpcStatus(status);
}

constexpr char kPool[] =
    "apiVersion: compute.coreweave.com/v1alpha1\nkind: NodePool\nmetadata: {name: train}\n"
    "spec: {instanceType: t, targetNodes: 1}\n";

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
      {{"get", "nodes", "-o", "xml"}, "--output: must be wide, json, yaml or name, is \"xml\""},
      {{"get", "nodes", "-o"}, "-o: needs a value: FORMAT"},
      {{"get", "nodes", "--watch=maybe"}, "--watch: is true or false"},
      {{"get", "quotas", "--nodepool=a"}, "--nodepool: only with nodes and events"},
      {{"get", "nodes", "--timeout=soon"}, "--timeout: must be a duration above zero"},
      {{"describe", "quota", "a"}, "describe: nodepool or node"},
      {{"scale", "nodepool", "a"}, "--nodes is missing"},
      {{"scale", "nodepool", "a", "--nodes=many"}, "--nodes: must be an integer that fits 64 bits"},
      {{"scale", "node", "a", "--nodes=1"}, "scale: nodepool NAME"},
      {{"apply"}, "-f FILE is missing"},
      {{"delete", "zone", "a"}, "delete: say nodepool or quota"},
      {{"delete", "nodepool"}, "NAME is missing"},
      {{"wait", "nodepool", "a", "--for=rich"}, "--for: must be healthy or deleted"},
      {{"check", "zone", "a", "--nodes=1"}, "check: quota NAME"},
      {{"check", "quota", "a"}, "--nodes is missing"},
      {{"get", "zones", "--state=free"}, "only with `get machines`"},
      {{"get", "machines", "--state=asleep"}, "--state: must be free, held, reclaiming,"},
      {{"get", "machines", "-w", "--zone=A-1A"}, "only with `get machines`"},
      {{"explain", "zone", "a"}, "explain: claim UID"},
      {{"find", "placements"}, "find: placements TYPE=NODES[:spot]..."},
      {{"find", "placements", "t"}, "must be TYPE=NODES[:spot], is \"t\""},
      {{"find", "placements", "t=few"}, "t: must be an integer that fits 64 bits"},
      {{"find", "placements", "t=1", "--priority=9999999999"}, "--priority: must be -2147483648"},
      {{"publish", "release"}, "publish: release CHANNEL~COMPONENT~VERSION"},
      {{"withdraw", "zone", "a"}, "withdraw: release CHANNEL~COMPONENT~VERSION"},
      {{"publish", "release", "stable~1"}, "must be CHANNEL~COMPONENT~VERSION"},
      {{"promote"}, "promote: POOL_UID [PROFILE]"},
      {{"rollback", "a", "b", "c"}, "rollback: POOL_UID [PROFILE]"},
      {{"enable", "revision", "a"}, "enable: revision POOL_UID PROFILE"},
      {{"debug"}, "debug: say compare"}};
  for (const auto& [args, text] : cases) {
    EXPECT_EQ(RunLine(args), kWrongUse) << text;
    EXPECT_THAT(err(), StartsWith("error: "));
    EXPECT_THAT(err(), HasSubstr(text));
  }
  EXPECT_THAT(api_.calls, IsEmpty());
}

TEST_F(CommandsTest, HelpNamesEveryCommandAndFlag) {
  EXPECT_EQ(RunLine({"--help"}), kDone);
  for (const Command& command : Commands())
    EXPECT_THAT(out(), HasSubstr("  " + command.name + " "));
  for (const Flag& flag : GlobalFlags()) EXPECT_THAT(out(), HasSubstr("--" + flag.name));
  for (const Command& command : Commands()) {
    EXPECT_EQ(RunLine({command.name, "--help"}), kDone);
    EXPECT_THAT(out(), HasSubstr("Usage: musterctl " + command.usage));
    for (const Flag& flag : command.flags) EXPECT_THAT(out(), HasSubstr("--" + flag.name));
  }
  EXPECT_EQ(RunLine({}), kWrongUse);
  EXPECT_EQ(RunLine({"version"}), kDone);
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
  EXPECT_EQ(RunLine({"apply", "-f", "-"}, std::string(kPool) +
                                              "---\napiVersion: muster/v1\nkind: Zone\n"
                                              "metadata: {name: A-1A}\nspec: {access: general}\n"),
            kDone);
  EXPECT_EQ(out(), "zone/A-1A created\nnodepool/train created\n");
}

TEST_F(CommandsTest, ApplySendsNothingWhenAnythingIsWrong) {
  EXPECT_EQ(RunLine({"apply", "-f", "-"}, std::string(kPool) + "---\nkind: Pod\n"), kFailed);
  EXPECT_THAT(err(),
              StartsWith("error: standard input: document 2, line 6: apiVersion: is missing\n"));
  EXPECT_EQ(RunLine({"apply", "-f", "-", "-f", "/no/such/file"}, kPool), kFailed);
  EXPECT_EQ(err(), "error: /no/such/file: cannot be read\n");
  EXPECT_THAT(api_.calls, IsEmpty());
}

TEST_F(CommandsTest, TheServersFieldViolationsAreLinesOfTheirOwn) {
  api_.refusal = Refusal();
  EXPECT_EQ(RunLine({"apply", "-f", "-"}, kPool), kFailed);
  EXPECT_EQ(err(),
            "nodepool/train (standard input: document 1, line 1) was refused\n"
            "error: spec.minNodes: must be at most spec.maxNodes\n"
            "error: spec.image.kernel: must be empty with spec.image.name (INVALID_ARGUMENT, "
            "INVALID_FIELD)\n");
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

  google::rpc::Status status;
  status.set_code(static_cast<int>(absl::StatusCode::kInvalidArgument));
  google::rpc::BadRequest bad;
  bad.add_field_violations()->set_field("target_nodes");
  bad.mutable_field_violations(0)->set_description("must be 0 to 100000");
  status.add_details()->PackFrom(bad);
  api_.refusal = FromRpcStatus(status);
  EXPECT_EQ(RunLine({"scale", "nodepool", "train", "--nodes=-1"}), kFailed);
  EXPECT_EQ(err(), "error: --nodes: must be 0 to 100000 (INVALID_ARGUMENT)\n");
}

TEST_F(CommandsTest, ScaleAndDelete) {
  EXPECT_EQ(RunLine({"scale", "nodepool", "train", "--nodes", "5"}), kDone);
  EXPECT_EQ(out(), "nodepool/train scaled to 5\n");
  EXPECT_EQ(RunLine({"delete", "nodepool", "train", "eval"}), kDone);
  EXPECT_EQ(out(), "nodepool/train deleted\nnodepool/eval deleted\n");
  EXPECT_EQ(RunLine({"delete", "-f", "-"}, kPool), kDone);
  EXPECT_THAT(api_.calls,
              ElementsAre("scale train 5", "delete train", "delete eval", "delete train"));
  EXPECT_EQ(RunLine({"delete", "-f", "-"},
                    "apiVersion: muster/v1\nkind: Zone\nmetadata: {name: A-1A}\n"
                    "spec: {access: general}\n"),
            kFailed);
  EXPECT_THAT(err(), HasSubstr("zone/A-1A cannot be deleted"));

  api_.refusal = absl::NotFoundError("gone");
  EXPECT_EQ(RunLine({"delete", "nodepool", "train"}), kFailed);
  EXPECT_EQ(RunLine({"delete", "nodepool", "train", "--ignore-not-found"}), kDone);
}

TEST_F(CommandsTest, WaitShowsProgressUntilThePoolIsHealthy) {
  lifecycle::v1::NodePool young = ReferencePool();
  young.mutable_status()->mutable_conditions()->Clear();
  young.mutable_status()->set_current_nodes(0);
  api_.pools = {absl::NotFoundError("x"), young, young, absl::UnavailableError("away"),
                ReferencePool()};
  EXPECT_EQ(RunLine({"wait", "nodepool", "example-nodepool", "--for=healthy", "--timeout=1m"}),
            kDone);
  EXPECT_EQ(out(),
            "  0.0s  does not exist yet\n"
            "  0.2s  target 1  queued 0  in progress 0  current 0\n"
            "  0.8s  the server is away, trying again\n"
            "  1.0s  target 1  queued 0  in progress 0  current 1  Validated=Valid  "
            "Capacity=Sufficient  Quota=Under"
            "  AtTarget=TargetMet  NodeReconfigurationRequired=AllNodesUpToDate\n"
            "nodepool/example-nodepool is healthy\n");
}

TEST_F(CommandsTest, WaitGivesUpAndSaysWhatIsAmiss) {
  lifecycle::v1::NodePool pool = ReferencePool();
  pool.mutable_status()->mutable_conditions(2)->set_reason("Over");
  pool.set_generation(2);
  api_.pools = {pool};
  EXPECT_EQ(RunLine({"wait", "nodepool", "a", "--timeout=2s"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("is not healthy after 2s"));
  EXPECT_THAT(err(), HasSubstr("Quota=Over: NodePool is within"));
  EXPECT_THAT(err(), HasSubstr("Validated speaks of generation 1, not 2"));
}

TEST_F(CommandsTest, WaitUntilDeleted) {
  api_.pools = {ReferencePool(), absl::NotFoundError("gone")};
  EXPECT_EQ(RunLine({"delete", "nodepool", "a", "--wait"}), kDone);
  EXPECT_THAT(out(), EndsWith("gone\nnodepool/a is gone\n"));
  api_.pools = {absl::PermissionDeniedError("no")};
  EXPECT_EQ(RunLine({"wait", "nodepool", "a", "--for", "deleted"}), kFailed);
}

TEST_F(CommandsTest, CompareFailsOnADifference) {
  EXPECT_EQ(RunLine({"debug", "compare"}), kFailed) << "nothing was compared";
  auto& comparison = *api_.comparison.add_comparisons();
  comparison.set_service("quota");
  comparison.set_revision(7);
  comparison.set_resources(3);
  comparison.set_whole_journal(true);
  EXPECT_EQ(RunLine({"debug", "compare"}), kDone);
  EXPECT_EQ(out(), "quota: revision 7, 3 resources, whole journal, 0 differences\n");
  comparison.add_differences("holding x: memory 3, tables 4");
  EXPECT_EQ(RunLine({"debug", "compare"}), kFailed);
  EXPECT_THAT(out(), HasSubstr("  holding x: memory 3, tables 4\n"));
}

TEST_F(CommandsTest, AWatchGoesOnWhereItBrokeAndShowsEveryChangeOnce) {
  using namespace type::v1;  // NOLINT: enumerators only
  lifecycle::v1::NodePool other = ReferencePool();
  other.set_name("organizations/acme/clusters/example/nodePools/other");
  lifecycle::v1::NodePool quiet = ReferencePool();
  quiet.set_name("organizations/acme/clusters/example/nodePools/quiet");
  api_.streams = {
      // Cut short: nothing to resume from.
      {{Message(WATCH_EVENT_TYPE_SNAPSHOT, 3, PoolWithTarget(1))}, absl::UnavailableError("cut")},
      {{Message(WATCH_EVENT_TYPE_SNAPSHOT, 3, PoolWithTarget(1)),
        Message(WATCH_EVENT_TYPE_SNAPSHOT, 4, other), Message(WATCH_EVENT_TYPE_SNAPSHOT, 4, quiet),
        Message(WATCH_EVENT_TYPE_SNAPSHOT_END, 5),
        Message(WATCH_EVENT_TYPE_CHANGED, 6, PoolWithTarget(2))},
       absl::UnavailableError("cut")},
      {{Message(WATCH_EVENT_TYPE_PROGRESS, 9)}, absl::ResourceExhaustedError("slow")},
      {{}, absl::OutOfRangeError("compacted")},
      // The snapshot again: one pool is gone, one has changed, one has not.
      {{Message(WATCH_EVENT_TYPE_SNAPSHOT, 11, PoolWithTarget(3)),
        Message(WATCH_EVENT_TYPE_SNAPSHOT, 4, quiet), Message(WATCH_EVENT_TYPE_SNAPSHOT_END, 12)},
       absl::InternalError("stop")}};
  EXPECT_EQ(RunLine({"get", "nodepools", "-w", "-o", "name"}), kFailed);
  EXPECT_EQ(out(),
            "nodepool/example-nodepool\nnodepool/other\nnodepool/quiet\n"
            "nodepool/example-nodepool\n"
            "nodepool/other deleted\n"
            "nodepool/example-nodepool\n");
  EXPECT_THAT(api_.watched_from, ElementsAre(std::nullopt, std::nullopt, 6, 9, std::nullopt));
}

TEST_F(CommandsTest, MachinesAreFilteredByTheServer) {
  capacity::v1::Machine machine;
  machine.set_name("machines/m1");
  machine.set_state(capacity::v1::Machine::STATE_IN_REPAIR);
  api_.items[Kind::kMachine] = {machine};
  EXPECT_EQ(RunLine({"get", "machines", "--zone=A-1A", "--state=in_repair", "-o", "name"}), kDone);
  EXPECT_EQ(out(), "machine/m1\n");
  EXPECT_THAT(api_.calls, ElementsAre("machines zone: \"A-1A\" state: STATE_IN_REPAIR"));
  EXPECT_EQ(RunLine({"get", "machines", "--claim=u1", "--instance-type", "t"}), kDone);
  EXPECT_EQ(api_.calls.back(), "machines instance_type: \"t\" claim: \"u1\"");
  EXPECT_EQ(RunLine({"get", "machines"}), kDone);
  EXPECT_THAT(api_.calls, SizeIs(2));
}

TEST_F(CommandsTest, ExplainTellsWhatIsInTheWay) {
  capacity::v1::Claim& claim = *api_.explanation.mutable_claim();
  claim.set_nodes(4);
  claim.add_machines("m1");
  claim.set_outstanding(3);
  claim.set_reason(capacity::v1::Claim::REASON_QUEUED);
  claim.mutable_queue()->set_place(2);
  claim.mutable_queue()->set_nodes_ahead(7);
  auto* obstacle = api_.explanation.add_obstacles();
  obstacle->set_code(capacity::v1::ClaimObstacle::CODE_QUEUED_BEHIND);
  obstacle->set_nodes(7);
  obstacle->set_claims(2);
  obstacle->set_message("7 Nodes are ahead in the queue, of 2 other claims.");
  EXPECT_EQ(RunLine({"explain", "claim", "u1"}), kDone);
  EXPECT_EQ(out(),
            "claim/u1: 1 of 4 Nodes held, 3 outstanding (QUEUED).\n"
            "Place 2 in the queue, 7 Nodes ahead; wait unknown.\n"
            "OBSTACLE        NODES   CLAIMS   MESSAGE\n"
            "QUEUED_BEHIND   7       2        7 Nodes are ahead in the queue, of 2 other "
            "claims.\n");
  EXPECT_THAT(api_.calls, ElementsAre("explain u1"));
  claim.mutable_queue()->mutable_wait()->mutable_earliest()->set_seconds(3 * 3600);
  claim.mutable_queue()->mutable_wait()->mutable_latest()->set_seconds(20 * 3600);
  EXPECT_EQ(RunLine({"explain", "claim", "u1"}), kDone);
  EXPECT_THAT(out(), HasSubstr("wait 3h to 20h.\n"));
  api_.explanation.clear_obstacles();
  claim.clear_queue();
  claim.set_reason(capacity::v1::Claim::REASON_SUFFICIENT);
  EXPECT_EQ(RunLine({"explain", "claim", "u1"}), kDone);
  EXPECT_EQ(out(), "claim/u1: 1 of 4 Nodes held, 3 outstanding (SUFFICIENT).\n");
}

TEST_F(CommandsTest, FindRanksZones) {
  for (const auto& [zone, label] : {std::pair("B-1A", capacity::v1::AVAILABILITY_LIKELY),
                                    std::pair("A-1A", capacity::v1::AVAILABILITY_LIMITED)}) {
    auto* placements = api_.placements.add_zones();
    placements->set_zone(zone);
    placements->set_availability(label);
    for (int i = 0; i < 2; ++i) {
      auto* placement = placements->add_placements();
      placement->set_free(8 + i);
      placement->set_in_service(20);
      placement->set_availability(label);
    }
  }
  api_.placements.set_recommended_zone("B-1A");
  EXPECT_EQ(RunLine({"find", "placements", "t=4", "u=2:spot", "--zone=A-1A", "--zone=B-1A",
                     "--priority=-3"}),
            kDone);
  EXPECT_EQ(out(),
            "ZONE   INSTANCE TYPE   NODES   CLASS     FREE   RECLAIMABLE   AHEAD   IN SERVICE   "
            "AVAILABILITY\n"
            "B-1A   t               4       default   8      0             0       20           "
            "Likely available\n"
            "B-1A   u               2       spot      9      0             0       20           "
            "Likely available\n"
            "A-1A   t               4       default   8      0             0       20           "
            "Limited availability\n"
            "A-1A   u               2       spot      9      0             0       20           "
            "Limited availability\n"
            "Recommended zone: B-1A\n");
  EXPECT_THAT(api_.calls,
              ElementsAre("find requests { instance_type: \"t\" nodes: 4 priority: -3 } requests { "
                          "instance_type: \"u\" nodes: 2 compute_class: COMPUTE_CLASS_SPOT "
                          "priority: -3 } zones: \"A-1A\" zones: \"B-1A\""));
  api_.placements.clear_recommended_zone();
  EXPECT_EQ(RunLine({"find", "placements", "t=4"}), kDone);
  EXPECT_THAT(out(), EndsWith("No zone is recommended.\n"));
}

TEST_F(CommandsTest, CheckSaysWhetherItFitsAndWhoIsInTheWay) {
  api_.holding.set_verdict(quota::v1::HoldingAnswer::VERDICT_UNDER);
  api_.holding.set_nodes(4);
  api_.holding.set_held(20);
  api_.holding.set_limit(24);
  api_.holding.set_remaining(4);
  EXPECT_EQ(RunLine({"check", "quota", "A-1A~t~default", "--nodes=4"}), kDone);
  EXPECT_EQ(out(), "quota/A-1A~t~default: 4 Nodes fit; then 20 of 24 held, 4 remain\n");
  EXPECT_THAT(api_.calls,
              ElementsAre("check organizations/acme/quotas/A-1A~t~default/holdings/a-new-pool 4"));
  api_.holding.set_verdict(quota::v1::HoldingAnswer::VERDICT_OVER);
  api_.holding.set_nodes(0);
  auto* holder = api_.holding.add_holders();
  holder->set_nodes(16);
  holder->set_pool_uid("u1");
  holder->set_pool("organizations/acme/clusters/c/nodePools/train");
  api_.holding.set_other_holders(2);
  api_.holding.set_other_nodes(3);
  EXPECT_EQ(RunLine({"check", "quota", "A-1A~t~default", "--nodes=9", "--pool-uid=u7"}), kFailed);
  EXPECT_EQ(out(),
            "quota/A-1A~t~default: 9 Nodes do not fit: 20 of 24 held, 4 remain\n"
            "NODES   UID   NODEPOOL\n"
            "16      u1    organizations/acme/clusters/c/nodePools/train\n"
            "and 2 more with 3 Nodes\n");
  EXPECT_EQ(err(), "error: 9 Nodes are not within quota\n");
  EXPECT_THAT(api_.calls.back(), EndsWith("/holdings/u7 9"));
}

}  // namespace
}  // namespace muster::musterctl
