#include "services/common/memory_limit.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "services/common/steady_clock.h"
#include "tests/testing/temp_folder.h"

namespace muster {
namespace {

class CgroupTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  const muster::testing::TempFolder folder_;
  const std::string& root_ = folder_.path();
};

TEST_F(CgroupTest, TheLeastLimitOfAGroupAndThoseThatItIsInCounts) {
  Write("/proc/self/cgroup", "0::/system.slice/muster.service\n");
  Write("/sys/fs/cgroup/system.slice/muster.service/memory.max", "2000000\n");
  EXPECT_EQ(CgroupMemoryLimit(root_), 2'000'000);
  Write("/sys/fs/cgroup/system.slice/memory.max", "1000000\n");
  EXPECT_EQ(CgroupMemoryLimit(root_), 1'000'000);
}

TEST_F(CgroupTest, OfAContainerItIsWhatStandsAtTheMount) {
  Write("/proc/self/cgroup", "0::/\n");
  Write("/sys/fs/cgroup/memory.max", "3000000\n");
  EXPECT_EQ(CgroupMemoryLimit(root_), 3'000'000);
}

TEST_F(CgroupTest, VersionOneHasAControllerOfMemory) {
  Write("/proc/self/cgroup", "8:cpu,cpuacct:/a\n7:memory:/docker/b\n0::/\n");
  Write("/sys/fs/cgroup/memory/docker/b/memory.limit_in_bytes", "4000000\n");
  EXPECT_EQ(CgroupMemoryLimit(root_), 4'000'000);
}

TEST_F(CgroupTest, WhereNoneIsSetThereIsNone) {
  EXPECT_EQ(CgroupMemoryLimit(root_), 0) << "no file";
  Write("/proc/self/cgroup", "nonsense\n7:memory:/a\n0::/a\n");
  Write("/sys/fs/cgroup/a/memory.max", "max\n");
  Write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(CgroupMemoryLimit(root_), 0);
}

TEST(MemoryLimitTest, IsNearAboveNineTenths) {
  FakeSteadyClock clock;
  int64_t resident = 900;
  MemoryLimit limit(1000, &clock, [&] { return resident; });
  EXPECT_FALSE(limit.IsNear());
  resident = 901;
  EXPECT_FALSE(limit.IsNear()) << "not looked at so soon";
  clock.Advance(MemoryLimit::kLook);
  EXPECT_TRUE(limit.IsNear());
  resident = 900;
  clock.Advance(MemoryLimit::kLook);
  EXPECT_FALSE(limit.IsNear());
}

TEST(MemoryLimitTest, NoneIsNeverNear) {
  MemoryLimit limit(0, TheSteadyClock(), [] { return std::numeric_limits<int64_t>::max(); });
  EXPECT_FALSE(limit.IsNear());
}

// What was freed in small pieces below one that is kept stays with the process until it is asked
// for.
TEST(MemoryLimitTest, WhatWasFreedIsGivenBackBeforeAnythingIsRefused) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers have an allocator of their own";
#endif
  constexpr int64_t kTaken = int64_t{200} << 20;
  std::vector<std::unique_ptr<char[]>> pieces;
  for (int64_t taken = 0; taken < kTaken; taken += 10'000) {
    pieces.push_back(std::make_unique<char[]>(10'000));
    std::memset(pieces.back().get(), 1, 10'000);
  }
  const auto last = std::make_unique<char[]>(10'000);
  pieces.clear();
  const int64_t before = ResidentBytes();
  ASSERT_GT(before, kTaken) << "the allocator kept it";
  EXPECT_FALSE(MemoryLimit(before).IsNear());
  EXPECT_LT(ResidentBytes(), before / 2);
}

}  // namespace
}  // namespace muster
