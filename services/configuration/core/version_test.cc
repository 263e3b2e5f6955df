#include "services/configuration/core/version.h"

#include <gtest/gtest.h>

namespace muster::configuration {
namespace {

TEST(VersionTest, Parses) {
  EXPECT_EQ(ParseVersion("570.124.06")->numbers, (std::vector<int64_t>{570, 124, 6}));
  EXPECT_EQ(ParseVersion("0")->numbers, (std::vector<int64_t>{0}));
  EXPECT_EQ(ParseVersion("1.2.3.999999999")->numbers.size(), 4u);
  for (const char* bad : {"", ".", "1.", ".1", "1..2", "1.2.3.4.5", "v1", "1.x", "-1", "+1", " 1",
                          "1 ", "1234567890", "1.33-rc1"}) {
    EXPECT_FALSE(ParseVersion(bad).has_value()) << bad;
  }
}

TEST(VersionTest, OrdersByNumbers) {
  // Oldest first.
  const std::vector<std::string> order = {"1",         "1.9",        "1.10",      "1.10.0", "2",
                                          "570.86.15", "570.124.06", "570.124.6", "1000"};
  for (size_t i = 0; i < order.size(); ++i) {
    for (size_t j = 0; j < order.size(); ++j) {
      EXPECT_EQ(*ParseVersion(order[i]) < *ParseVersion(order[j]), i < j)
          << order[i] << " " << order[j];
    }
  }
}

TEST(VersionTest, FitsByWholeNumbers) {
  const Version version = *ParseVersion("570.124.06");
  EXPECT_TRUE(Fits(version, {}));
  EXPECT_TRUE(Fits(version, {570}));
  EXPECT_TRUE(Fits(version, {570, 124, 6}));
  EXPECT_FALSE(Fits(version, {57}));
  EXPECT_FALSE(Fits(version, {570, 12}));
  EXPECT_FALSE(Fits(version, {570, 124, 6, 0}));
}

}  // namespace
}  // namespace muster::configuration
