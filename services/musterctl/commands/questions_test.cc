#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/resource_name.h"
#include "services/musterctl/commands/testing/commands_test_base.h"
#include "services/musterctl/manifest/manifest.h"

namespace muster::musterctl {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

using QuestionsTest = CommandsTest;

TEST_F(QuestionsTest, MachinesAreFilteredByTheServer) {
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

TEST_F(QuestionsTest, ExplainTellsWhatIsInTheWay) {
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

TEST_F(QuestionsTest, FindRanksZones) {
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
  EXPECT_EQ(RunLine({"find", "placements", "t=4", "u=2:spot", "--zone=A-1A", "--zone=B-1A"}),
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
              ElementsAre("find requests { instance_type: \"t\" nodes: 4 } requests { "
                          "instance_type: \"u\" nodes: 2 compute_class: COMPUTE_CLASS_SPOT "
                          "} zones: \"A-1A\" zones: \"B-1A\""));
  api_.placements.clear_recommended_zone();
  EXPECT_EQ(RunLine({"find", "placements", "t=4"}), kDone);
  EXPECT_THAT(out(), EndsWith("No zone is recommended.\n"));
}

// The finder's five words.
TEST_F(QuestionsTest, FindSaysHowLikelyItIs) {
  const std::pair<capacity::v1::Availability, const char*> words[] = {
      {capacity::v1::AVAILABILITY_LIKELY, "Likely available"},
      {capacity::v1::AVAILABILITY_POSSIBLY, "Possibly available"},
      {capacity::v1::AVAILABILITY_LIMITED, "Limited availability"},
      {capacity::v1::AVAILABILITY_NOT_AVAILABLE, "Not available"},
      {capacity::v1::AVAILABILITY_SKU_UNAVAILABLE, "SKU unavailable"}};
  std::string rows;
  for (const auto& [availability, word] : words) {
    auto* zone = api_.placements.add_zones();
    zone->set_zone("A-1A");
    zone->add_placements()->set_availability(availability);
    absl::StrAppend(&rows, "A-1A   t               4       default   0      0             0       ",
                    "0            ", word, "\n");
  }
  EXPECT_EQ(RunLine({"find", "placements", "t=4"}), kDone);
  EXPECT_THAT(out(), HasSubstr(rows));
}

// Names of instance types may hold what names of NodePools may not.
TEST_F(QuestionsTest, FindPrintsManifestsThatApplyTakes) {
  api_.placements.set_recommended_zone("A-1A");
  const std::string longest(63, 'a');
  EXPECT_EQ(RunLine({"find", "placements", "H100_NVLINK_80GB.8.xeon.128=2:spot", "a_.b..C=1",
                     "a--b=1", longest + "=1", longest + "=2", longest + "=1:spot", "-o", "yaml"}),
            kDone);
  const auto manifests = ParseManifests("found.yaml", out(), {"acme", "c"});
  ASSERT_TRUE(manifests.ok()) << manifests.status().message();
  std::vector<std::string> names;
  for (const Manifest& manifest : *manifests) {
    const auto& pool = std::get<lifecycle::v1::NodePool>(manifest.resource);
    names.push_back(pool.name().substr(pool.name().rfind('/') + 1));
    EXPECT_TRUE(IsDnsSubdomain(names.back(), 63)) << names.back();
  }
  EXPECT_THAT(names, ElementsAre("h100-nvlink-80gb.8.xeon.128-spot", "a-b-c", "a--b", longest,
                                 std::string(61, 'a') + "-2", std::string(58, 'a') + "-spot"));
}

TEST_F(QuestionsTest, CheckSaysWhetherItFitsAndWhoIsInTheWay) {
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

// What does not grow is granted, and yet may be beyond a limit that was lowered, or of none.
TEST_F(QuestionsTest, CheckSaysWhatIsBeyondTheLimitThoughItWouldBeGranted) {
  api_.holding.set_nodes(12);
  for (const auto verdict :
       {quota::v1::HoldingAnswer::VERDICT_OVER, quota::v1::HoldingAnswer::VERDICT_NOT_SET}) {
    api_.holding.set_verdict(verdict);
    EXPECT_EQ(RunLine({"check", "quota", "A-1A~t~default", "--nodes=12"}), kFailed);
    EXPECT_THAT(out(), HasSubstr("12 Nodes do not fit: "));
  }
  api_.holding.set_nodes(0);
  EXPECT_EQ(RunLine({"check", "quota", "A-1A~t~default", "--nodes=0"}), kDone);
}

TEST_F(QuestionsTest, CheckSaysWhyTheServerHasNoAnswer) {
  api_.holding_error.set_code(9);
  api_.holding_error.set_message("The pool was released.");
  EXPECT_EQ(RunLine({"check", "quota", "A-1A~t~default", "--nodes=1"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("The pool was released."));
}

TEST_F(QuestionsTest, ExplainOfANodePoolSaysWhoMustAct) {
  lifecycle::v1::NodePool& pool = *api_.obstacles.mutable_node_pool();
  pool.mutable_spec()->set_target_nodes(5);
  pool.mutable_status()->set_current_nodes(3);
  pool.mutable_status()->set_queued_nodes(2);
  const auto add = [&](const char* reason, lifecycle::v1::NodePoolObstacle::Actor actor,
                       const char* message) -> lifecycle::v1::NodePoolObstacle& {
    auto& obstacle = *api_.obstacles.add_obstacles();
    obstacle.set_reason(reason);
    obstacle.set_actor(actor);
    obstacle.set_subject(ReferencePool().name());
    obstacle.set_message(message);
    return obstacle;
  };
  using Obstacle = lifecycle::v1::NodePoolObstacle;
  add("OVER_QUOTA", Obstacle::ACTOR_QUOTA_ADMIN, "m1");
  auto& queued = add("QUEUED", Obstacle::ACTOR_NOBODY, "m2");
  *queued.mutable_earliest_time() = TimestampOf("2025-06-09T17:58:54Z");
  *queued.mutable_latest_time() = TimestampOf("2025-06-10T14:58:54Z");
  auto& kept = add("PROTECTED", Obstacle::ACTOR_NOBODY, "m3");
  kept.set_subject(ReferencePool().name() + "/nodes/g1");
  *kept.mutable_latest_time() = TimestampOf("2025-06-09T14:59:54Z");
  *add("LATER", Obstacle::ACTOR_USER, "m4").mutable_earliest_time() =
      TimestampOf("2025-06-09T14:00:00Z");
  EXPECT_EQ(RunLine({"explain", "nodepool", "train"}), kDone);
  EXPECT_EQ(out(), R"(nodepool/train: target 5, 3 current, 0 in progress, 2 queued.
REASON       WHO MUST ACT   ABOUT                       PASSES IN     MESSAGE
OVER_QUOTA   quota admin    nodepool/example-nodepool   <unknown>     m1
QUEUED       nobody         nodepool/example-nodepool   3h to 24h     m2
PROTECTED    nobody         node/g1                     at most 60s   m3
LATER        user           nodepool/example-nodepool   at least 0s   m4
)");
  EXPECT_THAT(api_.calls, ElementsAre("explain nodepool train"));
  api_.obstacles.clear_obstacles();
  EXPECT_EQ(RunLine({"explain", "np", "train"}), kDone);
  EXPECT_THAT(out(), EndsWith("\nNothing keeps it from being where it should be.\n"));
  api_.refusal = absl::NotFoundError("no such pool");
  EXPECT_EQ(RunLine({"explain", "np", "train"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("no such pool"));
}

// As those of `get`.
TEST_F(QuestionsTest, EveryTableFitsTheTerminalAndIsInColour) {
  NarrowTerminal terminal;
  terminal_at_ = &terminal;
  const std::string text(90, 'm');
  api_.obstacles.add_obstacles()->set_message(text);
  api_.explanation.add_obstacles()->set_message(text);
  api_.placements.add_zones()->add_placements();
  api_.holding.add_holders()->set_pool(text);
  auto* grant = api_.caller.mutable_caller()->add_grants();
  grant->set_verb(type::v1::Access::VERB_READ);
  grant->add_clusters(text);
  api_.books.add_lines()->set_zone(text);
  api_.books.add_differences()->set_message(text);
  api_.books.set_difference_count(1);
  for (const std::vector<std::string>& line :
       std::vector<std::vector<std::string>>{{"explain", "np/a"},
                                             {"explain", "claim/u"},
                                             {"find", "placements", text + "=1"},
                                             {"auth", "whoami"},
                                             {"debug", "audit"},
                                             {"check", "quota", "a~b~c", "--nodes=1"},
                                             {"api-resources"}}) {
    SCOPED_TRACE(line[0]);
    environment_.clear();
    (void)RunLine(line);
    EXPECT_THAT(out(), HasSubstr("\x1b[1m"));
    EXPECT_THAT(out(), HasSubstr(".."));
    EXPECT_THAT(out(), Not(HasSubstr(text)));
    environment_["NO_COLOR"] = "1";
    (void)RunLine(line);
    EXPECT_THAT(out(), Not(HasSubstr("\x1b")));
  }
  EXPECT_EQ(RunLine({"explain", "np/a", "-o", "wide"}), kDone);
  EXPECT_THAT(out(), HasSubstr(text));
  EXPECT_EQ(RunLine({"debug", "audit", "-o", "wide"}), kFailed);
  EXPECT_THAT(out(), HasSubstr(text));
  EXPECT_EQ(RunLine({"explain", "np/a", "-o", "json"}), kWrongUse);
  EXPECT_EQ(err(), "error: explain: --output may be wide\n");
}

}  // namespace
}  // namespace muster::musterctl
