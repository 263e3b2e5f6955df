#include "services/fleetsim/cluster_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/fleetsim/cluster_objects.h"

namespace muster::fleetsim {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

PodSeen Pod(const std::string& machine, const std::string& name, const std::string& version) {
  return {.name_space = "default", .name = name, .version = version, .node = machine};
}

TEST(ClusterViewTest, FindsWhatIsOnAMachine) {
  ClusterView<PodSeen> view;
  for (const char* machine : {"g1", "g10", "g2"}) {
    EXPECT_TRUE(view.Put(Pod(machine, "a", "1")));
    EXPECT_TRUE(view.Put(Pod(machine, "b", "1")));
  }
  EXPECT_THAT(view.OnMachine("g1"), SizeIs(2));
  EXPECT_EQ(view.OnMachine("g1")[1]->name, "b");
  EXPECT_THAT(view.OnMachine("g"), SizeIs(0));
}

TEST(ClusterViewTest, WhatComesLateChangesNothing) {
  ClusterView<PodSeen> view;
  EXPECT_TRUE(view.Put(Pod("g1", "a", "9")));
  EXPECT_FALSE(view.Put(Pod("g1", "a", "9")));
  EXPECT_FALSE(view.Put(Pod("g1", "a", "8")));
  EXPECT_TRUE(view.Put(Pod("g1", "a", "10")));
  EXPECT_FALSE(view.Remove(Pod("g1", "a", "9").key(), "9"));
  EXPECT_TRUE(view.Remove(Pod("g1", "a", "11").key(), "11"));
  EXPECT_FALSE(view.Remove(Pod("g1", "a", "11").key(), "11"));
}

TEST(ClusterViewTest, WhatIsGoneDoesNotComeBackByALateAnswer) {
  ClusterView<PodSeen> view;
  EXPECT_FALSE(view.Remove(Pod("g1", "a", "7").key(), "7"));
  EXPECT_FALSE(view.Put(Pod("g1", "a", "6")));
  EXPECT_EQ(view.size(), 0u);
  EXPECT_TRUE(view.Put(Pod("g1", "a", "8"))) << "another one of its name";
}

TEST(ClusterViewTest, AListForgetsWhatItDoesNotName) {
  ClusterView<PodSeen> view;
  view.Put(Pod("g1", "a", "1"));
  view.Put(Pod("g2", "b", "2"));
  view.BeginList();
  view.Put(Pod("g1", "a", "1"));
  view.BeginList();  // the first one failed
  view.Put(Pod("g2", "b", "2"));
  EXPECT_THAT(view.EndList(), ElementsAre("g1"));
  EXPECT_EQ(view.size(), 1u);
}

}  // namespace
}  // namespace muster::fleetsim
