#include "services/kubernetes/core/event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "services/kubernetes/core/testing/objects.h"

namespace muster::kubernetes {
namespace {

lifecycle::v1::Event MakeEvent(const std::string& object, const std::string& reason,
                               int64_t count) {
  lifecycle::v1::Event event;
  event.set_name("organizations/acme/clusters/c1/events/0123456789abcdef");
  event.set_object("organizations/acme/clusters/c1/" + object);
  event.set_pool_uid("9311");
  event.set_type("Normal");
  event.set_reason(reason);
  event.set_message("1 Node was requested.");
  event.set_count(count);
  *event.mutable_first_time() = Stamp(kThen, 123'456'789);
  *event.mutable_last_time() = Stamp(kThen + 60);
  return event;
}

TEST(EventObject, OfAPool) {
  const auto event = MakeEvent("nodePools/a", "CWNodeRequestQueued", 1);
  EXPECT_EQ(EventObject(event, {}, "replica-1", Edition::kCurrent), Json::parse(R"({
    "apiVersion": "events.k8s.io/v1", "kind": "Event",
    "metadata": {"name": "18445e9780f8cd15.a.0123456789abcdef", "namespace": "default"},
    "eventTime": "2025-05-30T17:36:00.123456Z",
    "reportingController": "compute.coreweave.com/muster", "reportingInstance": "replica-1",
    "action": "CWNodeRequestQueued", "reason": "CWNodeRequestQueued", "type": "Normal",
    "note": "1 Node was requested.",
    "regarding": {"kind": "NodePool", "apiVersion": "compute.coreweave.com/v1alpha1", "name": "a",
                  "uid": "9311"}})"));
}

TEST(EventObject, OfANodeNamesTheV1NodeWhateverItsNameOrElseTheMachine) {
  const auto event = MakeEvent("nodePools/a/nodes/g8fd930", "CWNodeRegistered", 1);
  const auto regarding = [&](const EventNode& node) {
    return EventObject(event, node, "i", Edition::kCurrent)["regarding"];
  };
  const Json named = {
      {"kind", "Node"}, {"apiVersion", "v1"}, {"name", "ip-10-0-0-1"}, {"uid", "u-1"}};
  EXPECT_EQ(regarding({.name = "ip-10-0-0-1", .uid = "u-1"}), named);
  // Its v1 Node has gone: kubectl's own controllers write the name for a uid then.
  EXPECT_EQ(regarding({.name = "ip-10-0-0-1"})["name"], "ip-10-0-0-1");
  EXPECT_EQ(regarding({.name = "ip-10-0-0-1"})["uid"], "ip-10-0-0-1");
  EXPECT_EQ(regarding({})["name"], "g8fd930");
  EXPECT_EQ(regarding({})["uid"], "g8fd930");
}

TEST(EventObject, GoesByTheShapeOfANameNotByItsWords) {
  auto event = MakeEvent("", "CWNodeRequestQueued", 1);
  event.set_object("organizations/nodes/clusters/nodes/nodePools/nodes");
  EXPECT_EQ(EventObject(event, {}, "i", Edition::kCurrent)["regarding"]["kind"], "NodePool");
  event.set_object("nodePools/a");
  EXPECT_EQ(EventObject(event, {}, "i", Edition::kCurrent)["regarding"]["kind"], "NodePool");
}

TEST(EventObject, RepeatsAreASeriesOfTwoAtLeast) {
  const auto once = MakeEvent("nodePools/a", "x", 1);
  const auto often = MakeEvent("nodePools/a", "x", 7);
  EXPECT_FALSE(EventObject(once, {}, "i", Edition::kCurrent).contains("series"));
  const Json series = {{"count", 7}, {"lastObservedTime", "2025-05-30T17:37:00.000000Z"}};
  EXPECT_EQ(EventObject(often, {}, "i", Edition::kCurrent)["series"], series);
  EXPECT_EQ(EventSeries(often), Json({{"series", series}}));
  EXPECT_EQ(EventSeries(once)["series"]["count"], 2);
}

TEST(EventObject, TheFirstEditionHasItsOwnReasons) {
  const auto pool = MakeEvent("nodePools/a", "CWNodeRegistered", 1);
  const auto node = MakeEvent("nodePools/a/nodes/g8fd930", "CWNodeRegistered", 1);
  const auto none = MakeEvent("nodePools/a", "CWDrainNode", 1);
  const auto reason = [](const auto& event, Edition edition) {
    return EventObject(event, {}, "i", edition)["reason"];
  };
  EXPECT_EQ(reason(pool, Edition::kFirst), "NodePoolNodesAllocated");
  EXPECT_EQ(reason(node, Edition::kFirst), "CWNodeRegisteredEvent");
  EXPECT_EQ(reason(none, Edition::kFirst), "CWDrainNode") << "it had none";
  EXPECT_EQ(reason(pool, Edition::kBoth), "CWNodeRegistered");
  EXPECT_EQ(reason(pool, Edition::kCurrent), "CWNodeRegistered");
}

TEST(EventObject, CutsALongNoteBetweenCharacters) {
  auto event = MakeEvent("nodePools/a", "x", 1);
  for (int lead = 0; lead < 4; ++lead) {
    std::string note(static_cast<size_t>(lead), 'x');
    while (note.size() < 1100) note += "€";
    event.set_message(note);
    const std::string cut = EventObject(event, {}, "i", Edition::kCurrent)["note"];
    EXPECT_LE(cut.size(), 1024u);
    EXPECT_GE(cut.size(), 1022u);
    EXPECT_EQ((cut.size() - static_cast<size_t>(lead)) % 3, 0u) << lead;
    EXPECT_EQ(note.substr(0, cut.size()), cut);
  }
  event.set_message(std::string(1024, 'x'));
  EXPECT_EQ(EventObject(event, {}, "i", Edition::kCurrent)["note"].get<std::string>().size(),
            1024u);
}

TEST(EventObject, CutsALongInstance) {
  const auto event = MakeEvent("nodePools/a", "x", 1);
  const Json object = EventObject(event, {}, std::string(200, 'h'), Edition::kCurrent);
  EXPECT_EQ(object["reportingInstance"].get<std::string>().size(), 128u);
}

TEST(EventName, IsTheSameForEachOfItsRepeats) {
  EXPECT_EQ(EventName(MakeEvent("nodePools/a", "x", 1)),
            EventName(MakeEvent("nodePools/a", "x", 9)));
  EXPECT_NE(EventName(MakeEvent("nodePools/a", "x", 1)),
            EventName(MakeEvent("nodePools/b", "x", 1)));
}

// `kubectl get events` and `kubectl describe` list by name.
TEST(EventName, SortsByTheTimeWhateverTheObjects) {
  auto before = MakeEvent("nodePools/z", "x", 1);
  before.set_name("organizations/acme/clusters/c1/events/ffffffffffffffff");
  auto after = MakeEvent("nodePools/a", "x", 1);
  after.set_name("organizations/acme/clusters/c1/events/0000000000000000");
  for (const int64_t later : {int64_t{1}, int64_t{1'000}, int64_t{1'000'000'000'000}}) {
    *after.mutable_first_time() =
        Stamp(kThen + later / 1'000, static_cast<int32_t>(123'456'789 + later % 1'000));
    EXPECT_LT(EventName(before), EventName(after)) << later;
  }
  before.mutable_first_time()->Clear();
  EXPECT_LT(EventName(before), EventName(after));
}

TEST(EventName, IsAnObjectsNameWhateverTheObjectIs) {
  for (size_t size = 1; size < 300; ++size) {
    const std::string name = EventName(MakeEvent("nodePools/" + std::string(size, 'z'), "x", 1));
    EXPECT_EQ(name.size(), std::min<size_t>(size + 34, 253));
    EXPECT_TRUE(name.ends_with("z.0123456789abcdef"));
    const std::string dotted =
        EventName(MakeEvent("nodePools/" + std::string(size, 'z') + ".-b", "x", 1));
    EXPECT_TRUE(dotted.ends_with("z.0123456789abcdef") || dotted.ends_with("b.0123456789abcdef"))
        << dotted;
    EXPECT_LE(dotted.size(), 253u);
  }
}

TEST(EventCount, ReadsASeries) {
  EXPECT_EQ(EventCount(Json::object()), 1);
  EXPECT_EQ(EventCount({{"series", nullptr}}), 1);
  EXPECT_EQ(EventCount({{"series", {{"count", 4}}}}), 4);
  EXPECT_EQ(EventCount({{"series", {{"count", "4"}}}}), 1);
  EXPECT_EQ(EventCount({{"series", {{"lastObservedTime", "2025-05-30T17:36:00.000001Z"}}}}), 1);
}

TEST(EventLastTime, IsThatOfTheSeriesOrOfTheOnly) {
  Json object = {{"eventTime", "2025-05-30T17:36:00.000001Z"}};
  EXPECT_EQ(EventLastTime(object), Then() + absl::Microseconds(1));
  object["series"] = {{"count", 2}, {"lastObservedTime", "2025-05-30T17:36:00.000002Z"}};
  EXPECT_EQ(EventLastTime(object), Then() + absl::Microseconds(2));
  EXPECT_EQ(EventLastTime(Json::object()), absl::InfinitePast());
}

}  // namespace
}  // namespace muster::kubernetes
