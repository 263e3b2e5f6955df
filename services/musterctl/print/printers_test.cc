#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <regex>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/read_file.h"
#include "services/musterctl/manifest/manifest.h"
#include "services/musterctl/print/describe.h"
#include "services/musterctl/print/objects.h"
#include "services/musterctl/print/table.h"
#include "services/musterctl/print/testing/pools.h"
#include "services/musterctl/print/words.h"
#include "tests/testing/reference_example.h"

namespace muster::musterctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kNow = absl::FromUnixSeconds(TimestampOf("2025-06-09T14:58:54Z").seconds());

// The example to the letter, which has no events.
const std::string kReference =
    absl::StrCat(muster::testing::kReferenceExample, "Events:                      <none>\n");

TEST(DescribeTest, AHealthyPoolReadsAsTheReferences) {
  EXPECT_EQ(DescribeNodePool(ReferencePool(), {}, kNow), kReference);
}

TEST(DescribeTest, OfAnAutoscaledPoolWhatItWouldBeGrantedIsShown) {
  lifecycle::v1::NodePool pool = ReferencePool();
  pool.mutable_status()->set_grantable_nodes(4);
  pool.mutable_status()->set_grantable_nodes_bound_by("Quota");
  const std::string text = DescribeNodePool(pool, {}, kNow);
  EXPECT_THAT(text, HasSubstr("  Grantable Nodes:           4\n"));
  EXPECT_THAT(text, HasSubstr("  Grantable Nodes Bound By:  Quota\n"));
}

TEST(DescribeTest, DefaultsThatTheServerFillsInReadTheSame) {
  lifecycle::v1::NodePool pool = ReferencePool();
  pool.mutable_spec()->set_compute_class("default");
  pool.mutable_spec()->mutable_lifecycle()->set_scale_down_strategy("IdleOnly");
  pool.mutable_spec()->mutable_lifecycle()->set_disable_unhealthy_node_eviction(true);
  pool.mutable_spec()->mutable_node_configuration_update_strategy()->set_type("OnSpecUpdate");
  EXPECT_EQ(DescribeNodePool(pool, {}, kNow), kReference);
}

// Whoever may write a description or an event's text cannot write lines of ours.
TEST(DescribeTest, WhatOthersWroteStaysInItsLine) {
  lifecycle::v1::NodePool pool = ReferencePool();
  pool.mutable_spec()->set_description("x\nStatus:\n  Current Nodes:  8");
  lifecycle::v1::Event event = PoolEvent("CWNodePoolCreated", 1, "2025-06-09T14:50:00Z",
                                         "2025-06-09T14:50:00Z", "made\n  Normal  Forged");
  event.set_object(pool.name());
  const std::string text = DescribeNodePool(pool, {event}, kNow);
  EXPECT_THAT(text, HasSubstr("x\\u000aStatus:"));
  EXPECT_THAT(text, HasSubstr("made\\u000a  Normal  Forged\n"));
}

TEST(DescribeTest, EventsOfThePoolFollowInOrderOfTime) {
  lifecycle::v1::Event of_node = PoolEvent("CWNodeTainted", 1, "2025-06-09T14:50:00Z",
                                           "2025-06-09T14:50:00Z", "not the pool's");
  of_node.set_object(ReferencePool().name() + "/nodes/g123456");
  const std::string text =
      DescribeNodePool(ReferencePool(),
                       {PoolEvent("CWNodePoolScaledUp", 1, "2025-06-09T14:58:50Z",
                                  "2025-06-09T14:58:50Z", "Scaled up to 1."),
                        of_node,
                        PoolEvent("CWNodeAssigned", 3, "2025-06-09T14:48:54Z",
                                  "2025-06-09T14:56:54Z", "Node g1 was assigned.")},
                       kNow);
  EXPECT_THAT(text, HasSubstr(R"(  Queued Nodes:              0
Events:
  Type    Reason              Age               From    Message
  ----    ------              ----              ----    -------
  Normal  CWNodeAssigned      2m (x3 over 10m)  muster  Node g1 was assigned.
  Normal  CWNodePoolScaledUp  4s                muster  Scaled up to 1.
)"));
}

TEST(DescribeTest, EventsOfOneMomentAreToldAsTheyHappened) {
  const char* time = "2025-06-09T14:50:00Z";
  std::vector<lifecycle::v1::Event> events;
  for (const char* reason :
       {"CWNodePoolScaledUp", "CWOverQuota", "CWNodeRequestQueued", "CWNodePoolCreated"}) {
    events.push_back(PoolEvent(reason, 1, time, time, ""));
  }
  std::sort(events.begin(), events.end(), Earlier);
  std::vector<std::string> reasons;
  for (const auto& event : events) reasons.push_back(event.reason());
  EXPECT_THAT(reasons, ElementsAre("CWNodePoolCreated", "CWNodeRequestQueued", "CWNodePoolScaledUp",
                                   "CWOverQuota"));
}

TEST(DescribeTest, ShowsWhatTheReferencesPoolDoesNotHave) {
  lifecycle::v1::NodePool pool = ReferencePool();
  pool.mutable_spec()->set_compute_class("spot");
  (*pool.mutable_spec()->mutable_node_labels())["team.acme.com/name"] = "blue";
  auto& taint = *pool.mutable_spec()->add_node_taints();
  taint.set_key("dedicated");
  taint.set_effect("NoSchedule");
  pool.mutable_status()->mutable_pending_node_configuration()->set_node_profile("np-ba9876543210");
  pool.mutable_status()->mutable_pending_node_configuration()->add_summary(
      "GPU driver 570.86.15 → 570.124.06");
  *pool.mutable_delete_time() = TimestampOf("2025-06-09T14:55:00Z");
  const std::string text = DescribeNodePool(pool, {}, kNow);
  EXPECT_THAT(text, HasSubstr("  Compute Class:             spot\n"));
  EXPECT_THAT(text, HasSubstr("  Deletion Timestamp:        2025-06-09T14:55:00Z\n"));
  EXPECT_THAT(text, HasSubstr("  Node Labels:\n    team.acme.com/name:      blue\n"));
  EXPECT_THAT(text, HasSubstr("  Node Taints:\n    Effect:                  NoSchedule\n"
                              "    Key:                     dedicated\n"));
  EXPECT_THAT(text, HasSubstr("  Node Profile:              np-0123456789ab\n"
                              "  Pending Node Configuration:\n"
                              "    Node Profile:            np-ba9876543210\n"
                              "    Summary:\n"
                              "      GPU driver 570.86.15 → 570.124.06\n"));
}

TEST(DescribeTest, LabelsAreWordsAsKubectlWritesThem) {
  EXPECT_EQ(LabelFor("disableUnhealthyNodeEviction"), "Disable Unhealthy Node Eviction");
  EXPECT_EQ(LabelFor("uid"), "UID");
  EXPECT_EQ(LabelFor("apiVersion"), "API Version");
  EXPECT_EQ(LabelFor("poolUid"), "Pool UID");
  EXPECT_EQ(LabelFor("cks.coreweave.cloud/system-critical"), "cks.coreweave.cloud/system-critical");
}

TEST(DescribeTest, ANode) {
  lifecycle::v1::Node node;
  node.set_name(ReferencePool().name() + "/nodes/g8fd930");
  node.set_state(lifecycle::v1::Node::STATE_PRODUCTION);
  node.mutable_desired()->set_phase(lifecycle::v1::NodeDesired::PHASE_RUNNING);
  *node.mutable_desired()->mutable_cordon_time() = TimestampOf("2025-06-09T14:55:00Z");
  (*node.mutable_desired()->mutable_labels())["b"] = "2";
  (*node.mutable_desired()->mutable_labels())["a"] = "1";
  const std::string text = DescribeNode(node, {}, kNow);
  EXPECT_THAT(text, HasSubstr("  Cordon Time:               2025-06-09T14:55:00Z\n"));
  EXPECT_THAT(
      text, HasSubstr("Name:         g8fd930\nNamespace:\nLabels:       a=1\n              b=2\n"));
  EXPECT_THAT(text, HasSubstr("  State:                     PRODUCTION\n"));
}

TEST(DescribeTest, ARunningReconfigurationAndWhatTheConfigurationWaitsFor) {
  lifecycle::v1::NodePool pool = ReferencePool();
  auto& reconfiguration = *pool.mutable_reconfiguration();
  reconfiguration.set_number(2);
  reconfiguration.set_state(lifecycle::v1::Reconfiguration::STATE_HALTED);
  reconfiguration.set_max_unavailable("25%");
  reconfiguration.add_failed_machines("g1");
  EXPECT_THAT(DescribeNodePool(pool, {}, kNow), HasSubstr("  Reconfiguration:\n"
                                                          "    Allowed Failures:        0\n"
                                                          "    Evict Active:            false\n"
                                                          "    Failed Machines:\n"
                                                          "      g1\n"
                                                          "    Max Unavailable:         25%\n"
                                                          "    Number:                  2\n"
                                                          "    Rebooted Nodes:          0\n"
                                                          "    State:                   HALTED\n"));
  for (const auto over : {lifecycle::v1::Reconfiguration::STATE_DONE,
                          lifecycle::v1::Reconfiguration::STATE_CANCELLED}) {
    reconfiguration.set_state(over);
    EXPECT_EQ(DescribeNodePool(pool, {}, kNow), kReference);
    EXPECT_EQ(ToObject(pool)["status"]["reconfiguration"]["number"], 2);
  }
  pool.mutable_status()->mutable_waiting_node_configuration()->set_node_profile("np-next");
  EXPECT_THAT(DescribeNodePool(pool, {}, kNow),
              HasSubstr("  Waiting Node Configuration:\n"
                        "    Node Profile:            np-next\n"));
  pool.mutable_status()->clear_waiting_node_configuration();
  pool.mutable_status()->mutable_node_configuration_revisions(0)->set_disabled(true);
  EXPECT_THAT(DescribeNodePool(pool, {}, kNow), HasSubstr("    Disabled:                true\n"));
}

// nodeProfile and revisions "both as soon as a configuration was staged after the first, always
// with -o wide or --all".
TEST(DescribeTest, TheConfigurationIsShownOnceThereWasAnotherAndAlwaysWithAll) {
  lifecycle::v1::NodePool pool = ReferencePool();
  const auto shows = [&](bool all) {
    const std::string text = DescribeNodePool(pool, {}, kNow, all);
    const bool profile = absl::StrContains(text, "\n  Node Profile:");
    EXPECT_EQ(profile, absl::StrContains(text, "\n  Node Configuration Revisions:")) << text;
    return profile;
  };
  ASSERT_EQ(pool.status().node_configuration_revisions_size(), 1);
  EXPECT_FALSE(shows(false));
  EXPECT_TRUE(shows(true));
  *pool.mutable_status()->add_node_configuration_revisions() =
      pool.status().node_configuration_revisions(0);
  EXPECT_TRUE(shows(false));
}

TEST(DescribeTest, ANodeSaysWhyItLeavesAndWhatIsAmiss) {
  lifecycle::v1::Node node;
  node.set_name(ReferencePool().name() + "/nodes/g8fd930");
  const std::string well = DescribeNode(node, {}, kNow);
  for (const char* label : {"Removal", "Preempt", "Protect", "Unhealthy", "Health", "Rack"})
    EXPECT_THAT(well, Not(HasSubstr(label)));
  node.set_removal_cause(lifecycle::v1::Node::REMOVAL_CAUSE_PREEMPTION);
  node.set_removal_requested(true);
  node.set_rack("r7");
  *node.mutable_preempt_time() = TimestampOf("2025-06-09T14:55:00Z");
  *node.mutable_protect_until_time() = TimestampOf("2025-06-09T18:00:00Z");
  node.mutable_observed()->set_unhealthy(true);
  node.mutable_observed()->set_health_message("GPU 3 fell off the bus");
  const std::string text = DescribeNode(node, {}, kNow);
  for (const char* line :
       {"  Protect Until Time:        2025-06-09T18:00:00Z\n",
        "  Preempt Time:              2025-06-09T14:55:00Z\n",
        "  Removal Cause:             PREEMPTION\n", "  Removal Requested:         true\n",
        "  Unhealthy:                 true\n",
        "  Health Message:            GPU 3 fell off the bus\n",
        "  Rack:                      r7\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  const std::vector<std::string> wide = Row(node, true, kNow);
  const std::vector<std::string> headers = Headers(Kind::kNode, true);
  const auto cell = [&](const char* header) {
    return wide.at(
        static_cast<size_t>(std::find(headers.begin(), headers.end(), header) - headers.begin()));
  };
  EXPECT_EQ(cell("RACK"), "r7");
  EXPECT_EQ(cell("LEAVES FOR"), "PREEMPTION");
}

TEST(TableTest, NodePoolsHaveTheColumnsOfKubectl) {
  TablePrinter printer(Headers(Kind::kNodePool, false));
  const std::string first = printer.Print({Row(ReferencePool(), false, kNow)});
  EXPECT_EQ(first,
            "NAME               INSTANCE TYPE    TARGET   QUEUED   INPROGRESS   CURRENT   "
            "VALIDATED   CAPACITY     QUOTA "
            "  AGE\n"
            "example-nodepool   gd-8xa100-i128   1        0        0            1         Valid    "
            "   Sufficient   Under "
            "  10m\n");
  const std::string second = printer.Print({Row(ReferencePool(), false, kNow)});
  EXPECT_EQ(second, first.substr(first.find('\n') + 1)) << "no header again, the same columns";
}

// As a terminal shows them, not as bytes.
TEST(TableTest, ColumnsAreMeasuredAndCutByCharacters) {
  const std::string arrow = "\xe2\x86\x92";
  EXPECT_EQ(TablePrinter({"A", "B"}).Print({{"x" + arrow, "1"}, {"wide", "2"}}),
            "A      B\nx" + arrow + "     1\nwide   2\n");
  std::string arrows;
  for (int i = 0; i < 30; ++i) arrows += arrow;
  const auto cut = [&](size_t width) {
    return TablePrinter({"A", "B", "C"}, {.headers = false, .width = width})
        .Print({{"name", arrows, "z"}});
  };
  EXPECT_EQ(cut(41), absl::StrCat("name   ", arrows, "   z\n")) << "just fits";
  EXPECT_EQ(cut(40), absl::StrCat("name   ", arrows.substr(0, 27 * arrow.size()), "..   z\n"));
}

TEST(TableTest, WideCharactersTakeTwoColumnsAndMarksNone) {
  const std::string node = "\xe7\xaf\x80\xe9\xbb\x9e";  // two, of two columns each
  const std::string cafe = "cafe\xcc\x81";              // with a mark over the e
  EXPECT_EQ(TablePrinter({"A", "B"}, {.headers = false}).Print({{node, "1"}, {cafe, "2"}}),
            node + "   1\n" + cafe + "   2\n");
  std::string nodes;
  for (int i = 0; i < 10; ++i) nodes += node;
  const auto cut = [&](size_t width) {
    return TablePrinter({"A", "B"}, {.headers = false, .width = width}).Print({{"a", nodes}});
  };
  EXPECT_EQ(cut(44), absl::StrCat("a   ", nodes, "\n")) << "just fits";
  EXPECT_EQ(cut(43), absl::StrCat("a   ", nodes.substr(0, 18 * 3), "..\n")) << "none in halves";
}

bool HasColour(const std::string& cell) {
  TablePrinter printer({"REASON"}, {.headers = false, .colour = true});
  return absl::StrContains(printer.Print({{cell}}), "\x1b[3");
}

TEST(TableTest, EveryReasonThatATableShowsHasAColour) {
  const std::vector<std::string> not_shown = {
      "Complete",    "Pending",                              // NodesRemoved
      "Quota",       "Capacity",                             // MaxNodesUnreachable
      "Ready",       "NotObserved",    "NodesNotInService",  // Ready
      "Reconciling", "Unknown",        "MoreThanAFew",
      "Synced",                                              // the adapter's
      "Registered",  "NotRegistered",  "Active",             // of a Node
      "Idle",        "PendingRemoval", "NotPendingRemoval",  // likewise
  };
  const std::string path = absl::StrCat(MUSTER_SOURCE_DIR, "/services/common/condition_names.h");
  const std::optional<std::string> header = ReadFile(path);
  ASSERT_TRUE(header.has_value()) << path;
  const std::string reasons = header->substr(header->find("namespace reason {"));
  const std::regex constant("constexpr char k[A-Za-z]+\\[\\] = \"([A-Za-z]+)\"");
  int read = 0;
  for (std::sregex_iterator it(reasons.begin(), reasons.end(), constant), end; it != end; ++it) {
    const std::string reason = (*it)[1];
    const bool shown = std::find(not_shown.begin(), not_shown.end(), reason) == not_shown.end();
    EXPECT_EQ(HasColour(reason), shown) << reason;
    ++read;
  }
  EXPECT_GT(read, 20);
}

TEST(TableTest, EveryReasonOfAClaimHasAColour) {
  for (int i = 1; capacity::v1::Claim::Reason_IsValid(i); ++i) {
    const std::string reason = ClaimReasonWord(static_cast<capacity::v1::Claim::Reason>(i));
    EXPECT_TRUE(HasColour(reason)) << reason;
  }
}

TEST(TableTest, EveryKindHasAsManyCellsAsHeaders) {
  const std::vector<Item> items = {lifecycle::v1::NodePool(),
                                   lifecycle::v1::Node(),
                                   lifecycle::v1::Event(),
                                   lifecycle::v1::Cluster(),
                                   quota::v1::Holding(),
                                   quota::v1::Quota(),
                                   capacity::v1::Zone(),
                                   capacity::v1::InstanceType(),
                                   capacity::v1::Machine(),
                                   capacity::v1::Claim(),
                                   configuration::v1::Release(),
                                   configuration::v1::PoolConfiguration(),
                                   configuration::v1::NodeProfile()};
  for (const Item& item : items) {
    for (const bool wide : {false, true}) {
      EXPECT_EQ(Row(item, wide, kNow).size(), Headers(KindOf(item), wide).size())
          << KindWord(KindOf(item)) << wide;
    }
    EXPECT_FALSE(ToYaml(ToObject(item)).empty());
  }
}

TEST(TableTest, AConfigurationShowsWhatIsDecided) {
  configuration::v1::PoolConfiguration pool;
  pool.set_name("poolConfigurations/u-1");
  pool.set_generation(3);
  pool.set_active("np-a");
  pool.mutable_pending()->set_node_profile("np-b");
  pool.mutable_waiting()->set_node_profile("np-c");
  pool.add_revisions()->set_disabled(true);
  pool.add_revisions();
  pool.add_pinned("np-d");
  auto& order = *pool.add_orders();
  order.set_kind(configuration::v1::ConfigurationOrder::KIND_ROLLBACK);
  order.set_outcome(configuration::v1::ConfigurationOrder::OUTCOME_CONFLICT);
  EXPECT_EQ(Row(pool, true, kNow),
            (std::vector<std::string>{"u-1", "np-a", "np-b", "np-c", "", "3", "2", "1", "np-d"}));
  const nlohmann::json object = ToObject(pool);
  EXPECT_EQ(object["status"]["orders"][0]["outcome"], "CONFLICT");
  EXPECT_EQ(object["status"]["orders"][0]["kind"], "ROLLBACK");
  EXPECT_EQ(object["status"]["revisions"][0]["disabled"], true);
  EXPECT_EQ(object["status"]["waiting"]["nodeProfile"], "np-c");
}

TEST(ObjectsTest, AClaimShowsWhatMatchesInServiceAndInRepair) {
  capacity::v1::Claim claim;
  claim.set_reason(capacity::v1::Claim::REASON_PARTIAL);
  claim.set_in_service(4);
  claim.set_matching(2);
  claim.set_matching_in_repair(1);
  const nlohmann::json status = ToObject(claim)["status"];
  EXPECT_EQ(status["inService"], 4);
  EXPECT_EQ(status["matching"], 2);
  EXPECT_EQ(status["matchingInRepair"], 1);
}

// As the past tells of it: nothing of its machines.
TEST(ObjectsTest, AClaimOfTheDaysBeforeDoesNotSeemToHoldNothing) {
  capacity::v1::Claim claim;
  claim.set_name("claims/u1");
  claim.set_nodes(8);
  EXPECT_EQ(Row(claim, true, kNow),
            (std::vector<std::string>{"u1", "", "", "default", "8", "<unknown>", "0", "<unknown>",
                                      "", "0", "<unknown>", "<none>", "<unknown>"}));
  const nlohmann::json status = ToObject(claim)["status"];
  EXPECT_EQ(status, (nlohmann::json{{"outstanding", 0}}));
}

TEST(TableTest, DurationsReadAsKubectls) {
  const std::pair<absl::Duration, const char*> cases[] = {
      {-absl::Seconds(5), "<invalid>"},
      {-absl::Seconds(1), "0s"},
      {absl::Seconds(119), "119s"},
      {absl::Seconds(120), "2m"},
      {absl::Seconds(150), "2m30s"},
      {absl::Minutes(10) + absl::Seconds(5), "10m"},
      {absl::Minutes(179), "179m"},
      {absl::Minutes(180), "3h"},
      {absl::Minutes(190), "3h10m"},
      {absl::Hours(47), "47h"},
      {absl::Hours(50), "2d2h"},
      {absl::Hours(24 * 9 + 5), "9d"},
      {absl::Hours(24 * 730), "2y"},
      {absl::Hours(24 * 735), "2y5d"},
      {absl::Hours(24 * 365 * 9 + 48), "9y"}};
  for (const auto& [duration, text] : cases) EXPECT_EQ(HumanDuration(duration), text);
}

TEST(ObjectsTest, NoTextIsANumberOrATimeToAnyReader) {
  for (const char* text :
       {"0x1f", "0b11", "0o17", "1_000", ".inf", "-.INF", ".NaN", "+1", ".5", "1e3", "2025-06-09",
        "2025-06-09T14:48:54Z", "12:30:45", "-", "yes", "~"})
    EXPECT_EQ(ToYaml({{"a", text}}), absl::StrCat("a: \"", text, "\"\n"));
  for (const char* text : {"g1", "np-1", "US-EAST-04A", "a.b", "v1"})
    EXPECT_EQ(ToYaml({{"a", text}}), absl::StrCat("a: ", text, "\n"));
}

TEST(ObjectsTest, APoolAsYaml) {
  EXPECT_THAT(ToYaml(ToObject(ReferencePool())),
              HasSubstr(R"(apiVersion: compute.coreweave.com/v1alpha1
kind: NodePool
metadata:
  creationTimestamp: "2025-06-09T14:48:54Z"
  generation: 1
  name: example-nodepool
  resourceVersion: "857370"
  uid: 9311678d-4064-45b8-8439-b943250e5852
spec:
  autoscaling: false
  instanceType: gd-8xa100-i128
  lifecycle:
    disableUnhealthyNodeEviction: true
    scaleDownStrategy: IdleOnly
  maxNodes: 0
  minNodes: 0
  targetNodes: 1
)"));
}

TEST(ObjectsTest, WhatWasPrintedCanBeApplied) {
  lifecycle::v1::NodePool pool = ReferencePool();
  (*pool.mutable_spec()->mutable_node_labels())["odd"] = "yes";
  (*pool.mutable_spec()->mutable_node_labels())["number"] = "010";
  (*pool.mutable_spec()->mutable_node_labels())["empty"] = "";
  pool.mutable_spec()->mutable_gpu()->set_version("570");
  pool.mutable_spec()->mutable_lifecycle()->set_max_unavailable("2");
  pool.mutable_spec()->set_priority(7);
  pool.mutable_spec()->set_gang(true);
  pool.mutable_spec()->set_description("training");
  pool.mutable_spec()->mutable_prefill()->set_enabled(true);
  pool.mutable_spec()->mutable_prefill()->set_max_nodes(4);
  auto& expression = *pool.mutable_spec()->mutable_node_affinity()->add_terms()->add_expressions();
  expression.set_key("tier");
  expression.set_operator_("NotIn");
  expression.add_values("1");
  capacity::v1::Machine machine;
  machine.set_name("machines/g8fd930");
  machine.set_zone("US-EAST-04A");
  machine.set_instance_type("gd-8xa100-i128");
  machine.set_slot(3);
  quota::v1::Quota quota;
  quota.set_name("organizations/other/quotas/US-EAST-04A~gd-8xa100-i128~spot");
  quota.set_limit(16);
  auto* launch = quota.add_overrides();
  launch->set_limit(20);
  *launch->mutable_effective_time() = TimestampOf("2026-01-31T12:00:00Z");
  launch->mutable_effective_time()->set_nanos(250'000);
  *launch->mutable_expire_time() = TimestampOf("2026-02-01T12:00:00Z");
  launch->set_reason("launch");
  configuration::v1::Release release;
  release.set_name("channels/stable/components/kubernetes/releases/1.33");
  lifecycle::v1::Cluster cluster;
  cluster.set_name("organizations/other/clusters/example");
  cluster.set_zone("US-EAST-04A");
  cluster.set_kubernetes_version("1.33");
  capacity::v1::Zone zone;
  zone.set_name("zones/US-EAST-04A");
  zone.set_access(capacity::v1::Zone::ACCESS_DEDICATED);
  zone.add_instance_types("gd-8xa100-i128");
  const nlohmann::json list = ToList({ToObject(zone), ToObject(machine), ToObject(quota),
                                      ToObject(release), ToObject(cluster), ToObject(pool)});
  for (const std::string& text : {ToYaml(list), list.dump()}) {
    const auto manifests =
        ParseManifests("list", text, {.organization = "acme", .cluster = "example"});
    ASSERT_TRUE(manifests.ok()) << manifests.status().message();
    ASSERT_EQ(manifests->size(), 6u);
    EXPECT_EQ(std::get<capacity::v1::Zone>((*manifests)[0].resource).access(), zone.access());
    EXPECT_EQ(std::get<capacity::v1::Machine>((*manifests)[1].resource).DebugString(),
              machine.DebugString());
    EXPECT_EQ(std::get<quota::v1::Quota>((*manifests)[2].resource).DebugString(),
              quota.DebugString());
    EXPECT_EQ(std::get<configuration::v1::Release>((*manifests)[3].resource).name(),
              release.name());
    EXPECT_EQ(std::get<lifecycle::v1::Cluster>((*manifests)[4].resource).DebugString(),
              cluster.DebugString());
    EXPECT_EQ(ToObject(std::get<lifecycle::v1::NodePool>((*manifests)[5].resource))["spec"],
              ToObject(pool)["spec"]);
  }
}

}  // namespace
}  // namespace muster::musterctl
