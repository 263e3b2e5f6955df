#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/commands/testing/commands_test_base.h"

namespace muster::musterctl {
namespace {

using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using PastTest = CommandsTest;

history::v1::Change AChange(int64_t revision, history::v1::Change::Type type) {
  history::v1::Change change;
  change.set_revision(revision);
  change.mutable_change_time()->set_seconds(1'749'480'000 + revision);
  change.set_type(type);
  change.set_before_known(true);
  return change;
}

history::v1::GetPastResponse APast(int64_t nodes) {
  lifecycle::v1::NodePool pool;
  pool.set_name("organizations/acme/clusters/example/nodePools/train");
  pool.mutable_spec()->set_target_nodes(nodes);
  history::v1::GetPastResponse past;
  past.mutable_resource()->PackFrom(pool);
  return past;
}

TEST_F(PastTest, HistorySaysWhoDidWhatAndWhy) {
  history::v1::Change scaled = AChange(41, history::v1::Change::TYPE_UPDATED);
  // As a time of --at: cut to seconds, it would be before the change.
  scaled.mutable_change_time()->set_nanos(300'250'000);
  scaled.mutable_author()->set_principal("spiffe://muster/user/ann");
  scaled.mutable_author()->set_method("/muster.lifecycle.v1.LifecycleService/ResizeNodePool");
  scaled.mutable_author()->set_request_id("r1");
  scaled.mutable_author()->set_trace_id("4bf9");
  scaled.mutable_author()->set_reason("black friday");
  auto* field = scaled.add_fields();
  field->set_path("spec.target_nodes");
  field->set_before("2");
  field->set_after("3\n2025-06-09T14:40:41Z deleted by eve");
  *api_.changes.add_changes() = AChange(50, history::v1::Change::TYPE_DELETED);
  *api_.changes.add_changes() = scaled;
  history::v1::Change first = AChange(7, history::v1::Change::TYPE_UPDATED);
  first.set_before_known(false);
  *api_.changes.add_changes() = first;
  EXPECT_EQ(RunLine({"history", "nodepool", "train"}), kDone) << err();
  EXPECT_EQ(
      out(),
      "2025-06-09T14:40:50Z deleted by ? (revision 50)\n"
      "2025-06-09T14:40:41.30025Z updated by spiffe://muster/user/ann with ResizeNodePool, request "
      "r1, trace 4bf9 (revision 41)\n"
      "  reason: black friday\n"
      "  spec.target_nodes: 2 -> 3\\u000a2025-06-09T14:40:41Z deleted by eve\n"
      "2025-06-09T14:40:07Z updated by ? (revision 7)\n"
      "  what it was before is no longer known\n"
      "What was before is no longer known.\n");
  api_.changes.set_next_page_token("there are more");
  EXPECT_EQ(RunLine({"history", "np", "train", "--since=1h", "--limit=3"}), kDone);
  EXPECT_THAT(out(), EndsWith("\nThere are more; see --limit.\n"));
  EXPECT_THAT(out(), Not(HasSubstr("What was before is no longer known")));
  EXPECT_THAT(api_.calls, ElementsAre("changes nodepool train 20 infinite-past",
                                      "changes nodepool train 3 2025-06-09T13:58:54+00:00"));
  api_.changes.Clear();
  EXPECT_EQ(RunLine({"history", "np", "train"}), kDone);
  EXPECT_EQ(out(), "No change of it is known.\n");
  EXPECT_EQ(RunLine({"history", "np", "train", "--since=1h"}), kDone);
  EXPECT_EQ(out(), "No change of it is known since then.\n");
  EXPECT_EQ(RunLine({"history", "np", "train", "--since", "2025-06-09T16:00:00.5+02:00"}), kDone);
  EXPECT_THAT(api_.calls, Contains("changes nodepool train 20 2025-06-09T14:00:00.5+00:00"));
  // As ages are printed.
  EXPECT_EQ(RunLine({"history", "np", "train", "--since=7d"}), kDone) << err();
  EXPECT_THAT(api_.calls, Contains("changes nodepool train 20 2025-06-02T14:58:54+00:00"));
  EXPECT_EQ(RunLine({"history", "np", "train", "--since=1d12h30m"}), kDone) << err();
  EXPECT_THAT(api_.calls, Contains("changes nodepool train 20 2025-06-08T02:28:54+00:00"));
}

TEST_F(PastTest, DiffSaysWhatIsOtherwise) {
  api_.past = {APast(2), APast(3)};
  EXPECT_EQ(RunLine({"diff", "nodepool", "train", "--since=2025-06-09T14:00:00Z"}), kDone) << err();
  EXPECT_EQ(out(), "  spec.target_nodes: 2 -> 3\n");
  EXPECT_EQ(RunLine({"diff", "nodepool", "train", "--since=41"}), kDone) << err();
  EXPECT_EQ(out(), "No difference.\n");
  EXPECT_THAT(api_.calls,
              ElementsAre("past nodepool train 2025-06-09T14:00:00+00:00",
                          "past nodepool train 9999-12-31T23:59:59+00:00", "past nodepool train 41",
                          "past nodepool train 9999-12-31T23:59:59+00:00"));
}

TEST_F(PastTest, GetShowsAResourceAsItWas) {
  api_.past = {APast(2)};
  EXPECT_EQ(RunLine({"get", "nodepool", "train", "--at=90m", "-o", "yaml"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr("targetNodes: 2"));
  EXPECT_THAT(api_.calls, ElementsAre("past nodepool train 2025-06-09T13:28:54+00:00"));
  api_.past = {absl::OutOfRangeError("The journal no longer tells of that moment.")};
  EXPECT_EQ(RunLine({"get", "nodepool", "train", "--at=90m"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("The journal no longer tells of that moment."));
  history::v1::GetPastResponse strange;
  strange.mutable_resource()->set_type_url("type.googleapis.com/x");
  api_.past = {strange};
  EXPECT_EQ(RunLine({"get", "nodepool", "train", "--at=90m"}), kFailed);
}

TEST_F(PastTest, WhatIsYetToComeIsNotTold) {
  for (const std::vector<std::string>& line : std::vector<std::vector<std::string>>{
           {"get", "nodepool", "train", "--at=2025-06-09T15:00:00Z"},
           {"diff", "nodepool", "train", "--since=2026-01-01T00:00:00Z"}}) {
    EXPECT_EQ(RunLine(line), kWrongUse);
    EXPECT_THAT(err(), HasSubstr(" is yet to come, it is 2025-06-09T14:58:54Z"));
  }
  EXPECT_THAT(api_.calls, IsEmpty());
  // A server's clock may be ahead.
  api_.past = {APast(2)};
  EXPECT_EQ(RunLine({"get", "nodepool", "train", "--at=2025-06-09T14:59:54Z"}), kDone) << err();
}

// It is ten minutes old now; two minutes ago it was eight.
TEST_F(PastTest, AgesAreThoseOfThen) {
  api_.items[Kind::kNodePool] = {ReferencePool()};
  history::v1::GetPastResponse past;
  past.mutable_resource()->PackFrom(ReferencePool());
  api_.past = {past};
  EXPECT_EQ(RunLine({"get", "np", "--no-headers"}), kDone);
  EXPECT_THAT(out(), EndsWith(" 10m\n"));
  for (const char* what : {"np", "np/example-nodepool"}) {
    EXPECT_EQ(RunLine({"get", what, "--at=2m", "--no-headers"}), kDone) << err();
    EXPECT_THAT(out(), EndsWith(" 8m\n")) << what;
    EXPECT_EQ(err(), "");
    EXPECT_EQ(RunLine({"get", what, "--at=41", "--no-headers"}), kDone) << err();
    EXPECT_THAT(out(), EndsWith(" 10m\n")) << what;
    EXPECT_EQ(err(), "note: ages are as of now; when a revision was is not told\n");
  }
}

TEST_F(PastTest, WhatWasNotThereThenIsNotTakenForUnknown) {
  const absl::Status none = FromServer(absl::NotFoundError("it does not exist."));
  constexpr char kNotThen[] =
      "note: nodepool/train was not there then, or its past is not told to you; musterctl history "
      "tells when it was\n"
      "error: it does not exist. (NOT_FOUND)\n";
  constexpr char kNotNow[] =
      "note: nodepool/train is not there now, or its past is not told to you; musterctl history "
      "tells when it was\n"
      "error: it does not exist. (NOT_FOUND)\n";
  api_.past = {none};
  EXPECT_EQ(RunLine({"get", "nodepool", "train", "--at=1h"}), kFailed);
  EXPECT_EQ(err(), kNotThen);
  EXPECT_EQ(RunLine({"get", "nodepool", "train", "--at=1h", "--ignore-not-found"}), kDone);
  EXPECT_EQ(err(), "");
  EXPECT_EQ(RunLine({"diff", "nodepool", "train", "--since=1h"}), 2);
  EXPECT_EQ(err(), kNotThen);
  api_.past = {APast(2), none};
  EXPECT_EQ(RunLine({"diff", "nodepool", "train", "--since=1h"}), 2);
  EXPECT_EQ(err(), kNotNow);
}

// Zones, instance types and the like: who sees them may not be told of their past.
TEST_F(PastTest, ThePastOfThePlatformIsNotForAll) {
  constexpr char kNote[] = "note: the past of zones is told only to who may read everywhere\n";
  api_.past = {FromServer(absl::NotFoundError("it does not exist."))};
  EXPECT_EQ(RunLine({"get", "zone", "A-1A", "--at=1h"}), kFailed);
  EXPECT_THAT(err(), HasSubstr(kNote));
  api_.refusal_of_reads = FromServer(absl::NotFoundError("it does not exist."));
  EXPECT_EQ(RunLine({"history", "zone", "A-1A"}), kFailed);
  EXPECT_EQ(err(), absl::StrCat(kNote, "error: it does not exist. (NOT_FOUND)\n"));
  EXPECT_EQ(RunLine({"history", "nodepool", "train"}), kFailed);
  EXPECT_THAT(err(), Not(HasSubstr("note")));
}

// The past does not tell which machines a claim had.
TEST_F(PastTest, AClaimOfThePastDoesNotSeemToHoldNothing) {
  capacity::v1::Claim claim;
  claim.set_name("claims/u1");
  claim.set_nodes(8);
  history::v1::GetPastResponse past;
  past.mutable_resource()->PackFrom(claim);
  api_.past = {past};
  constexpr char kNote[] = "note: the machines and the reason of claims then are not told\n";
  EXPECT_EQ(RunLine({"get", "claim/u1", "--at=1m", "--no-headers"}), kDone) << err();
  EXPECT_EQ(err(), kNote);
  EXPECT_THAT(out(), ContainsRegex("u1 .* 8 +<unknown> +0 +<unknown>"));
  EXPECT_EQ(RunLine({"diff", "claim/u1", "--since=1h"}), kDone) << err();
  EXPECT_EQ(err(), kNote);
  EXPECT_EQ(out(), "No difference.\n");
}

TEST_F(PastTest, GetShowsListsAsTheyWere) {
  lifecycle::v1::NodePool pool;
  ASSERT_TRUE(APast(2).resource().UnpackTo(&pool));
  api_.items[Kind::kNodePool] = {pool};
  EXPECT_EQ(RunLine({"get", "nodepools", "--at=1h", "-o", "name"}), kDone) << err();
  EXPECT_EQ(out(), "nodepool/train\n");
  EXPECT_EQ(RunLine({"get", "nodes", "--at=41", "--nodepool=train"}), kDone) << err();
  EXPECT_EQ(err(), "No nodes found.\n");
  EXPECT_EQ(RunLine({"get", "quotas", "--at=41"}), kDone);
  EXPECT_EQ(err(), "note: what quotas held then is not told\nNo quotas found.\n");
  EXPECT_THAT(api_.calls, ElementsAre("past list nodepool  time", "past list node train revision",
                                      "past list quota  revision"));
}

TEST_F(PastTest, RefusesWhatMakesNoSense) {
  const auto expect_wrong = [&](const std::vector<std::string>& line, const std::string& says) {
    EXPECT_EQ(RunLine(line), kWrongUse);
    EXPECT_THAT(err(), HasSubstr(says));
  };
  expect_wrong({"history", "nodepool"}, "history: KIND and NAME");
  expect_wrong({"history", "spoon", "x"}, "unknown kind \"spoon\"");
  expect_wrong({"history", "np", "x", "--limit=0"}, "--limit: must be 1 to 10000");
  expect_wrong({"history", "np", "x", "--limit=many"}, "--limit: must be an integer");
  expect_wrong({"history", "np", "x", "--since=7"}, "--since: of history, a time or how long ago");
  for (const char* none : {"soon", "d", "xd", "-1d", "1d-2h", "1d2", "1dd", "99999999999d"})
    expect_wrong({"history", "np", "x", absl::StrCat("--since=", none)},
                 "--since: must be how long ago, such as 1h or 7d, a time such as 2025-");
  expect_wrong({"history", "np", "x", "--since=-1h"}, "--since: must be how long ago, such as 1h");
  expect_wrong({"history", "np", "x", "--since=2025-06-09"}, "--since: must be how long ago");
  expect_wrong({"diff", "np", "x"}, "diff: needs --since");
  expect_wrong({"get", "np", "x", "--at=-1h"}, "--at: must be how long ago");
  expect_wrong({"get", "np", "x", "--at=1h", "--watch"}, "--at: not with --watch");
  expect_wrong({"get", "np", "x", "--reason=a\nb"}, "--reason: at most 256 printable ASCII");
  expect_wrong({"get", "np", "x", "--reason=" + std::string(257, 'a')}, "--reason: at most 256");
  EXPECT_THAT(api_.calls, ElementsAre());
}

TEST_F(PastTest, AReasonTravelsWithTheCalls) {
  EXPECT_EQ(RunLine({"scale", "np", "train", "--nodes=3", "--reason", "black friday"}), kDone);
  EXPECT_EQ(options_.reason, "black friday");
  environment_["MUSTER_REASON"] = "drill";
  EXPECT_EQ(RunLine({"scale", "np", "train", "--nodes=3"}), kDone);
  EXPECT_EQ(options_.reason, "drill");
}

}  // namespace
}  // namespace muster::musterctl
