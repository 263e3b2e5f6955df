#include "services/common/edit_distance.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(EditDistance, CountsWhatMakesOneWordOfTheOther) {
  const struct {
    absl::string_view a, b;
    size_t distance;
  } rows[] = {
      {"", "", 0},
      {"node", "node", 0},
      {"", "node", 4},
      {"nodes", "node", 1},
      {"npde", "node", 1},
      {"ndoe", "node", 1},
      {"nodepol", "nodepool", 1},
      {"quota", "cluster", 5},
      {"listne", "listen", 1},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(EditDistance(row.a, row.b), row.distance) << row.a << " " << row.b;
    EXPECT_EQ(EditDistance(row.b, row.a), row.distance) << row.b << " " << row.a;
  }
}

}  // namespace
}  // namespace muster
