#include "tests/testing/reserved_port.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <vector>

namespace muster::testing {
namespace {

TEST(ReservedPort, IsNobodyElses) {
  std::vector<ReservedPort> ports(200);
  std::set<uint16_t> numbers;
  for (const ReservedPort& port : ports) numbers.insert(port.number());
  EXPECT_EQ(numbers.size(), ports.size());
}

TEST(ReservedPort, IsNoneThatLinuxGivesToWhoAsksForAny) {
  std::ifstream range("/proc/sys/net/ipv4/ip_local_port_range");
  int first = 0;
  ASSERT_TRUE(range >> first);
  EXPECT_LT(ReservedPort().number(), first);
}

}  // namespace
}  // namespace muster::testing
