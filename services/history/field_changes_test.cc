#include "services/history/field_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <muster/lifecycle/v1/lifecycle.pb.h>

#include "absl/strings/str_cat.h"

namespace muster::history {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Told(const std::vector<FieldChange>& changes) {
  std::vector<std::string> told;
  for (const FieldChange& change : changes)
    told.push_back(absl::StrCat(change.path, ": ", change.before, " -> ", change.after));
  return told;
}

TEST(FieldChangesTest, SaysWhatWasAndWhatIsInTheApisWords) {
  lifecycle::v1::NodePool before;
  before.set_name("organizations/acme/clusters/c1/nodePools/p");
  before.mutable_spec()->set_target_nodes(2);
  (*before.mutable_spec()->mutable_node_labels())["team"] = "red";
  (*before.mutable_spec()->mutable_node_labels())["tier"] = "gold";
  before.mutable_create_time()->set_seconds(1);
  before.mutable_spec()->add_node_taints()->set_key("a");
  lifecycle::v1::NodePool after = before;
  EXPECT_THAT(FieldChangesOf(before, after), IsEmpty());

  after.mutable_spec()->set_target_nodes(3);
  (*after.mutable_spec()->mutable_node_labels())["team"] = "blue";
  after.mutable_spec()->mutable_node_labels()->erase("tier");
  (*after.mutable_spec()->mutable_node_labels())["new"] = "";
  after.mutable_create_time()->set_seconds(62);
  after.mutable_create_time()->set_nanos(5000);
  after.mutable_spec()->mutable_node_taints(0)->set_key("b");
  after.mutable_spec()->add_node_taints()->set_key("c");
  EXPECT_THAT(Told(FieldChangesOf(before, after)),
              ::testing::UnorderedElementsAre(
                  "spec.target_nodes: 2 -> 3", "spec.node_labels[team]: red -> blue",
                  "spec.node_labels[tier]: gold -> ", "spec.node_labels[new]:  -> ",
                  "spec.node_taints[0].key: a -> b", "spec.node_taints[1]:  -> {key: \"c\"}",
                  "create_time: 1970-01-01T00:00:01Z -> 1970-01-01T00:01:02.000005Z"));
  EXPECT_EQ(FieldChangesOf(before, after, 2).size(), 2);
}

// Nobody reads seconds since 1970.
TEST(FieldChangesTest, TimesWithinAreTimesToo) {
  lifecycle::v1::NodePool before, after;
  auto& condition = *after.mutable_status()->add_conditions();
  condition.set_type("Ready");
  condition.mutable_last_transition_time()->set_seconds(1'796'093'452);
  condition.mutable_last_transition_time()->set_nanos(11'159'000);
  condition.set_observed_generation(2);
  EXPECT_THAT(Told(FieldChangesOf(before, after)),
              ElementsAre("status:  -> {conditions { type: \"Ready\" last_transition_time { "
                          "2026-12-01T02:50:52.011159Z } observed_generation: 2 }}"));
}

TEST(FieldChangesTest, WhatThisBuildDoesNotKnowIsPassedOver) {
  lifecycle::v1::NodePool before, after;
  // Field 5000, a varint.
  ASSERT_TRUE(after.ParseFromString(std::string("\xc0\xb8\x02\x01", 4)));
  EXPECT_THAT(FieldChangesOf(before, after), IsEmpty());
  after.set_uid("u");
  EXPECT_THAT(FieldChangesOf(before, after), ElementsAre(FieldChange{"uid", "", "u"}));
}

}  // namespace
}  // namespace muster::history
