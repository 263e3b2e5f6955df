#include "services/common/cut.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(CutTest, CutsNoCharacterInTwo) {
  EXPECT_EQ(Cut("abc", 3), "abc");
  EXPECT_EQ(Cut("abcd", 3), "abc");
  EXPECT_EQ(Cut("a€b", 3), "a");
  EXPECT_EQ(Cut("a€b", 4), "a€");
  EXPECT_EQ(Cut("€", 2), "");
}

}  // namespace
}  // namespace muster
