// Of servers and their tables.
#include "tests/observability/server_faults.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <signal.h>
#include <sys/resource.h>

#include "absl/strings/str_cat.h"
#include "tests/testing/small_window.h"

namespace muster::testing {
namespace {

constexpr char kFollowers[] = "muster_lifecycle_leading == 0";

TEST_F(ServerFaults, AServerThatDied) {
  Start(Fast());
  Run({.name = "kill -9 of the only musterd",
       .inject = [&] { muster_->Kill(); },
       .mend = [&] { muster_->Start(); },
       .alerts = {"MusterDown", "MusterReplicaDown"},
       // Its lease runs out.
       .may_fire = {"MusterNoLeader"},
       .panel = "Fleet: Leader",
       .runbook = "Do: start it"});
}

TEST_F(ServerFaults, AServerThatHangs) {
  Start(Fast());
  Run({.name = "kill -STOP of the only musterd",
       .inject = [&] { muster_->Signal(SIGSTOP); },
       // As systemd's watchdog does.
       .mend =
           [&] {
             muster_->Kill();
             muster_->Start();
           },
       .alerts = {"MusterDown", "MusterReplicaDown"},
       .may_fire = {"MusterNoLeader", "MusterFleetNotReconciled"},
       .panel = "Fleet: Leader",
       .runbook = "Do: start it"});
}

TEST_F(ServerFaults, AReplicaThatDied) {
  StartWithFollower();
  // What comes due at the one that does not lead is not for it to look at.
  ASSERT_TRUE(muster_->Resize(4).ok());
  ASSERT_TRUE(muster_->AwaitSettled(4));
  Until([&] { return prometheus_->api().Ask(kFollowers).series() == 1; }, "a replica that follows");
  EXPECT_THAT(prometheus_->api().Values(
                  absl::StrCat("muster_lifecycle_due_pools > 0 and on (instance) ", kFollowers)),
              ::testing::IsEmpty());
  Run({.name = "kill -9 of one of two replicas",
       .inject = [&] { muster_->Kill(1); },
       .mend = [&] { muster_->Start(); },
       .alerts = {"MusterReplicaDown"},
       .panel = "Fleet: Leader",
       .runbook = "Do: start it"});
}

TEST_F(ServerFaults, APeerThatIsAway) {
  MiniMuster::Options options = Calm();
  options.processes = {"quota", "capacity,lifecycle,configuration"};
  Start(options);
  Run({.name = "kill -9 of the musterd that serves quota",
       .inject = [&] { muster_->Kill(0); },
       .mend = [&] { muster_->Start(); },
       .meanwhile = Resizes(),
       .alerts = {"MusterPeerAway", "MusterReplicaDown", "MusterAuditsFail"},
       .may_fire = {"MusterErrorBudgetBurn", "MusterErrorBudgetBurnSlow"},
       .may_linger = {"MusterErrorBudgetBurnSlow"},
       .panel = "Fleet: Unanswered pools",
       .runbook = "Do: bring it back"});
}

// It hangs, or is kept from its connection: nobody notices but who looks how old its snapshot is.
TEST_F(ServerFaults, AWatchThatIsNotRead) {
  Start(Calm());
  const auto channel = grpc::CreateCustomChannel(muster_->address(),
                                                 grpc::InsecureChannelCredentials(), SmallWindow());
  const auto stub = capacity::v1::CapacityService::NewStub(channel);
  std::unique_ptr<grpc::ClientContext> context;
  std::unique_ptr<grpc::ClientReader<capacity::v1::WatchCapacityResponse>> reader;
  Run({.name = "a client that does not read its watch",
       .inject =
           [&] {
             context = std::make_unique<grpc::ClientContext>();
             reader = stub->WatchCapacity(context.get(), capacity::v1::WatchCapacityRequest());
           },
       .mend =
           [&] {
             context->TryCancel();
             (void)reader->Finish();
           },
       .alerts = {"MusterWatchesLate"},
       .panel = "Service and engine: Late readers",
       .runbook = "A tool that somebody left behind is ended by closing it"});
}

TEST_F(ServerFaults, ACertificateThatNobodyRenews) {
  MiniMuster::Options options = Calm();
  options.tls = true;
  Start(options);
  Run({.name = "a certificate with a tenth of its time left",
       .inject =
           [&] {
             const absl::Time now = absl::Now();
             muster_->RenewCertificate(now - absl::Minutes(90), now + absl::Minutes(10));
           },
       .mend = [&] { muster_->RenewCertificate(); },
       .alerts = {"MusterCertificateExpires"},
       .panel = "Service and engine: Certificates by time left",
       .runbook = "put a new certificate and its key in place"});
}

TEST_F(ServerFaults, APolicyThatCannotBeUsed) {
  MiniMuster::Options options = Calm();
  options.tls = true;
  Start(options);
  Run({.name = "a policy file with a role that there is not",
       .inject = [&] { muster_->WritePolicy({"- {role: king, principals: [token/ann]}"}); },
       .mend = [&] { muster_->WritePolicy({}); },
       .alerts = {"MusterFileRefused"},
       .panel = "Service and engine: Refused policy",
       .runbook = "put a good file in its place"});
}

TEST_F(ServerFaults, FilesThatRunOut) {
  Start(Calm());
  rlimit before{};
  Run({.name = "prlimit --nofile to what musterd has open",
       .inject =
           [&] {
             ASSERT_EQ(prlimit(muster_->pid(), RLIMIT_NOFILE, nullptr, &before), 0);
             const rlimit few{static_cast<rlim_t>(muster_->open_files() + 8), before.rlim_max};
             ASSERT_EQ(prlimit(muster_->pid(), RLIMIT_NOFILE, &few, nullptr), 0);
           },
       .mend = [&] { prlimit(muster_->pid(), RLIMIT_NOFILE, &before, nullptr); },
       .alerts = {"MusterFilesRunOut"},
       .may_fire = {"MusterDatabaseAway", "MusterReplicaDown", "MusterDown"},
       .panel = "Service and engine: Files",
       .runbook = "raise `ulimit -n`"});
}

TEST_F(ServerFaults, APoolThatIsChargedOnAnotherQuota) {
  MiniMuster::Options options = Calm();
  // What stands for less may be on its way.
  options.musterd_flags.push_back("--orphan_grace=2s");
  Start(options);
  const auto pool = muster_->GetPool();
  ASSERT_TRUE(pool.ok()) << pool.status();
  const auto hold = [&] {
    grpc::ClientContext context;
    quota::v1::SyncHoldingRequest request;
    request.mutable_holding()->set_name(absl::StrCat(
        "organizations/acme/quotas/RNO2A~gd-8xl40-i128~default/holdings/", pool->uid()));
    request.mutable_holding()->set_nodes(2);
    request.mutable_holding()->set_generation(1);
    quota::v1::SyncHoldingResponse response;
    const auto stub = quota::v1::QuotaService::NewStub(muster_->channel());
    return stub->SyncHolding(&context, request, &response);
  };
  Run({.name = "somebody charges a pool on another type's quota",
       .inject = [&] { ASSERT_TRUE(hold().ok()); },
       // What then belongs to no pool is given back by lifecycle.
       .mend =
           [&] {
             muster_->Ctl({"delete", "nodepool", "example-nodepool", "--wait"});
           },
       .alerts = {"MusterOverAllocation", "MusterAuditViolations"},
       .may_fire = {"MusterOrphansWithheld"},
       .panel = "Fleet: Differences",
       .runbook = "goes once its pool is deleted"});
}

TEST_F(ServerFaults, ATableThatWasTamperedWith) {
  Start(Fast());
  Run({.name = "a machine's row holds it for a claim that there is not",
       .inject = Tamper("UPDATE capacity.machine SET claim = 'nobody' WHERE claim IS NOT NULL"),
       .mend = Tamper("UPDATE capacity.machine m SET claim = c.pool_uid FROM capacity.claim c "
                      "WHERE m.claim = 'nobody'"),
       .alerts = {"MusterAuditViolations"},
       .may_fire = {"MusterNoLeader", "MusterDown", "MusterReplicaDown", "MusterOverAllocation"},
       .panel = "Quota and capacity: Violations",
       .instead = "what was written is undone under a server that does not run"});
}

}  // namespace
}  // namespace muster::testing
