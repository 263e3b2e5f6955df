#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "services/kubernetes/core/status.h"
#include "services/kubernetes/core/test_status.h"

// Whose names conditions bear, and what counts as said.
namespace muster::kubernetes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// "`first` maps Validated→Accepted, AtTarget→Allocated, Capacity→SufficientCapacity and adds
// MetadataSynced (Synced, Pending, Unknown)"
TEST(Editions, FirstHasTheFirstEditionsNames) {
  const v1::NodePool pool = HealthyPool();
  const Json status = Desired(MakeObject(1), &pool, Edition::kFirst);
  EXPECT_THAT(Types(status),
              ElementsAre("Accepted", "SufficientCapacity", "Allocated", "MetadataSynced"));
  EXPECT_EQ(Find(status, "Accepted")["reason"], "Accepted");
  EXPECT_EQ(Find(status, "Allocated")["reason"], "Complete");
  EXPECT_EQ(Find(status, "Accepted")["lastTransitionTime"], kTime);
  EXPECT_EQ(Find(status, "MetadataSynced")["reason"], "Synced");
  EXPECT_EQ(Find(status, "MetadataSynced")["status"], "True");
}

TEST(Editions, BothHasBothAndNoTypeTwice) {
  v1::NodePool pool = HealthyPool();
  *pool.mutable_status()->add_conditions() = MakeCondition("NodesRemoved", "False", "Pending", "");
  const Json status =
      Desired(MakeObject(1), &pool, Edition::kBoth, {}, Synced{.nodes = 3, .pending = 2});
  EXPECT_THAT(
      Types(status),
      ElementsAre("Validated", "Accepted", "Capacity", "SufficientCapacity", "Quota", "AtTarget",
                  "Allocated", "NodeReconfigurationRequired", "NodesRemoved", "MetadataSynced"));
  const Json synced = Find(status, "MetadataSynced");
  EXPECT_EQ(synced["reason"], "Pending");
  EXPECT_EQ(synced["status"], "False");
  EXPECT_THAT(synced["message"].get<std::string>(), HasSubstr("2 of 3 Nodes"));
}

TEST(Editions, ARefusalIsNamedByEach) {
  const auto types = [](Edition edition) {
    return Types(Desired(MakeObject(1), nullptr, edition, Refusal{1, "no"}));
  };
  EXPECT_THAT(types(Edition::kCurrent), ElementsAre("Validated"));
  EXPECT_THAT(types(Edition::kFirst), ElementsAre("Accepted"));
  EXPECT_THAT(types(Edition::kBoth), ElementsAre("Validated", "Accepted"));
}

// Told once, whichever names the object bears, and again when it is another.
TEST(Refusal, IsKnownFromTheObjectThatSaysIt) {
  for (const Edition edition : {Edition::kCurrent, Edition::kFirst, Edition::kBoth}) {
    const Json status = Desired(MakeObject(1), nullptr, edition, Refusal{1, "no"});
    EXPECT_TRUE(SaysRefusal(status, Refusal{1, "no"}));
    EXPECT_FALSE(SaysRefusal(status, Refusal{2, "no"}));
    EXPECT_FALSE(SaysRefusal(status, Refusal{1, "never"}));
  }
  EXPECT_FALSE(SaysRefusal(Json::object(), Refusal{1, "no"}));
}

TEST(Editions, AChangeTakesTheOthersNamesAway) {
  const v1::NodePool pool = HealthyPool();
  const Json both = Desired(MakeObject(1), &pool, Edition::kBoth);
  const Json current = Desired(MakeObject(1, both), &pool);
  EXPECT_FALSE(Says(both, current));
  EXPECT_THAT(Types(Merge(both, both, current)), testing::Not(testing::Contains("Accepted")));
  EXPECT_TRUE(Says(Merge(both, both, current), current));
}

TEST(Says, CountsOnlyWhatIsOurs) {
  const v1::NodePool pool = HealthyPool();
  const Json desired = Desired(MakeObject(1), &pool);
  Json status = desired;
  EXPECT_TRUE(Says(status, desired));
  status["foreign"] = 1;
  status["conditions"].insert(status["conditions"].begin(),
                              Json{{"type", "Foreign"}, {"status", "True"}});
  EXPECT_TRUE(Says(status, desired));
  EXPECT_FALSE(Says(Json::object(), desired));
  for (const auto& item : desired.items()) {
    Json without = status;
    without.erase(item.key());
    EXPECT_FALSE(Says(without, desired)) << item.key();
  }
  for (size_t i = 1; i < status["conditions"].size(); ++i) {
    for (const auto& item : desired["conditions"][i - 1].items()) {
      Json other = status;
      other["conditions"][i][item.key()] = "x";
      EXPECT_FALSE(Says(other, desired)) << i << item.key();
    }
  }
  status["nodeProfile"] = "np-0123456789ab";
  EXPECT_FALSE(Says(status, desired)) << "one that is to go";
}

// Written once, nothing is written again: through a refusal, a change of edition, and the end.
TEST(Says, IsAFixpointOfEveryStep) {
  v1::NodePool pool = HealthyPool();
  pool.set_generation(2);
  for (const Edition edition : {Edition::kCurrent, Edition::kFirst, Edition::kBoth}) {
    Json live = {{"conditions", Json::array({Json{{"type", "Foreign"}, {"status", "True"}}})}};
    Json before = Json::object();
    const auto step = [&](const v1::NodePool* of, const std::optional<Refusal>& refusal,
                          bool gone) {
      const auto at = [&](absl::Time now) {
        const NodePoolObject object = MakeObject(2, live);
        return *DesiredStatus(
            {.object = &object, .pool = of, .refusal = refusal, .gone = gone, .edition = edition},
            now);
      };
      const Json desired = at(Now());
      EXPECT_FALSE(Says(live, desired));
      live = Merge(live, before, desired);
      before = desired;
      EXPECT_TRUE(Says(live, at(Now() + absl::Hours(1)))) << live << at(Now());
      EXPECT_FALSE(Find(live, "Foreign").is_null());
    };
    step(nullptr, Refusal{2, "no"}, false);
    step(&pool, std::nullopt, false);
    step(&pool, Refusal{2, "no"}, false);
    step(nullptr, std::nullopt, true);
  }
}

}  // namespace
}  // namespace muster::kubernetes
