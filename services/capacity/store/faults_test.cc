// Every call of the database that the capacity store and its lane make fails once, in every way.
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "services/capacity/core/audit.h"
#include "services/capacity/core/testing/world.h"
#include "services/capacity/store/capacity_store.h"
#include "storage/postgres/testing/fault_sweep.h"

namespace muster::storage {
namespace {

using capacity::ComputeClass;
using capacity::MachineReturn;
using capacity::MachineRow;
using capacity::MachineState;
using capacity::ReturnReason;
using capacity::State;
using capacity::World;
using Run = FaultRun<State>;

std::string Tell(const absl::StatusOr<capacity::ClaimView>& view) {
  if (!view.ok()) return view.status().ToString();
  return absl::StrCat(view->claim.generation, ": ", absl::StrJoin(view->machines, ","), " of ",
                      view->claim.nodes, ", ", static_cast<int>(view->reason), ", ",
                      view->in_service);
}
std::string Tell(const absl::StatusOr<MachineRow>& machine) {
  return machine.ok() ? absl::StrCat(machine->id, " is ", static_cast<int>(machine->state))
                      : machine.status().ToString();
}
std::string Tell(const absl::StatusOr<std::vector<MachineRow>>& machines) {
  return machines.ok() ? absl::StrCat(machines->size()) : machines.status().ToString();
}

template <class Command>
Run::Command Plain(const Command& command) {
  return [=](StagedState<State>& staged, absl::Time now, std::string& text) {
    const auto answer = Decide(staged, command, now);
    text = Tell(answer);
    return answer.status();
  };
}

capacity::SyncClaim Want(const std::string& uid, int64_t generation, int64_t nodes,
                         std::vector<MachineReturn> returns = {}) {
  capacity::SyncClaim claim;
  claim.pool_uid = uid;
  claim.generation = generation;
  claim.zone = World::kZone;
  claim.instance_type = World::kType;
  claim.nodes = nodes;
  claim.returns = std::move(returns);
  return claim;
}

// As BatchSyncClaims: one command, several answers.
Run::Command Batch(const std::vector<capacity::SyncClaim>& claims) {
  return [=](StagedState<State>& staged, absl::Time now, std::string& text) {
    text.clear();
    for (const auto& view : Decide(staged, capacity::SyncClaims{claims}, now))
      absl::StrAppend(&text, Tell(view), "; ");
    return absl::OkStatus();
  };
}

// Not idempotent on purpose: twice would show.
Run::Command OneMore(const std::string& uid) {
  return [=](StagedState<State>& staged, absl::Time now, std::string& text) {
    const capacity::ClaimRow* claim = staged.state().FindClaim(uid);
    const auto more =
        claim == nullptr ? Want(uid, 1, 1) : Want(uid, claim->generation + 1, claim->nodes + 1);
    return Plain(more)(staged, now, text);
  };
}

Run::Command Catalogue() {
  return [](StagedState<State>& staged, absl::Time now, std::string&) {
    capacity::InstanceTypeRow type{.id = World::kType, .gpus = 8, .gpu_model = "A100"};
    type.architecture = "amd64";
    Decide(staged, capacity::UpdateInstanceType{type}, now);
    type.id = "of-nobody";
    Decide(staged, capacity::UpdateInstanceType{type}, now);
    Decide(staged, capacity::UpdateZone{{.id = World::kZone, .instance_types = {World::kType}}},
           now);
    Decide(staged, capacity::UpdateZone{{.id = "US-WEST-01A"}}, now);
    return absl::OkStatus();
  };
}

// What no command does, and the store can.
template <class Row>
Run::Command Forget(const std::string& key) {
  return [=](StagedState<State>& staged, absl::Time, std::string&) {
    staged.Delete<Row>(key);
    return absl::OkStatus();
  };
}

void Script(Run& run) {
  run.Open("a");
  run.Do("a", Catalogue());
  std::vector<MachineRow> machines;
  for (const char* id : {"m1", "m2", "m3", "m4", "m5", "m6"})
    machines.push_back(World::Machine(id, "f1", "r1", id[1] - '0'));
  machines[0].labels = {{"disk", "nvme"}};
  run.Do("a", Plain(capacity::RegisterMachines{machines}));
  run.Await("announce/journal_notify");
  run.Open("b");
  run.Do("b", Batch({Want("p1", 1, 2), Want("p2", 1, 3), Want("p3", 1, 4)}));
  run.Read("a");
  run.DoWhile("a", Plain(Want("p2", 2, 2, {{"m3", ReturnReason::kBroken}})),
              [&] { run.Do("b", OneMore("p1")); });
  run.Do("a", Plain(Want("p1", 1, 9)));  // too old
  run.DoTogether("a", {OneMore("p1"), Plain(Want("p3", 2, 1)), OneMore("p4")});
  run.Watch("b", 0);
  run.Do("b", Plain(capacity::SetMachineState{"m3", MachineState::kRetired}));
  capacity::SyncClaim leave = Want("p4", 2, 0);
  leave.release = true;
  run.Do("a", Plain(leave));
  run.Do("b", Plain(Want("p4", 3, 1)));  // released
  run.Do("a", Plain(Want("p2", 3, 1, {{"m4", ReturnReason::kReleased}})));
  run.Do("b", Forget<capacity::ArrivalsRow>(
                  capacity::ArrivalsName(World::kZone, World::kType, "default")));
  run.Do("a", Forget<MachineRow>(capacity::MachineName("m3")));
  run.Do("b", Forget<capacity::ZoneRow>(capacity::ZoneName("US-WEST-01A")));
  run.Do("a", Forget<capacity::InstanceTypeRow>(capacity::InstanceTypeName("of-nobody")));
  run.Do("b", Forget<ReleasedPool>("p4"));
  run.Do("a", Run::Once("r1", OneMore("p3")));
  run.Do("b", Run::Once("r1", OneMore("p3")));
  run.Do("b", Run::Forgotten("r1"));
  run.Compact("b", 2);
  run.DoWhile("a", OneMore("p3"), [&] { run.LoseJournal(); });
  run.Read("b");
  run.Do("b", OneMore("p2"));
  run.Read("a");
  run.ReplaceHistory();
  run.Read("b");
  run.Read("a");
  run.Compare("a");
  run.Compare("b");
}

TEST(CapacityFaultsTest, EveryCallFailsOnceInEveryWay) {
  const std::unique_ptr<const Store<capacity::State>> store = NewCapacityStore();
  const std::string root = MUSTER_SOURCE_DIR;
  EveryCallFailsOnce<State>({.schema = "capacity",
                             .store = store.get(),
                             .audit = [](const State&, const State& after) { return Audit(after); },
                             .script = Script,
                             .sources = {root + "/storage/postgres/journal.cc"}});
}

}  // namespace
}  // namespace muster::storage
