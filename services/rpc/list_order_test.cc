#include "services/rpc/list_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <muster/lifecycle/v1/lifecycle.pb.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "services/rpc/limits.h"

namespace muster::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

lifecycle::v1::Event Event(const std::string& name, const std::string& reason, int64_t count,
                           int64_t seconds) {
  lifecycle::v1::Event event;
  event.set_name(name);
  event.set_reason(reason);
  event.set_count(count);
  if (seconds != 0) event.mutable_last_time()->set_seconds(seconds);
  return event;
}

std::vector<std::string> Ordered(const std::string& by, std::vector<lifecycle::v1::Event> events) {
  const auto order = ListOrder::Parse(by, *lifecycle::v1::Event::descriptor());
  EXPECT_TRUE(order.ok()) << order.status();
  std::sort(events.begin(), events.end(), [&](const auto& a, const auto& b) {
    return order->KeyOf(a, a.name()) < order->KeyOf(b, b.name());
  });
  std::vector<std::string> names;
  for (const auto& event : events) names.push_back(event.name());
  return names;
}

TEST(ListOrder, OrdersByOneFieldAfterTheOther) {
  const std::vector<lifecycle::v1::Event> events = {Event("a", "B", 2, 30), Event("b", "A", 10, 20),
                                                    Event("c", "A", 2, 10), Event("d", "", -1, 0)};
  EXPECT_THAT(Ordered("", events), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(Ordered("count", events), ElementsAre("d", "a", "c", "b"));
  EXPECT_THAT(Ordered("count desc", events), ElementsAre("b", "a", "c", "d"));
  EXPECT_THAT(Ordered("reason, count desc", events), ElementsAre("d", "b", "c", "a"));
  EXPECT_THAT(Ordered(" last_time  desc ", events), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(Ordered("last_time asc", events), ElementsAre("d", "c", "b", "a"));
}

TEST(ListOrder, WhatIsNotSoComesBeforeWhatIs) {
  const auto key = [](const char* by, bool cordoned) {
    lifecycle::v1::Node node;
    node.mutable_desired()->set_cordoned(cordoned);
    return ListOrder::Parse(by, *lifecycle::v1::Node::descriptor())->KeyOf(node, "n");
  };
  EXPECT_LT(key("desired.cordoned", false), key("desired.cordoned", true));
  EXPECT_GT(key("desired.cordoned desc", false), key("desired.cordoned desc", true));
}

// Else a page that ends between equal ones would leave the rest of them out.
TEST(ListOrder, EqualOnesAreToldApartByTheirName) {
  const auto order = ListOrder::Parse("count desc", *lifecycle::v1::Event::descriptor());
  ASSERT_TRUE(order.ok());
  EXPECT_LT(order->KeyOf(Event("x", "", 2, 0), "a"), order->KeyOf(Event("x", "", 2, 0), "b"));
  EXPECT_GT(order->KeyOf(Event("x", "", 1, 0), "a"), order->KeyOf(Event("x", "", 2, 0), "b"));
}

TEST(ListOrder, TimesOfAllCenturiesAreInOrder) {
  constexpr int64_t kYear = 31'556'952;
  const std::vector<lifecycle::v1::Event> events = {
      Event("a", "", 0, 8'000 * kYear), Event("b", "", 0, 300 * kYear), Event("c", "", 0, kYear),
      Event("d", "", 0, -400 * kYear), Event("e", "", 0, -500 * kYear)};
  EXPECT_THAT(Ordered("last_time", events), ElementsAre("e", "d", "c", "b", "a"));
  EXPECT_THAT(Ordered("last_time desc", events), ElementsAre("a", "b", "c", "d", "e"));
}

TEST(ListOrder, AKeyWithDotsOrSlashesStandsInQuotes) {
  std::vector<lifecycle::v1::NodePool> pools(3);
  const std::vector<std::pair<std::string, std::string>> racks = {
      {"a", "r2"}, {"b", "r1"}, {"c", ""}};
  for (size_t i = 0; i < pools.size(); ++i) {
    pools[i].set_name(racks[i].first);
    auto& labels = *pools[i].mutable_spec()->mutable_node_labels();
    if (!racks[i].second.empty()) labels["muster.dev/rack"] = racks[i].second;
    labels["a, \"b\" desc"] = racks[i].first == "b" ? "1" : "0";
  }
  const auto ordered = [&](const std::string& by) {
    const auto order = ListOrder::Parse(by, *lifecycle::v1::NodePool::descriptor());
    EXPECT_TRUE(order.ok()) << by << ": " << order.status();
    std::sort(pools.begin(), pools.end(), [&](const auto& a, const auto& b) {
      return order->KeyOf(a, a.name()) < order->KeyOf(b, b.name());
    });
    std::string names;
    for (const auto& pool : pools) names += pool.name();
    return names;
  };
  EXPECT_EQ(ordered("spec.node_labels.\"muster.dev/rack\""), "cba");
  EXPECT_EQ(ordered("spec.node_labels.\"muster.dev/rack\" desc"), "abc");
  EXPECT_EQ(ordered("spec.target_nodes,spec.node_labels.\"muster.dev/rack\" asc , name"), "cba");
  EXPECT_EQ(ordered("spec.node_labels.\"a, \\\"b\\\" desc\" desc, name desc"), "bca");
}

TEST(ListOrder, ATextThatGoesOnComesLaterWhateverItGoesOnWith) {
  const std::string nul("A\0", 2);
  const std::vector<lifecycle::v1::Event> events = {Event("a", "AB", 0, 0), Event("b", "A", 0, 0),
                                                    Event("c", nul, 0, 0)};
  EXPECT_THAT(Ordered("reason", events), ElementsAre("b", "c", "a"));
  EXPECT_THAT(Ordered("reason desc", events), ElementsAre("a", "c", "b"));
}

// A page token bears it, and has to fit into a request.
TEST(ListOrder, OfLongTextsTheBeginningCounts) {
  std::string by;
  for (int i = 0; i < 8; ++i) by += i == 0 ? "message" : ",message";
  const auto order = ListOrder::Parse(by, *lifecycle::v1::Event::descriptor());
  ASSERT_TRUE(order.ok());
  lifecycle::v1::Event event;
  event.set_message(std::string(100'000, '\0'));
  EXPECT_LE(order->KeyOf(event, std::string(300, 'n')).size() * 4 / 3, kMaxStringBytes);
}

TEST(ListOrder, SaysWhatIsWrong) {
  const auto fault = [](const std::string& by) {
    const auto order = ListOrder::Parse(by, *lifecycle::v1::NodePool::descriptor());
    EXPECT_FALSE(order.ok()) << by;
    return std::string(order.status().message());
  };
  EXPECT_THAT(fault("age"), HasSubstr("`age` is no field; there are: name, "));
  EXPECT_THAT(fault("create_time down"), HasSubstr("is not a field such as `create_time`"));
  EXPECT_THAT(fault("name,"), HasSubstr("is not a field"));
  EXPECT_THAT(fault("spec.node_labels."), HasSubstr("has a part that is empty"));
  EXPECT_THAT(fault(","), HasSubstr("`` is not a field"));
  EXPECT_THAT(fault("name,,uid"), HasSubstr("`` is not a field"));
  EXPECT_THAT(fault("name asc desc"), HasSubstr("`name asc desc` is not a field"));
  EXPECT_THAT(fault("spec.node_labels.\"a"), HasSubstr("the text does not end"));
  EXPECT_THAT(fault("\"spec\".target_nodes"), HasSubstr("is not a field"));
  EXPECT_THAT(fault("spec.node_labels\"a\""), HasSubstr("is not a field"));
  EXPECT_THAT(fault("spec.node_labels.\"\""), HasSubstr("has a part that is empty"));
  EXPECT_THAT(fault("spec.\"node.labels\""), HasSubstr("`spec.node.labels` is no field"));
  EXPECT_THAT(fault("spec"), HasSubstr("`spec` is no single value"));
  EXPECT_THAT(fault("spec.node_labels"), HasSubstr("no single value"));
  EXPECT_THAT(fault("uid,uid,uid,uid,uid,uid,uid,uid,uid"), HasSubstr("at most 8 fields"));
  EXPECT_THAT(fault(std::string(1025, 'x')), HasSubstr("at most 1024 bytes"));
}

}  // namespace
}  // namespace muster::rpc
