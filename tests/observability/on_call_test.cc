#include "tests/observability/on_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(LooksOf, AreWhatAsksAndChangesNothing) {
  const Looks looks = LooksOf(
      "- Look: `muster_lane_revision`, `musterctl get nodes -o wide`, `muster_<service>_audits`, "
      "`53300`.\n"
      "- Do: `musterctl withdraw release ...`; `musterctl debug audit`; `--orphan_grace`; `sum by "
      "(a) (b)`.");
  EXPECT_THAT(looks.commands, ElementsAre("musterctl get nodes -o wide", "musterctl debug audit"));
  EXPECT_THAT(looks.queries, ElementsAre("muster_lane_revision", "sum by (a) (b)"));
}

TEST(LooksOf, TheLogsWordsStandInQuotesBehindIt) {
  const Looks looks = LooksOf(
      "Ticket. It says \"before the list\".\n\n"
      "- Look: `a{b=\"c\"}` \"no word of it\"; its log, \"the books\n  differ\" or \"audit not "
      "made\" (`d=\"e\"`,\n"
      "  \"Raise the level\").\n"
      "- Do: see \"the next item\".");
  EXPECT_THAT(looks.messages, ElementsAre("the books differ", "audit not made"));
}

TEST(RunbookOf, IsASectionWithoutItsHeading) {
  EXPECT_THAT(RunbookOf("MusterDown"), HasSubstr("- Do: start it"));
  EXPECT_EQ(RunbookOf("MusterDown").find("##"), std::string::npos);
  EXPECT_EQ(RunbookOf("Muster"), "no section");
}

TEST(AmissIn, IsWhatIsNotWell) {
  EXPECT_EQ(AmissIn(R"({"now":1,"health":{"services":[{"service":"quota","ready":true}],)"
                    R"("watches":[{"service":"quota","live":true}]}})"),
            "nothing");
  EXPECT_EQ(AmissIn(R"({"health":{"services":[{"service":"quota","ready":false},)"
                    R"({"service":"lifecycle","ready":true,"leaderless":true}],)"
                    R"("watches":[{"service":"capacity","live":false}]}})"),
            "not ready: quota; no news: capacity; no leader");
  EXPECT_EQ(AmissIn("no answer: Connection"), "no answer");
}

TEST(ObstaclesIn, AreTheRowsOfItsTable) {
  EXPECT_EQ(ObstaclesIn({0,
                         "nodepool/a: target 4, 3 current.\n\n"
                         "REASON          WHO MUST ACT   MESSAGE\n"
                         "LEAVING         nobody         Nodes on their way out: 1.\n"
                         "DRAIN_BLOCKED   user           Node g cannot be drained.\n"}),
            "LEAVING, DRAIN_BLOCKED");
  EXPECT_EQ(ObstaclesIn({0, "nodepool/a: target 3.\nNothing keeps it from being there.\n"}),
            "nothing");
  EXPECT_EQ(ObstaclesIn({1, "error: The database is away. (UNAVAILABLE, try again in 1s)\n"}),
            "UNAVAILABLE");
  EXPECT_EQ(ObstaclesIn({1, ""}), "no answer");
}

TEST(IsLogged, IsAMessageSinceThen) {
  const absl::Time since = absl::FromUnixSeconds(1'750'000'000);  // 2025-06-15T15:06:40Z
  const std::string lines =
      R"({"ts":"2025-06-15T15:06:39.000000Z","level":"error","msg":"before"}
no JSON: the books differ
{"ts":"2025-06-15T15:06:41.000000Z","level":"info","msg":"the books are well","error":"in between"}
)";
  EXPECT_TRUE(IsLogged(lines, since, "the books"));
  EXPECT_FALSE(IsLogged(lines, since, "before"));
  EXPECT_FALSE(IsLogged(lines, since, "the books differ"));
  EXPECT_FALSE(IsLogged(lines, since, "in between"));
}

TEST(OneLine, HasSingleSpaces) {
  EXPECT_EQ(OneLine(" put a\n  certificate  in place\n"), "put a certificate in place");
  EXPECT_EQ(OneLine(""), "");
}

TEST(TroubleIn, CountsEqualLinesSinceThen) {
  const absl::Time since = absl::FromUnixSeconds(1'750'000'000);  // 2025-06-15T15:06:40Z
  EXPECT_THAT(TroubleIn(R"({"ts":"2025-06-15T15:06:39.000000Z","level":"error","msg":"before"}
{"ts":"2025-06-15T15:06:41.000000Z","level":"warn","msg":"slow","service":"quota"}
{"ts":"2025-06-15T15:06:42.000000Z","level":"info","msg":"fine"}
no JSON
{"ts":"2025-06-15T15:06:43.000000Z","level":"warn","msg":"slow","service":"quota"}
)",
                        since),
              ElementsAre("2 x warn: slow service=\"quota\""));
  EXPECT_THAT(TroubleIn("", since), IsEmpty());
}

}  // namespace
}  // namespace muster::testing
