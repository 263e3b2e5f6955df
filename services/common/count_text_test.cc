#include "services/common/count_text.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(CountText, IsPluralButForOne) {
  EXPECT_EQ(CountText(0, "Node"), "0 Nodes");
  EXPECT_EQ(CountText(1, "Node"), "1 Node");
  EXPECT_EQ(CountText(2, "Node"), "2 Nodes");
}

}  // namespace
}  // namespace muster
