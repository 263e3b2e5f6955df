#include "services/fleetsim/cluster_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/fleetsim/cluster_objects.h"

namespace muster::fleetsim {
namespace {

using ::testing::SizeIs;

void Put(ClusterView<PodSeen>& view, const std::string& machine, const std::string& name) {
  const PodSeen pod{
      .name_space = "default", .name = name, .resource_version = "1", .node = machine};
  view.Put(pod.key(), pod);
}

TEST(ClusterViewTest, FindsWhatIsOnAMachine) {
  ClusterView<PodSeen> view([](const PodSeen*, const PodSeen*) {});
  for (const char* machine : {"g1", "g10", "g2"}) {
    Put(view, machine, "a");
    Put(view, machine, "b");
  }
  EXPECT_THAT(view.OnMachine("g1"), SizeIs(2));
  EXPECT_EQ(view.OnMachine("g1")[1]->name, "b");
  EXPECT_THAT(view.OnMachine("g"), SizeIs(0));
}

}  // namespace
}  // namespace muster::fleetsim
