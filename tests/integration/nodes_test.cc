// The Nodes of a pool over the API of a whole Muster: what a mutation would do, why a pool waits,
// and who may not go.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/integration/example_pool_test_base.h"
#include "tests/testing/patience.h"
#include "tests/testing/status_matchers.h"

namespace muster::testing {
namespace {

namespace lv1 = lifecycle::v1;
namespace kv1 = capacity::v1;

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NodesTest : public ExamplePoolTest {};

TEST_F(NodesTest, AMutationThatIsOnlyTriedSaysWhatItWouldDoAndWritesNothing) {
  const std::string etag = Pool().etag();
  const auto up = Call(*life_, &Life::ResizeNodePool, Resize(4, true));
  ASSERT_THAT(up, IsOk());
  EXPECT_EQ(up->spec().target_nodes(), 4);
  EXPECT_EQ(up->preview().quota().delta(), 3);
  EXPECT_EQ(up->preview().quota().nodes(), 4);
  EXPECT_EQ(up->preview().quota().reason(), "Under");
  EXPECT_EQ(up->preview().capacity().nodes(), 3);
  EXPECT_EQ(up->preview().capacity().place(), 0);
  EXPECT_THAT(up->preview().victims(), IsEmpty());

  const auto over = Call(*life_, &Life::ResizeNodePool, Resize(90'000, true));
  ASSERT_THAT(over, IsOk());
  EXPECT_EQ(over->preview().quota().reason(), "Over");
  EXPECT_GT(over->preview().quota().limit(), 0);

  const auto down = Call(*life_, &Life::ResizeNodePool, Resize(0, true));
  ASSERT_THAT(down, IsOk());
  EXPECT_EQ(down->preview().quota().delta(), -1);
  EXPECT_THAT(down->preview().victims(), ElementsAre(*Machines().begin()));

  lv1::DeleteNodePoolRequest remove;
  remove.set_name(MiniMuster::kPool);
  remove.set_validate_only(true);
  const auto gone = Call(*life_, &Life::DeleteNodePool, remove);
  ASSERT_THAT(gone, IsOk());
  EXPECT_TRUE(gone->has_delete_time());
  EXPECT_EQ(gone->preview().victim_count(), 1);

  lv1::ApplyNodePoolRequest apply;
  *apply.mutable_node_pool() = Pool();
  apply.mutable_node_pool()->clear_etag();
  apply.mutable_node_pool()->mutable_spec()->mutable_gpu()->set_version("550");
  apply.set_validate_only(true);
  const auto driver = Call(*life_, &Life::ApplyNodePool, apply);
  ASSERT_THAT(driver, IsOk());
  const std::string active = Pool().status().node_profile();
  EXPECT_NE(driver->preview().node_profile(), "");
  EXPECT_NE(driver->preview().node_profile(), active);
  EXPECT_EQ(driver->preview().nodes_to_reboot(), 1);

  EXPECT_EQ(Pool().etag(), etag);
}

TEST_F(NodesTest, ThePoolSaysWhoMustAct) {
  EXPECT_THAT(Reasons(), IsEmpty());
  ASSERT_THAT(muster_.Resize(90'000), IsOk());
  ASSERT_TRUE(AwaitReason("Quota", "Over")) << muster_.LogEnds();
  EXPECT_THAT(Reasons(), ::testing::Contains("OVER_QUOTA/ACTOR_QUOTA_ADMIN"));
  ASSERT_THAT(muster_.Resize(1), IsOk());
  ASSERT_TRUE(muster_.AwaitSettled(1)) << muster_.LogEnds();
  EXPECT_THAT(Reasons(), IsEmpty());
}

TEST_F(NodesTest, NamedNodesGoAndNoOthersAndProtectedOnesStay) {
  ASSERT_THAT(muster_.Resize(4), IsOk());
  ASSERT_TRUE(muster_.AwaitSettled(4)) << muster_.LogEnds();
  const std::set<std::string> before = Machines();
  const std::string kept = *before.begin();
  const std::string named = *before.rbegin();

  lv1::UpdateNodeRequest protect;
  protect.mutable_node()->set_name(absl::StrCat(MiniMuster::kPool, "/nodes/", kept));
  protect.mutable_node()->mutable_protect_until_time()->set_seconds(
      absl::ToUnixSeconds(absl::Now() + absl::Hours(1)));
  ASSERT_THAT(Call(*life_, &Life::UpdateNode, protect), IsOk());
  lv1::ResizeNodePoolRequest refused;
  refused.set_name(MiniMuster::kPool);
  refused.add_remove_machines(named);
  refused.add_remove_machines(kept);
  EXPECT_THAT(Call(*life_, &Life::ResizeNodePool, refused),
              ::testing::AllOf(StatusIs(absl::StatusCode::kFailedPrecondition),
                               HasReason("NODE_PROTECTED")));
  EXPECT_EQ(Pool().spec().target_nodes(), 4);

  lv1::ResizeNodePoolRequest remove;
  remove.set_name(MiniMuster::kPool);
  remove.add_remove_machines(named);
  ASSERT_THAT(Call(*life_, &Life::ResizeNodePool, remove), IsOk());
  ASSERT_TRUE(muster_.AwaitSettled(3)) << muster_.LogEnds();
  std::set<std::string> left = before;
  left.erase(named);
  EXPECT_EQ(Machines(), left);

  ASSERT_THAT(muster_.Resize(0), IsOk());
  ASSERT_TRUE(muster_.Await([](const auto* pool) { return pool->status().current_nodes() == 1; }));
  EXPECT_EQ(Machines(), std::set<std::string>{kept});
  EXPECT_THAT(Reasons(), ::testing::Contains("PROTECTED/ACTOR_NOBODY"));
  protect.mutable_node()->clear_protect_until_time();
  ASSERT_THAT(Call(*life_, &Life::UpdateNode, protect), IsOk());
  EXPECT_TRUE(muster_.AwaitSettled(0)) << muster_.LogEnds();
}

// What is ordered of one Node its agent does, and the pool is as it was.
TEST_F(NodesTest, OneNodeIsCordonedDrainedAndRebooted) {
  const std::string name = Nodes().at(0).name();
  const auto of = [&](auto request) {
    request.set_name(name);
    return request;
  };
  const auto look = [&] { return Call(*life_, &Life::GetNode, of(lv1::GetNodeRequest())).value(); };
  const auto cordoned = Call(*life_, &Life::CordonNode, of(lv1::CordonNodeRequest()));
  ASSERT_THAT(cordoned, IsOk());
  EXPECT_TRUE(cordoned->desired().cordoned());
  EXPECT_THAT(Reasons(), ::testing::Contains("CORDON_ORDERED/ACTOR_USER"));
  ASSERT_THAT(Call(*life_, &Life::DrainNode, of(lv1::DrainNodeRequest())), IsOk());
  Until([&] { return look().desired().drain() && !look().observed().active(); }, "it is empty");
  ASSERT_THAT(Call(*life_, &Life::UncordonNode, of(lv1::UncordonNodeRequest())), IsOk());
  EXPECT_FALSE(look().desired().cordoned());
  EXPECT_FALSE(look().desired().drain());

  const std::string boot = look().observed().boot_id();
  EXPECT_NE(boot, "");
  for (const auto mode : {lv1::NodeOrders::REBOOT_DRAINED, lv1::NodeOrders::REBOOT_FORCED}) {
    lv1::RebootNodeRequest reboot = of(lv1::RebootNodeRequest());
    reboot.set_mode(mode);
    const std::string before = look().observed().boot_id();
    ASSERT_THAT(Call(*life_, &Life::RebootNode, reboot), IsOk());
    Until(
        [&] {
          const lv1::Node node = look();
          return node.observed().boot_id() != before && node.state() == lv1::Node::STATE_PRODUCTION;
        },
        "it is back");
    EXPECT_FALSE(look().has_orders());
  }
  EXPECT_TRUE(muster_.AwaitSettled(1)) << muster_.LogEnds();
  EXPECT_THAT(Reasons(), IsEmpty());
}

TEST_F(NodesTest, AMachineThatIsMendedIsGrantedAgain) {
  const auto capacity = kv1::CapacityService::NewStub(muster_.channel());
  using Stub = kv1::CapacityService::Stub;
  const std::string broken = *Machines().begin();
  ASSERT_EQ(muster_.Ctl({"reserve", "node", "example-nodepool/" + broken}).exit_code, 0);
  ASSERT_TRUE(muster_.Await([&](const auto*) {
    kv1::GetMachineRequest get;
    get.set_name("machines/" + broken);
    const auto machine = Call(*capacity, &Stub::GetMachine, get);
    return machine.ok() && machine->state() == kv1::Machine::STATE_IN_REPAIR;
  })) << muster_.LogEnds();
  ASSERT_TRUE(muster_.AwaitSettled(1)) << muster_.LogEnds();

  kv1::ListMachinesRequest list;
  list.set_page_size(1000);
  list.set_zone("RNO2A");
  list.set_instance_type("gd-8xa100-i128");
  list.set_state(kv1::Machine::STATE_FREE);
  const auto spare = Call(*capacity, &Stub::ListMachines, list);
  ASSERT_THAT(spare, IsOk());
  std::vector<std::string> words = {"set-state"};
  for (const kv1::Machine& machine : spare->machines()) words.push_back(machine.name());
  words.emplace_back("in-repair");
  ASSERT_EQ(muster_.Ctl(words).exit_code, 0);
  ASSERT_THAT(muster_.Resize(2), IsOk());
  ASSERT_TRUE(AwaitReason("Capacity", "Partial")) << muster_.LogEnds();
  ASSERT_EQ(muster_.Ctl({"set-state", "machine/" + broken, "free"}).exit_code, 0);
  ASSERT_TRUE(muster_.AwaitSettled(2)) << muster_.LogEnds();
  EXPECT_THAT(Machines(), ::testing::Contains(broken));
}

// Its claim does not change: only what is in service does.
TEST_F(NodesTest, AWaitingPoolIsToldAtOnceWhatIsInServiceNow) {
  const auto capacity = kv1::CapacityService::NewStub(muster_.channel());
  using Stub = kv1::CapacityService::Stub;
  kv1::BatchRegisterMachinesRequest labelled;
  kv1::Machine& machine = *labelled.add_machines();
  machine.set_name("machines/labelled");
  machine.set_zone("RNO2A");
  machine.set_instance_type("gd-8xa100-i128");
  machine.set_fabric("f9");
  machine.set_rack("r9");
  (*machine.mutable_labels())["test/labelled"] = "yes";
  ASSERT_THAT(Call(*capacity, &Stub::BatchRegisterMachines, labelled), IsOk());
  kv1::ListMachinesRequest list;
  list.set_page_size(1000);
  const auto listed = Call(*capacity, &Stub::ListMachines, list);
  ASSERT_THAT(listed, IsOk());
  int in_service = 0;
  std::vector<std::string> spare;
  for (const kv1::Machine& each : listed->machines()) {
    if (each.zone() != machine.zone() || each.instance_type() != machine.instance_type()) continue;
    ++in_service;
    if (each.state() == kv1::Machine::STATE_FREE && each.labels_size() == 0)
      spare.push_back(each.name());
  }
  ASSERT_GE(spare.size(), 2U);
  spare.resize(2);

  lv1::ApplyNodePoolRequest apply;
  *apply.mutable_node_pool() = Pool();
  lv1::NodePool& pool = *apply.mutable_node_pool();
  pool.clear_etag();
  pool.mutable_spec()->set_target_nodes(in_service - 1);  // the quota
  auto* expression = pool.mutable_spec()->mutable_node_affinity()->add_terms()->add_expressions();
  expression->set_key("test/labelled");
  expression->set_operator_("Exists");
  ASSERT_THAT(Call(*life_, &Life::ApplyNodePool, apply), IsOk());
  ASSERT_TRUE(AwaitReason("Capacity", "PartialNodeAffinity")) << Pool().DebugString();

  // Nothing of its own moves any more.
  ASSERT_TRUE(muster_.Await([](const auto* now) {
    return now->status().current_nodes() == 2 && now->status().in_progress() == 0;
  })) << muster_.LogEnds();
  const auto set_all = [&](kv1::Machine::State state) {
    for (const std::string& name : spare) {
      kv1::SetMachineStateRequest order;
      order.set_name(name);
      order.set_state(state);
      ASSERT_THAT(Call(*capacity, &Stub::SetMachineState, order), IsOk());
    }
  };
  set_all(kv1::Machine::STATE_IN_REPAIR);
  ASSERT_TRUE(AwaitReason("Capacity", "Partial")) << muster_.LogEnds();
  set_all(kv1::Machine::STATE_FREE);
  EXPECT_TRUE(AwaitReason("Capacity", "PartialNodeAffinity")) << muster_.LogEnds();
}

}  // namespace
}  // namespace muster::testing
