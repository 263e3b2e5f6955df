// Questions to the servers themselves: debug, auth.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/common/error.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/commands/testing/commands_test_base.h"

namespace muster::musterctl {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

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

TEST_F(CommandsTest, TheLogsLevelIsShownAndSet) {
  EXPECT_EQ(RunLine({"debug", "log-level"}), kDone);
  EXPECT_EQ(out(), "log level: info\n");
  EXPECT_EQ(RunLine({"debug", "log-level", "debug"}), kDone);
  EXPECT_EQ(api_.log_level, debug::v1::LOG_LEVEL_DEBUG);
  EXPECT_EQ(RunLine({"debug", "log-level", "warn"}), kDone);
  EXPECT_THAT(out(), EndsWith("log level: warning\n"));
  EXPECT_EQ(RunLine({"debug", "log-level", "loud"}), kWrongUse);
  EXPECT_EQ(RunLine({"debug", "log-level", "debug", "info"}), kWrongUse);
  EXPECT_EQ(api_.log_level, debug::v1::LOG_LEVEL_WARN);
}

TEST_F(CommandsTest, WhoAmISaysNameAndGrants) {
  api_.caller.mutable_caller()->set_principal("spiffe://m.test/ann");
  EXPECT_EQ(RunLine({"auth", "whoami"}), kDone);
  EXPECT_EQ(out(), "spiffe://m.test/ann\nNo role: the server's policy lets you do nothing.\n");
  auto& read = *api_.caller.mutable_caller()->add_grants();
  read.set_verb(type::v1::Access::VERB_READ);
  read.set_everywhere(true);
  auto& write = *api_.caller.mutable_caller()->add_grants();
  write.set_verb(type::v1::Access::VERB_WRITE);
  write.add_organizations("acme");
  write.add_organizations("beta");
  write.add_zones("US-EAST-04A");
  EXPECT_EQ(RunLine({"auth", "whoami"}), kDone);
  EXPECT_THAT(out(), EndsWith("spiffe://m.test/ann\n"
                              "MAY     WHERE\n"
                              "read    everywhere\n"
                              "write   organizations acme, beta; zones US-EAST-04A\n"));
}

TEST_F(CommandsTest, CanISaysYesOrNoAndWhy) {
  api_.access_answer.set_allowed(true);
  EXPECT_EQ(
      RunLine({"auth", "can-i", "ApplyNodePool", "organizations/acme/clusters/c1/nodePools/a"}),
      kDone);
  EXPECT_EQ(out(), "yes\n");
  EXPECT_EQ(api_.access_asked.method(), "ApplyNodePool");
  EXPECT_EQ(api_.access_asked.resource(), "organizations/acme/clusters/c1/nodePools/a");
  api_.access_answer.set_allowed(false);
  api_.access_answer.set_reason("it takes a role with operate.");
  EXPECT_EQ(RunLine({"auth", "can-i", "UpdateZone"}), kFailed);
  EXPECT_THAT(out(), EndsWith("no\n"));
  EXPECT_THAT(err(), HasSubstr("it takes a role with operate."));
  EXPECT_EQ(RunLine({"auth"}), kWrongUse);
  EXPECT_EQ(RunLine({"auth", "can-i"}), kWrongUse);
}

TEST_F(CommandsTest, WhereNobodyIsItIsSaidHowAServerIsNamed) {
  api_.refusal_of_reads = FromServer(absl::UnavailableError("connections to all backends failing"));
  EXPECT_EQ(RunLine({"get", "nodepools"}), kFailed);
  EXPECT_EQ(err(),
            "error: connections to all backends failing (UNAVAILABLE)\n"
            "note: --server, MUSTER_SERVER or a context (musterctl config set-context) says where "
            "Muster is; else it is looked for at 127.0.0.1:7600\n");
  // Who said one knows how.
  EXPECT_EQ(RunLine({"get", "nodepools", "--server=lab:7600"}), kFailed);
  EXPECT_THAT(err(), Not(HasSubstr("note:")));
  // A server that answers is there.
  api_.refusal_of_reads =
      error::Make(absl::StatusCode::kUnavailable, "Not now.", {.reason = "DATABASE_UNAVAILABLE"});
  EXPECT_EQ(RunLine({"get", "nodepools"}), kFailed);
  EXPECT_THAT(err(), Not(HasSubstr("note:")));
}

TEST_F(CommandsTest, AuditShowsTheBooksSideBySide) {
  auto& line = *api_.books.add_lines();
  line.set_organization("acme");
  line.set_zone("US-EAST-04A");
  line.set_instance_type("gd-8xa100-i128");
  line.set_compute_class("default");
  line.set_node_pools(1);
  line.set_nodes(2);
  line.set_charged(3);
  line.set_machines(4);
  line.set_configurations(5);
  api_.books.set_line_count(1);
  EXPECT_EQ(RunLine({"debug", "audit"}), kDone);
  EXPECT_EQ(
      out(),
      "ORGANIZATION   ZONE          INSTANCE TYPE    CLASS     POOLS   NODES   CHARGED   "
      "MACHINES   CONFIGURATIONS\n"
      "acme           US-EAST-04A   gd-8xa100-i128   default   1       2       3         4     "
      "     5\n");
  EXPECT_FALSE(api_.asked_books.has_settle());
  api_.books.set_passing_count(2);
  EXPECT_EQ(RunLine({"debug", "audit", "--settle=1500ms"}), kDone);
  EXPECT_THAT(out(), EndsWith("2 differences were on their way and do not count.\n"));
  EXPECT_EQ(api_.asked_books.settle().seconds(), 1);
  EXPECT_EQ(api_.asked_books.settle().nanos(), 500'000'000);
  EXPECT_EQ(options_.timeout, absl::Milliseconds(11'500)) << "it is looked for so long first";
  EXPECT_EQ(RunLine({"debug", "audit", "--settle=20s", "--timeout=3s"}), kDone);
  EXPECT_EQ(options_.timeout, absl::Seconds(3));
}

TEST_F(CommandsTest, AuditFailsOnADifference) {
  auto& difference = *api_.books.add_differences();
  difference.set_kind("orphan_claim");
  difference.set_pool_uid("ghost");
  difference.set_subject("claims/ghost");
  difference.set_message("3 machines held by a pool that does not exist.");
  api_.books.set_difference_count(7);
  EXPECT_EQ(RunLine({"debug", "audit"}), kFailed);
  EXPECT_THAT(out(), HasSubstr("DIFFERS        POOL UID   NODEPOOL   WHAT           MESSAGE\n"
                               "orphan_claim   ghost      <none>     claims/ghost   3 machines "));
  EXPECT_THAT(out(), EndsWith("... and 6 differences more\n"));
  EXPECT_THAT(err(), HasSubstr("7 differences between the books of the services"));
  api_.books.set_orphans_withheld(true);
  api_.books.set_orphan_count(5);
  EXPECT_EQ(RunLine({"debug", "audit"}), kFailed);
  EXPECT_THAT(out(), HasSubstr("5 pools do not exist: so many, or from before a restore, that"));
  EXPECT_EQ(RunLine({"debug", "audit", "--settle=soon"}), kWrongUse);
}

}  // namespace
}  // namespace muster::musterctl
