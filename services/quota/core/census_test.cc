#include "services/quota/core/census.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "services/common/pieces.h"
#include "services/common/testing/fake_memory.h"
#include "services/quota/core/testing/key.h"

namespace muster::quota {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

const CensusKey kCensusKey{"US-EAST-04A", "gd-8xa100-i128", ComputeClass::kDefault};

class CensusTest : public ::testing::Test {
 protected:
  template <class Row>
  void Put(const Row& row) {
    state_.Apply({row.Key(), std::make_shared<const Row>(row)}, ++revision_);
  }
  static QuotaKey KeyOf(const std::string& organization, ComputeClass compute_class) {
    return {organization, kCensusKey.zone, kCensusKey.instance_type, compute_class};
  }
  void Limit(const std::string& organization, int64_t limit,
             ComputeClass compute_class = ComputeClass::kDefault) {
    Put(Quota{.key = KeyOf(organization, compute_class), .limit = limit});
  }
  void Hold(const std::string& organization, int64_t nodes,
            ComputeClass compute_class = ComputeClass::kDefault) {
    Hold(KeyOf(organization, compute_class), nodes);
  }
  void Hold(const QuotaKey& key, int64_t nodes) {
    Put(Holding{.quota = QuotaName(key),
                .pool_uid = absl::StrCat("pool-", revision_),
                .nodes = nodes,
                .generation = 1});
  }
  Census Count() const { return CensusOf(FakeMemory(state_), kNow); }

  State state_;
  int64_t revision_ = 0;
};

TEST_F(CensusTest, OfNothingIsEmpty) { EXPECT_THAT(Count().keys, IsEmpty()); }

TEST_F(CensusTest, SumsOverOrganizations) {
  Limit("acme", 10);
  Limit("zeta", 4);
  Hold("acme", 3);
  Hold("acme", 2);
  Hold("zeta", 4);
  EXPECT_THAT(Count().keys, ElementsAre(Pair(kCensusKey, KeyCount{14, 9, 0, 1})));
}

TEST_F(CensusTest, KeepsClassesApart) {
  Limit("acme", 10);
  Limit("acme", 20, ComputeClass::kSpot);
  Hold("acme", 5, ComputeClass::kSpot);
  CensusKey spot = kCensusKey;
  spot.compute_class = ComputeClass::kSpot;
  EXPECT_THAT(Count().keys, ElementsAre(Pair(kCensusKey, KeyCount{.limit = 10}),
                                        Pair(spot, KeyCount{.limit = 20, .held = 5})));
}

// One organization's room is not another's.
TEST_F(CensusTest, WhatIsBeyondALimitIsNotMadeUpForByOthers) {
  Limit("acme", 10);
  Limit("zeta", 4);
  Hold("zeta", 6);
  EXPECT_THAT(Count().keys, ElementsAre(Pair(kCensusKey, KeyCount{14, 6, 2, 1, 1})));
}

// By how much is told by `over`; a quota of which just all is held is none.
TEST_F(CensusTest, AQuotaWithMoreThanItsLimitIsOneOverrun) {
  Limit("acme", 3);
  Hold("acme", 3);
  EXPECT_EQ(Count().keys.at(kCensusKey).overruns, 0);
  Limit("acme", 1);
  EXPECT_EQ(Count().keys.at(kCensusKey).overruns, 1);
  Limit("zeta", 0);
  Hold("zeta", 9);
  EXPECT_EQ(Count().keys.at(kCensusKey).overruns, 2);
}

TEST_F(CensusTest, WhatIsHeldWithoutAQuotaIsBeyondIt) {
  Limit("zeta", 10);
  Hold("acme", 6);
  EXPECT_THAT(Count().keys,
              ElementsAre(Pair(kCensusKey, KeyCount{.limit = 10, .held = 6, .over = 6})));
}

// Pools name types and zones as they like, and have holdings of 0 Nodes for what there is not.
TEST_F(CensusTest, WhatNoQuotaIsForIsOther) {
  for (const char* type : {"made-up-1", "made-up-2"}) Hold({"acme", kCensusKey.zone, type}, 1);
  Hold({"acme", "MADE-UP-01A", kCensusKey.instance_type}, 0);
  EXPECT_THAT(Count().keys,
              ElementsAre(Pair(CensusKey{"other", "other"}, KeyCount{.held = 2, .over = 2})));
  Limit("acme", 10);
  EXPECT_THAT(Count().keys,
              ElementsAre(Pair(kCensusKey, KeyCount{.limit = 10}),
                          Pair(CensusKey{kCensusKey.zone, "other"}, KeyCount{.held = 2, .over = 2}),
                          Pair(CensusKey{"other", "other"}, KeyCount())));
}

TEST_F(CensusTest, ShowsTheLimitInForce) {
  Put(Quota{
      .key = KeyOf("acme", ComputeClass::kDefault),
      .limit = 10,
      .overrides = {{.limit = 99, .effective_time = kNow, .expire_time = kNow + absl::Hours(1)}}});
  EXPECT_EQ(CensusOf(FakeMemory(state_), kNow - absl::Seconds(1)).keys.at(kCensusKey).limit, 10);
  EXPECT_EQ(CensusOf(FakeMemory(state_), kNow).keys.at(kCensusKey).limit, 99);
}

TEST_F(CensusTest, TheLargestOrganizationsAreNamedAndTheRestIsOther) {
  for (int i = 0; i < 5; ++i) {
    Limit(absl::StrCat("org-", i), 10);
    Hold(absl::StrCat("org-", i), i);
  }
  const Census census = Count();
  EXPECT_THAT(Largest(census, 0), IsEmpty());
  EXPECT_THAT(Largest(census, 2),
              ElementsAre(OrganizationCount{"org-3", 10, 3}, OrganizationCount{"org-4", 10, 4},
                          OrganizationCount{"other", 30, 3}));
  EXPECT_EQ(Largest(census, 5).size(), 5u);
  EXPECT_EQ(Largest(census, 5).back().organization, "org-4");
}

TEST_F(CensusTest, AnOrganizationWithoutLimitsIsNamed) {
  Hold("acme", 3);
  EXPECT_THAT(Largest(Count(), 1), ElementsAre(OrganizationCount{"acme", 0, 3}));
}

TEST_F(CensusTest, AnOrganizationOfTheNameOtherIsOneOfTheOthers) {
  Limit("other", 100);
  Limit("acme", 1);
  Limit("zeta", 1);
  EXPECT_THAT(Largest(Count(), 1),
              ElementsAre(OrganizationCount{"acme", 1, 0}, OrganizationCount{"other", 101, 0}));
  EXPECT_EQ(Largest(Count(), 9).size(), 3u);
}

// Read by a collector, a piece at a time.
TEST_F(CensusTest, InPiecesIsTheSameAsAtOnce) {
  for (int i = 0; i < 7; ++i) {
    Limit(absl::StrCat("org-", i), 10);
    Hold(absl::StrCat("org-", i), 2 * i);
  }
  for (size_t piece = 1; piece < 9; ++piece) {
    Census census;
    std::string after;
    do {
      after = ForSome(state_.table<Quota>(), after, piece,
                      [&](absl::string_view name, const Quota& quota) {
                        census.Add(quota, state_.Held(name), kNow);
                      });
    } while (!after.empty());
    do {
      after = ForSome(state_.table<Holding>(), after, piece,
                      [&](absl::string_view, const Holding& row) { census.Add(row, true); });
    } while (!after.empty());
    EXPECT_EQ(census.keys, Count().keys) << piece;
    EXPECT_EQ(census.organizations, Count().organizations) << piece;
  }
}

}  // namespace
}  // namespace muster::quota
