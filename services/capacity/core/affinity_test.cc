#include "services/capacity/core/affinity.h"

#include <gtest/gtest.h>

namespace muster::capacity {
namespace {

using Op = AffinityOperator;

Affinity One(std::string key, Op op, std::vector<std::string> values = {}) {
  return {{{{{std::move(key), op, std::move(values)}}}}};
}

const Labels kLabels = {{"disk", "nvme"}, {"tier", ""}};

TEST(AffinityTest, EqualOnesAreOneInMemory) {
  const Affinity a = One("disk", Op::kIn, {"nvme"});
  const Affinity b = One("disk", Op::kIn, {"nvme"});
  const Affinity other = One("disk", Op::kNotIn, {"nvme"});
  EXPECT_EQ(&a.terms(), &b.terms());
  EXPECT_EQ(a, b);
  EXPECT_FALSE(a < b || b < a);
  EXPECT_NE(a, other);
  EXPECT_TRUE(a < other || other < a);
  EXPECT_EQ(Affinity(Affinity::Terms()), Affinity());
}

TEST(AffinityTest, WithoutTermsTakesEveryMachine) {
  EXPECT_TRUE(Matches({}, kLabels));
  EXPECT_TRUE(Matches({}, {}));
}

TEST(AffinityTest, InWantsTheLabelWithOneOfTheValues) {
  EXPECT_TRUE(Matches(One("disk", Op::kIn, {"ssd", "nvme"}), kLabels));
  EXPECT_FALSE(Matches(One("disk", Op::kIn, {"ssd"}), kLabels));
  EXPECT_FALSE(Matches(One("gpu", Op::kIn, {"nvme"}), kLabels));
  EXPECT_TRUE(Matches(One("tier", Op::kIn, {""}), kLabels));
  EXPECT_FALSE(Matches(One("gpu", Op::kIn, {""}), kLabels));
}

TEST(AffinityTest, NotInTakesMachinesWithoutTheLabelToo) {
  EXPECT_TRUE(Matches(One("disk", Op::kNotIn, {"ssd"}), kLabels));
  EXPECT_FALSE(Matches(One("disk", Op::kNotIn, {"ssd", "nvme"}), kLabels));
  EXPECT_TRUE(Matches(One("gpu", Op::kNotIn, {"nvme"}), kLabels));
}

TEST(AffinityTest, ExistsAndDoesNotExistLookAtTheKeyAlone) {
  EXPECT_TRUE(Matches(One("tier", Op::kExists), kLabels));
  EXPECT_FALSE(Matches(One("gpu", Op::kExists), kLabels));
  EXPECT_FALSE(Matches(One("tier", Op::kDoesNotExist), kLabels));
  EXPECT_TRUE(Matches(One("gpu", Op::kDoesNotExist), kLabels));
}

TEST(AffinityTest, ExpressionsOfATermMustAllHoldAndTermsAreAlternatives) {
  const AffinityExpression nvme{"disk", Op::kIn, {"nvme"}};
  const AffinityExpression gpu{"gpu", Op::kExists, {}};
  EXPECT_FALSE(Matches({{{{nvme, gpu}}}}, kLabels));
  EXPECT_TRUE(Matches({{{{gpu}}, {{nvme}}}}, kLabels));
}

}  // namespace
}  // namespace muster::capacity
