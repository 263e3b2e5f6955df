#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/api/handlers.h"
#include "tests/fuzz/world.h"

namespace muster::testing {
namespace {

using lifecycle::NodeState;

// Nodes of the pool that the seeds name, which no call makes: the reconcile loop does.
void AddNodes(lifecycle::State& state, absl::Time now) {
  constexpr char kPool[] = "organizations/acme/clusters/c/nodePools/p";
  constexpr NodeState kStates[] = {NodeState::kProduction, NodeState::kProduction,
                                   NodeState::kBooting, NodeState::kDraining};
  StagedState<lifecycle::State> staged(state, 1'000);
  for (size_t i = 0; i < std::size(kStates); ++i) {
    lifecycle::Node node;
    node.machine = absl::StrCat("m", i + 1);
    node.name = absl::StrCat(kPool, "/nodes/", node.machine);
    node.pool_uid = "uid-p";
    node.state = kStates[i];
    node.state_time = node.create_time = now;
    node.desired.node_profile = "np-0123456789ab";
    staged.Put(std::move(node));
  }
}

}  // namespace

FuzzedService MakeFuzzedService() {
  auto world = std::make_shared<World<lifecycle::State>>();
  world->furnish = &AddNodes;
  world->handlers = std::make_unique<lifecycle::Handlers>(
      rpc::Writer<lifecycle::Lane>{&world->lane}, lifecycle::OrganizationLimits());
  return Fuzzed(world, lifecycle::v1::LifecycleService::service_full_name(), "lifecycle",
                &NoAudit<lifecycle::State>);
}

}  // namespace muster::testing
