// AIP-160, as far as muster.type.v1.ListChoice takes it.
#include "services/rpc/filter.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <muster/lifecycle/v1/lifecycle.pb.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace muster::rpc {
namespace {

using ::testing::HasSubstr;

template <class Message>
Message Read(const std::string& text) {
  Message message;
  if (!google::protobuf::TextFormat::ParseFromString(text, &message)) std::abort();
  return message;
}

const lifecycle::v1::NodePool& Train() {
  static const auto& pool = *new lifecycle::v1::NodePool(Read<lifecycle::v1::NodePool>(R"pb(
    name: "organizations/acme/clusters/c1/nodePools/train"
    create_time { seconds: 1760000000 }
    generation: 3
    spec {
      instance_type: "gd-8xh100ib-i128"
      target_nodes: 16
      autoscaling: true
      node_labels { key: "team" value: "ml" }
      node_labels { key: "example.com/tier" value: "gold \"1\"" }
      node_taints { key: "a" effect: "NoSchedule" }
    }
    status {
      current_nodes: 12
      conditions { type: "Ready" status: "False" reason: "UnderTarget" }
      conditions { type: "Quota" status: "True" reason: "Under" }
    }
  )pb"));
  return pool;
}

bool Keeps(const std::string& text, const google::protobuf::Message& message = Train()) {
  const auto filter = Filter::Parse(text, *message.GetDescriptor());
  EXPECT_TRUE(filter.ok()) << text << ": " << filter.status();
  return filter.ok() && filter->Keeps(message);
}

std::string Fault(const std::string& text) {
  const auto filter = Filter::Parse(text, *lifecycle::v1::NodePool::descriptor());
  EXPECT_FALSE(filter.ok()) << text;
  return std::string(filter.status().message());
}

TEST(Filter, ComparesFieldsByTheirPaths) {
  EXPECT_TRUE(Keeps(""));
  EXPECT_TRUE(Keeps("spec.instance_type = gd-8xh100ib-i128"));
  EXPECT_TRUE(Keeps("spec.instance_type=\"gd-8xh100ib-i128\""));
  EXPECT_FALSE(Keeps("spec.instance_type != gd-8xh100ib-i128"));
  EXPECT_TRUE(Keeps("spec.target_nodes >= 16"));
  EXPECT_FALSE(Keeps("spec.target_nodes > 16"));
  EXPECT_TRUE(Keeps("status.current_nodes<13"));
  EXPECT_FALSE(Keeps("status.current_nodes <= 11"));
  EXPECT_TRUE(Keeps("spec.autoscaling = true"));
  EXPECT_TRUE(Keeps("spec.priority = 0")) << "what is not set is 0";
  EXPECT_TRUE(Keeps("spec.description = \"\""));
}

TEST(Filter, NumbersAreComparedAsNumbersAndTimesAsTimes) {
  EXPECT_FALSE(Keeps("spec.target_nodes < 9")) << "16 is less as text only";
  EXPECT_TRUE(Keeps("create_time < 2025-10-10T00:00:00Z"));
  EXPECT_TRUE(Keeps("create_time = \"2025-10-09T08:53:20Z\""));
  EXPECT_TRUE(Keeps("delete_time < 1970-01-01T00:00:00Z")) << "not set is before all others";
}

TEST(Filter, TextsMayHaveAStarAtTheirEnds) {
  EXPECT_TRUE(Keeps("spec.instance_type = gd-8x*"));
  EXPECT_TRUE(Keeps("name = \"*/train\""));
  EXPECT_TRUE(Keeps("name = *c1*"));
  EXPECT_FALSE(Keeps("spec.instance_type != gd-8x*"));
  EXPECT_FALSE(Keeps("spec.instance_type = gd-*x"));
  EXPECT_TRUE(Keeps("spec.description = *"));
}

TEST(Filter, MapsAreAskedByKeyAndConditionsByType) {
  EXPECT_TRUE(Keeps("spec.node_labels.team = ml"));
  EXPECT_TRUE(Keeps("spec.node_labels.\"example.com/tier\" = \"gold \\\"1\\\"\""));
  EXPECT_FALSE(Keeps("spec.node_labels.other = ml"));
  EXPECT_TRUE(Keeps("status.conditions.Ready != True"));
  EXPECT_TRUE(Keeps("status.conditions.Quota.reason = Under"));
  EXPECT_FALSE(Keeps("status.conditions.Stalled = True")) << "there is none";
}

TEST(Filter, HasAsksForWhatIsThere) {
  EXPECT_TRUE(Keeps("spec.node_labels:team"));
  EXPECT_FALSE(Keeps("spec.node_labels:tea"));
  EXPECT_TRUE(Keeps("spec.node_labels:*"));
  EXPECT_FALSE(Keeps("spec.node_annotations:*"));
  EXPECT_TRUE(Keeps("name:clusters/c1"));
  EXPECT_FALSE(Keeps("delete_time:*"));
  EXPECT_TRUE(Keeps("spec.node_taints:*"));
  EXPECT_TRUE(Keeps("status.conditions:Quota"));
  EXPECT_FALSE(Keeps("reconfiguration:*"));
  const auto node = Read<lifecycle::v1::Node>("observed { active_pods: 'default/job' }");
  EXPECT_TRUE(Keeps("observed.active_pods:default/job", node));
  EXPECT_FALSE(Keeps("observed.active_pods:default", node));
}

TEST(Filter, EnumsAreNamedWithOrWithoutWhatAllBeginWith) {
  const auto node = Read<lifecycle::v1::Node>("state: STATE_PRODUCTION");
  EXPECT_TRUE(Keeps("state = PRODUCTION", node));
  EXPECT_TRUE(Keeps("state = STATE_PRODUCTION", node));
  EXPECT_TRUE(Keeps("state != TRIAGE", node));
  const auto fault = Filter::Parse("state = RUNNING", *lifecycle::v1::Node::descriptor());
  EXPECT_THAT(std::string(fault.status().message()),
              HasSubstr("`RUNNING` is not one of ASSIGNED, BOOTING"));
  EXPECT_FALSE(Filter::Parse("state > TRIAGE", *lifecycle::v1::Node::descriptor()).ok());
}

// "OR operations have higher precedence than AND": `a AND b OR c` is `a AND (b OR c)`.
TEST(Filter, JoinsWhatStandsBesideEachOther) {
  EXPECT_TRUE(Keeps("generation = 3 spec.target_nodes = 16"));
  EXPECT_FALSE(Keeps("generation = 3 AND spec.target_nodes = 15"));
  EXPECT_TRUE(Keeps("generation = 3 AND spec.target_nodes = 15 OR spec.target_nodes = 16"));
  EXPECT_FALSE(Keeps("generation = 4 AND spec.target_nodes = 15 OR spec.target_nodes = 16"));
  EXPECT_TRUE(Keeps("(generation = 4 AND spec.target_nodes = 15) OR spec.target_nodes = 16"));
  EXPECT_TRUE(Keeps("NOT generation = 4"));
  EXPECT_TRUE(Keeps("-generation = 4"));
  EXPECT_FALSE(Keeps("NOT (generation = 3 OR generation = 4)"));
}

TEST(Filter, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(Fault("spec.colour = red"),
              HasSubstr("at byte 1: `spec.colour` is no field; there are: compute_class, "));
  EXPECT_THAT(Fault("spec.target_nodes.x = 1"), HasSubstr("`spec.target_nodes` is a value"));
  EXPECT_THAT(Fault("spec.target_nodes = many"), HasSubstr("at byte 21: `many` is not a whole"));
  EXPECT_THAT(Fault("spec.autoscaling = yes"), HasSubstr("true or false"));
  EXPECT_THAT(Fault("create_time > yesterday"), HasSubstr("a time such as"));
  EXPECT_THAT(Fault("spec = 1"), HasSubstr("no single value"));
  EXPECT_THAT(Fault("spec.node_taints.key = a"),
              HasSubstr("`spec.node_taints` is a list; only `:*` asks it"));
  EXPECT_THAT(Fault("spec.node_taints:dedicated"), HasSubstr("only `:*` asks it"));
  EXPECT_THAT(Fault("spec.priority = \"\""), HasSubstr("NOT field:*"));
  EXPECT_THAT(Fault("generation"), HasSubstr("at byte 11: `=`, `!=`"));
  EXPECT_THAT(Fault("generation ="), HasSubstr("a value is expected"));
  EXPECT_THAT(Fault("generation = 1 AND"), HasSubstr("a field such as"));
  EXPECT_THAT(Fault("(generation = 1"), HasSubstr("`(` is not closed"));
  EXPECT_THAT(Fault("generation = 1)"), HasSubstr("`)` closes nothing"));
  EXPECT_THAT(Fault("name = \"x"), HasSubstr("at byte 8: the text does not end"));
  EXPECT_THAT(Fault("name ! x"), HasSubstr("write NOT"));
  EXPECT_THAT(Fault("\"name\" = x"), HasSubstr("a field such as"));
  EXPECT_THAT(Fault(std::string(1025, 'x')), HasSubstr("at most 1024 bytes"));
  EXPECT_THAT(Fault(std::string(100, '(')), HasSubstr("too many parentheses"));
  EXPECT_THAT(Fault(". = 1"), HasSubstr("has a part that is empty"));
  EXPECT_THAT(Fault("spec.node_labels. = x"), HasSubstr("has a part that is empty"));
  EXPECT_THAT(Fault("spec.node_labels.\"\" = x"), HasSubstr("has a part that is empty"));
  EXPECT_THAT(Fault("status.conditions. = True"), HasSubstr("has a part that is empty"));
  EXPECT_THAT(Fault("- = 1"), HasSubstr("a field such as"));
}

TEST(Filter, TellsWhatAllThatIsKeptHas) {
  const auto demanded = [](const std::string& text) {
    const auto& type = *lifecycle::v1::Node::descriptor();
    const auto filter = Filter::Parse(text, type);
    EXPECT_TRUE(filter.ok()) << text;
    return filter->Demanded(*type.FindFieldByName("machine")).value_or("<none>");
  };
  EXPECT_EQ(demanded("machine = g1"), "g1");
  EXPECT_EQ(demanded("rack = r1 AND (machine = \"g 1\" AND state = STATE_PRODUCTION)"), "g 1");
  for (const char* text :
       {"", "rack = g1", "machine = g*", "machine = \"*1\"", "machine != g1", "NOT machine = g1",
        "machine = g1 OR rack = r1", "machine:g1", "machine > g1"})
    EXPECT_EQ(demanded(text), "<none>") << text;
}

}  // namespace
}  // namespace muster::rpc
