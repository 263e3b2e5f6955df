// Of the database and whoever else is in it.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <stop_token>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/integration/child.h"
#include "tests/observability/server_faults.h"
#include "tests/testing/sql.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// From now on the COMMIT of a change of a pool waits for whoever holds the advisory lock, and no
// other does: the lease, a sweep, a read that is proven are never in doubt, and would only keep it
// from being sent.
constexpr char kPoolsWaitAtCommit[] =
    "CREATE FUNCTION lifecycle.wait() RETURNS trigger LANGUAGE plpgsql AS"
    " $$BEGIN PERFORM pg_advisory_xact_lock(7600); RETURN NULL; END$$;"
    "CREATE CONSTRAINT TRIGGER wait AFTER INSERT OR UPDATE ON lifecycle.node_pool"
    " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION lifecycle.wait()";

class DatabaseFaults : public ServerFaults {
 protected:
  static MiniMuster::Options OwnDatabase() {
    MiniMuster::Options options = Fast();
    options.own_cluster = true;
    return options;
  }
  // A session that does this and stays.
  void Hold(const std::string& sql) { holder_ = muster_->database().Hold(sql); }
  void LetGo() { holder_.reset(); }
  // A machine that nobody has goes into repair and back; each time it is a change in capacity's
  // journal.
  void ChangeMachine(int times) {
    const auto stub = capacity::v1::CapacityService::NewStub(muster_->channel());
    const std::string machine = muster_->database().QueryValue(
        "SELECT min(id) FROM capacity.machine WHERE instance_type = 'gb200-4x'");
    for (int i = 0; i < times; ++i) {
      grpc::ClientContext context;
      capacity::v1::SetMachineStateRequest request;
      request.set_name(absl::StrCat("machines/", machine));
      request.set_state(i % 2 == 0 ? capacity::v1::Machine::STATE_IN_REPAIR
                                   : capacity::v1::Machine::STATE_FREE);
      capacity::v1::Machine changed;
      ASSERT_TRUE(stub->SetMachineState(&context, request, &changed).ok());
    }
  }

  OpenTransaction holder_;
};

TEST_F(DatabaseFaults, OneThatIsAway) {
  Start(OwnDatabase());
  Run({.name = "PostgreSQL stopped, callers go on",
       .inject = [&] { muster_->cluster().Stop(PostgresCluster::StopMode::kFast); },
       .mend = [&] { muster_->cluster().Start(); },
       .meanwhile = Resizes(),
       .alerts = {"MusterDatabaseAway", "MusterErrorBudgetBurn", "MusterErrorBudgetBurnSlow"},
       .may_fire = {"MusterNoLeader", "MusterFleetNotReconciled", "MusterCommandsStuck",
                    "MusterCommitsInDoubt", "MusterSlow", "MusterAuditsFail", "MusterPeerAway"},
       .may_linger = {"MusterErrorBudgetBurnSlow"},
       .panel = "Service and engine: Refused connections",
       .runbook = "Do: bring it back"});
}

TEST_F(DatabaseFaults, AHeadThatSomebodyHolds) {
  Start(Fast());
  Run({.name = "a session holds the lock of lifecycle's journal",
       .inject = [&] { Hold("SELECT * FROM lifecycle.journal_head FOR UPDATE"); },
       .mend = [&] { LetGo(); },
       .meanwhile = Resizes(),
       .alerts = {"MusterCommandsStuck", "MusterNoLeader", "MusterFleetNotReconciled"},
       .may_fire = {"MusterErrorBudgetBurn", "MusterErrorBudgetBurnSlow", "MusterSlow",
                    "MusterDatabaseAway", "MusterAuditsFail"},
       .may_linger = {"MusterErrorBudgetBurnSlow"},
       .panel = "Service and engine: Queue",
       .runbook = "end a stranger's transaction that holds the lock"});
}

// What is asked is committed, and nobody does it: `explain` and the page say so.
TEST_F(DatabaseFaults, ALeaseThatSomebodyHolds) {
  Start(Fast());
  Run({.name = "a session holds the lock of lifecycle's lease",
       .inject = [&] { Hold("SELECT * FROM lifecycle.lease_heartbeat FOR UPDATE"); },
       .mend =
           [&] {
             EXPECT_TRUE(muster_->Resize(5).ok());
             const Finished said = muster_->Ctl({"explain", "nodepool", "example-nodepool"});
             EXPECT_THAT(said.output, HasSubstr("NO_LEADER"));
             EXPECT_THAT(said.output, Not(HasSubstr("cannot commit")));
             LetGo();
           },
       .alerts = {"MusterNoLeader", "MusterFleetNotReconciled"},
       .may_fire = {"MusterErrorBudgetBurn", "MusterErrorBudgetBurnSlow", "MusterSlow",
                    "MusterAuditsFail"},
       .may_linger = {"MusterErrorBudgetBurnSlow"},
       .panel = "Fleet: Leader",
       .runbook = "end a stranger's transaction that holds the lease"});
}

TEST_F(DatabaseFaults, OneRestoredToItsPast) {
  Start(Calm());
  const Past past(muster_->database(), "quota");
  ASSERT_TRUE(muster_->Resize(4).ok());
  ASSERT_TRUE(muster_->AwaitSettled(4));
  Run({.name = "quota's database restored under a running musterd",
       .inject =
           [&] {
             muster_->Signal(SIGSTOP);
             past.Restore();
             muster_->Signal(SIGCONT);
           },
       .mend = [] {},
       .meanwhile = Resizes(),
       .alerts = {"MusterHistoryReplaced"},
       .may_fire = {"MusterDown", "MusterReplicaDown", "MusterOverAllocation",
                    "MusterErrorBudgetBurn", "MusterErrorBudgetBurnSlow", "MusterPeerAway"},
       .may_linger = {"MusterErrorBudgetBurnSlow"},
       .panel = "Service and engine: History replaced",
       .instead = "by itself, the alert looks back for a quarter of an hour"});
}

TEST_F(DatabaseFaults, ATableThatSomebodyHolds) {
  Start(Calm());
  Run({.name = "a session holds a lock on configuration's pools when a release comes",
       .inject =
           [&] {
             Hold("LOCK TABLE configuration.pool_configuration IN EXCLUSIVE MODE");
             // In a batch with what waits for the lock it fails with it.
             Until(
                 [&] {
                   return muster_->Ctl({"publish", "release", "stable~gpu-driver~580.65.06"})
                              .exit_code == 0;
                 },
                 "the release");
           },
       .mend = [&] { LetGo(); },
       .alerts = {"MusterReleasesUnsettled"},
       .may_fire = {"MusterCommandsStuck", "MusterErrorBudgetBurn", "MusterErrorBudgetBurnSlow",
                    "MusterSlow", "MusterDatabaseAway", "MusterPeerAway", "MusterAuditsFail",
                    "MusterFleetNotReconciled"},
       .may_linger = {"MusterErrorBudgetBurnSlow"},
       .panel = "Rollouts and reboots: Unsettled pools",
       .runbook = "somebody holds a lock; who, see MusterCommandsStuck"});
}

TEST_F(DatabaseFaults, LocksThatComeAndGo) {
  Start(Calm());
  const TempFolder folder;
  int limit = 24;
  std::jthread batch;
  Run({.name = "somebody's batch takes the lock of quota's journal for 1.5 s again and again",
       .inject =
           [&] {
             batch = std::jthread([&](const std::stop_token& stop) {
               while (!stop.stop_requested()) {
                 muster_->database().Execute(
                     "BEGIN; SELECT * FROM quota.journal_head FOR UPDATE; SELECT pg_sleep(1.5); "
                     "COMMIT");
               }
             });
           },
       .mend =
           [&] {
             batch.request_stop();
             batch.join();
           },
       .meanwhile =
           [&] {
             limit = limit == 24 ? 23 : 24;
             std::ofstream(folder.Path("quota.yaml"))
                 << "{apiVersion: muster/v1, kind: Quota, metadata: {organization: acme}, spec: "
                    "{zone: RNO2A, instanceType: gd-8xa100-i128, computeClass: default, limit: "
                 << limit << "}}\n";
             Ctl({"apply", "-f", folder.Path("quota.yaml")});
           },
       .alerts = {"MusterSlow"},
       .may_fire = {"MusterCommandsStuck"},
       .panel = "Service and engine: Slowest call in a hundred",
       .runbook = "somebody holds locks again and again; who, see MusterCommandsStuck"});
}

TEST_F(DatabaseFaults, ACommitThatNobodyAnswersFor) {
  Start(OwnDatabase());
  std::jthread caller;
  Run({.name = "COMMIT hangs, then PostgreSQL crashes",
       .inject =
           [&] {
             const TestDatabase& database = muster_->database();
             database.Execute(kPoolsWaitAtCommit);
             Hold("SELECT pg_advisory_xact_lock(7600)");
             // One that was refused meanwhile is asked for again.
             caller = std::jthread([&](const std::stop_token& stop) {
               for (int nodes = 4; !stop.stop_requested(); nodes = nodes == 4 ? 3 : 4) {
                 (void)muster_->Resize(nodes);
                 std::this_thread::sleep_for(std::chrono::milliseconds(100));
               }
             });
             Until(
                 [&] {
                   return !database
                               .Query(
                                   "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'advisory'")
                               .empty();
                 },
                 "a COMMIT that waits");
             muster_->cluster().Stop(PostgresCluster::StopMode::kImmediate);
             LetGo();
           },
       .mend =
           [&] {
             muster_->cluster().Start();
             caller.request_stop();
             caller.join();
           },
       .alerts = {"MusterCommitsInDoubt", "MusterDatabaseAway"},
       .may_fire = {"MusterNoLeader", "MusterFleetNotReconciled", "MusterCommandsStuck",
                    "MusterErrorBudgetBurn", "MusterErrorBudgetBurnSlow", "MusterSlow",
                    "MusterAuditsFail", "MusterPeerAway"},
       .may_linger = {"MusterErrorBudgetBurnSlow"},
       .panel = "Service and engine: Commits in doubt",
       .runbook = "Once the database answers, the head tells whether the commit was done"});
}

TEST_F(DatabaseFaults, AJournalWithAGap) {
  StartWithFollower();
  Run({.name = "a row of lifecycle's journal is deleted before one of two replicas has read it",
       .inject =
           [&] {
             muster_->Signal(SIGSTOP, 1);
             EXPECT_TRUE(muster_->Resize(4).ok());
             muster_->database().Execute(
                 "DELETE FROM lifecycle.journal WHERE revision = "
                 "(SELECT revision FROM lifecycle.journal_head)");
             muster_->Signal(SIGCONT, 1);
           },
       .mend =
           [&] {
             muster_->Kill(1);
             muster_->Start();
           },
       .alerts = {"MusterCatchUpLag"},
       .may_fire = {"MusterReplicaDown"},
       .panel = "Service and engine: Behind the database",
       .runbook = "restart that replica: it loads the tables anew"});
}

TEST_F(DatabaseFaults, AJournalThatMayNotBeCompacted) {
  MiniMuster::Options options = Calm();
  options.musterd_flags.push_back("--journal_keep=1000");
  Start(options);
  Run({.name = "capacity's role may no longer write how far its journal was compacted",
       .inject =
           [&] {
             muster_->database().Execute(
                 "REVOKE UPDATE ON capacity.journal_head FROM muster_capacity;"
                 "GRANT UPDATE (revision, batch, commit_time, incarnation) ON "
                 "capacity.journal_head TO muster_capacity");
             ChangeMachine(1'600);
           },
       .mend =
           [&] {
             const Finished granted =
                 RunProgram({Binary("musterd"), "migrate",
                             absl::StrCat("--db_conninfo=", muster_->database().conninfo()),
                             absl::StrCat("--migrations_dir=", MigrationsDir())});
             EXPECT_EQ(granted.exit_code, 0) << granted.output;
             EXPECT_THAT(muster_->MusterdLogs(), HasSubstr("permission denied"));
           },
       .alerts = {"MusterJournalGrows"},
       .panel = "Service and engine: Journal",
       .runbook = "`musterd migrate` gives it back"});
}

}  // namespace
}  // namespace muster::testing
