#include "services/lifecycle/core/machine_cursor.h"

#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"

namespace muster::lifecycle {
namespace {

TEST(MachineCursor, FindsWhatIsThereInAnyOrder) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<std::string> sorted;
    for (int i = 0; i < 30; ++i) {
      if (random() % 2 == 0) sorted.push_back(absl::StrCat("g", 100 + i));
    }
    MachineCursor cursor(sorted);
    int at = 0;
    for (int step = 0; step < 100; ++step) {
      at = random() % 8 == 0 ? static_cast<int>(random() % 32) : at + 1;
      const std::string machine = absl::StrCat("g", 100 + at % 32 - 1);
      const std::string* found = cursor.Find(machine);
      ASSERT_EQ(found != nullptr, std::binary_search(sorted.begin(), sorted.end(), machine))
          << machine;
      if (found != nullptr) {
        EXPECT_EQ(*found, machine);
      }
    }
  }
}

TEST(MachineCursor, FindsNodesByMachine) {
  const Node a{.machine = "a"};
  const Node c{.machine = "c"};
  const std::vector<const Node*> nodes = {&a, &c};
  MachineCursor cursor(nodes);
  EXPECT_EQ(*cursor.Find("a"), &a);
  EXPECT_EQ(cursor.Find("b"), nullptr);
  EXPECT_EQ(*cursor.Find("c"), &c);
  EXPECT_EQ(*cursor.Find("c"), &c) << "asked for again";
  EXPECT_EQ(cursor.Find("d"), nullptr);
}

}  // namespace
}  // namespace muster::lifecycle
