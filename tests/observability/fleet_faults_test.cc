// Of machines, their agents and what they boot.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <signal.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/observability/server_faults.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {
namespace {

class FleetFaults : public ServerFaults {
 protected:
  std::vector<std::string> NodesIn(const std::string& state) {
    std::vector<std::string> names;
    for (const auto& row : muster_->database().Query(
             absl::StrCat("SELECT name FROM lifecycle.node WHERE state = '", state, "'")))
      names.push_back(row.at(0).value());
    return names;
  }
  // Machines of the type that are free go out of service, one of each rack.
  void BreakEveryRack(const std::string& type) {
    const auto stub = capacity::v1::CapacityService::NewStub(muster_->channel());
    for (const auto& row : muster_->database().Query(
             absl::StrCat("SELECT min(id) FROM capacity.machine WHERE instance_type = '", type,
                          "' GROUP BY rack"))) {
      grpc::ClientContext context;
      capacity::v1::SetMachineStateRequest request;
      request.set_name(absl::StrCat("machines/", row.at(0).value()));
      request.set_state(capacity::v1::Machine::STATE_IN_REPAIR);
      capacity::v1::Machine machine;
      ASSERT_TRUE(stub->SetMachineState(&context, request, &machine).ok());
      broken_.push_back(request.name());
    }
  }
  void MendMachines() {
    const auto stub = capacity::v1::CapacityService::NewStub(muster_->channel());
    for (const std::string& name : broken_) {
      grpc::ClientContext context;
      capacity::v1::SetMachineStateRequest request;
      request.set_name(name);
      request.set_state(capacity::v1::Machine::STATE_FREE);
      capacity::v1::Machine machine;
      ASSERT_TRUE(stub->SetMachineState(&context, request, &machine).ok());
    }
  }

  std::vector<std::string> broken_;
};

TEST_F(FleetFaults, NodesThatFail) {
  MiniMuster::Options options = Calm();
  options.fleetsim_flags.insert(options.fleetsim_flags.end(),
                                {"--fail_share=1", "--recovery_arrival=30s"});
  Start(options);
  Run({.name = "all Nodes fall unhealthy at once",
       .inject = [&] { muster_->SignalFleet(SIGUSR1); },
       .mend = [] {},
       .alerts = {"MusterManyNodesUnhealthy"},
       .may_fire = {"MusterNodesStuck"},
       .panel = "Fleet: Unhealthy",
       .runbook = "lifecycle replaces Nodes after `--triage_grace`"});
}

// Nobody waits for an hour here: the Nodes are made that old.
TEST_F(FleetFaults, AgentsThatAreSilent) {
  Start(Fast());
  Run({.name = "kill -STOP of all agents, and Nodes that wait for them for two hours",
       .inject =
           [&] {
             muster_->SignalFleet(SIGSTOP);
             ASSERT_TRUE(muster_->Resize(6).ok());
             Until([&] { return NodesIn("ASSIGNED").size() == 3; }, "Nodes that are to boot");
             Tamper(
                 "UPDATE lifecycle.node SET state_time = state_time - interval '2 hours', "
                 "phase_time = phase_time - interval '2 hours' WHERE state = 'ASSIGNED'")();
           },
       .mend =
           [&] {
             muster_->KillFleet();
             muster_->Start();
           },
       .alerts = {"MusterAgentsSilent", "MusterNodesStuck"},
       // The server is killed for it, and its lease runs out.
       .may_fire = {"MusterDown", "MusterReplicaDown", "MusterNoLeader"},
       .panel = "Fleet: Longer than 15 minutes",
       .runbook = "restart the agents"});
}

TEST_F(FleetFaults, AnImageThatDoesNotBoot) {
  Start(Calm());
  Run({.name = "every boot fails, and a pool grows",
       .inject =
           [&] {
             RestartFleet("--boot_failure_rate=1");
             ASSERT_TRUE(muster_->Resize(12).ok());
           },
       .mend =
           [&] {
             RestartFleet("--boot_failure_rate=0");
             const auto pool = muster_->GetPool();
             ASSERT_TRUE(pool.ok()) << pool.status();
             Ctl({"enable", "revision", pool->uid(), pool->status().node_profile()});
           },
       .alerts = {"MusterBootsFail", "MusterConfigurationDisabled"},
       // It looks back for as long as sixty seconds.
       .may_linger = {"MusterBootsFail"},
       .panel = "Rollouts and reboots: Disabled",
       .runbook = "`musterctl enable revision POOL_UID PROFILE`"});
}

TEST_F(FleetFaults, AReleaseThatDoesNotBoot) {
  Start(Calm());
  Run({.name = "a release is rolled out by reboots, which fail",
       .inject =
           [&] {
             Ctl({"publish", "release", "stable~gpu-driver~580.65.06"});
             Until(
                 [&] {
                   return muster_->Ctl({"promote", "nodepool", "example-nodepool"}).exit_code == 0;
                 },
                 "a configuration to promote");
             RestartFleet("--boot_failure_rate=1");
             // One at a time: the first that fails halts the rest.
             Ctl({"reconfigure", "nodepool", "example-nodepool"});
           },
       .mend =
           [&] {
             RestartFleet("--boot_failure_rate=0");
             Ctl({"cancel", "reconfiguration", "example-nodepool"});
             const auto pool = muster_->GetPool();
             ASSERT_TRUE(pool.ok()) << pool.status();
             // If it came to that.
             (void)muster_->Ctl({"enable", "revision", pool->uid(), pool->status().node_profile()});
           },
       .alerts = {"MusterRebootsHalted"},
       .may_fire = {"MusterBootsFail", "MusterConfigurationDisabled"},
       .may_linger = {"MusterBootsFail"},
       .panel = "Rollouts and reboots: Reconfigure reboots",
       .runbook = "`musterctl cancel reconfiguration NAME`"});
}

// Likewise the request is made old.
TEST_F(FleetFaults, RacksThatLackAMachineEach) {
  Start(Fast());
  const TempFolder folder;
  std::ofstream(folder.Path("pool.yaml"))
      << "{apiVersion: compute.coreweave.com/v1alpha1, kind: NodePool, metadata: {name: rack}, "
         "spec: {instanceType: gb200-4x, targetNodes: 18}}\n";
  names_["NAME"] = "rack --cluster=example-east";
  names_["Z"] = "US-EAST-01A";
  names_["T"] = "gb200-4x";
  Run({.name = "a pool waits for a whole rack, and each rack lacks a machine",
       .inject =
           [&] {
             BreakEveryRack("gb200-4x");
             Ctl({"apply", "-f", folder.Path("pool.yaml"), "--cluster=example-east"});
             const std::string waits =
                 "SELECT pool_uid FROM capacity.claim WHERE instance_type = 'gb200-4x' AND "
                 "cardinality(part_nodes) > 0";
             Until([&] { return !muster_->database().Query(waits).empty(); }, "what it waits for");
             names_["UID"] = muster_->database().QueryValue(waits);
             Tamper(
                 "UPDATE capacity.claim SET part_times = ARRAY(SELECT t - interval '1 hour' "
                 "FROM unnest(part_times) t) WHERE instance_type = 'gb200-4x'")();
           },
       .mend = [&] { MendMachines(); },
       .alerts = {"MusterQueueStuck"},
       .may_fire = {"MusterNoLeader", "MusterDown", "MusterReplicaDown"},
       .panel = "Quota and capacity: Oldest wait",
       .runbook = "what each rack lacks"});
}

TEST_F(FleetFaults, ALifecycleRestoredToBeforeItsPools) {
  MiniMuster::Options options = Fast();
  options.musterd_flags.push_back("--orphan_grace=2s");
  StartEmpty(std::move(options));
  const Past past(muster_->database(), "lifecycle");
  MakePool();
  // One alone would be given back: that is no mass.
  const TempFolder folder;
  std::ofstream(folder.Path("pool.yaml"))
      << "{apiVersion: compute.coreweave.com/v1alpha1, kind: NodePool, metadata: {name: second}, "
         "spec: {instanceType: gd-8xa100-i128, targetNodes: 1}}\n";
  Ctl({"apply", "-f", folder.Path("pool.yaml")});
  Ctl({"wait", "nodepool", "second", "--for=healthy"});
  StartPrometheus();
  const auto restart = [&] {
    muster_->Kill();
    muster_->Start();
  };
  Run({.name = "lifecycle's database restored to before its pools",
       .inject =
           [&] {
             muster_->Kill();
             past.Restore();
             muster_->Start();
           },
       .mend =
           [&] {
             muster_->AddMusterdFlag("--orphan_mass_percent=100");
             restart();
           },
       .alerts = {"MusterOrphansWithheld"},
       .may_fire = {"MusterNoLeader", "MusterDown", "MusterReplicaDown"},
       .panel = "Fleet: Orphans",
       .runbook = "set `--orphan_mass_percent=100` until it is gone"});
}

}  // namespace
}  // namespace muster::testing
