#include "services/rpc/call_info.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace muster::rpc {
namespace {

TEST(NewIdTest, IsFifteenHexDigitsAndNew) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = NewId();
    EXPECT_EQ(id.size(), 15u);
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 1000u);
}

}  // namespace
}  // namespace muster::rpc
