#include "services/common/open_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace muster {
namespace {

// Puts the limit back when the test ends.
class OpenFilesTest : public ::testing::Test {
 protected:
  OpenFilesTest() { getrlimit(RLIMIT_NOFILE, &before_); }
  ~OpenFilesTest() override { setrlimit(RLIMIT_NOFILE, &before_); }

  void Allow(rlim_t files) const {
    const rlimit limit = {files, before_.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  }

  rlimit before_ = {};
};

TEST_F(OpenFilesTest, TheLimitIsRaisedAsFarAsItMayBe) {
  Allow(100);
  const FileLimit limit = RaiseFileLimit();
  EXPECT_EQ(limit.before, 100u);
  EXPECT_EQ(limit.now, before_.rlim_max);
  rlimit now = {};
  getrlimit(RLIMIT_NOFILE, &now);
  EXPECT_EQ(now.rlim_cur, before_.rlim_max);
}

TEST_F(OpenFilesTest, AReserveIsThereWhenNothingElseIs) {
  FileReserve reserve(4);
  const int next = dup(0);
  close(next);
  Allow(static_cast<rlim_t>(next));
  EXPECT_FALSE(FileReserve::CanOpen());
  EXPECT_TRUE(reserve.Release());
  EXPECT_TRUE(FileReserve::CanOpen());
  EXPECT_FALSE(reserve.Release());
}

TEST_F(OpenFilesTest, AReserveIsKeptAsideAgainOnceThereIsRoom) {
  FileReserve reserve(4);
  const int next = dup(0);
  close(next);
  for (const int time : {1, 2}) {
    SCOPED_TRACE(time);
    Allow(static_cast<rlim_t>(next));
    EXPECT_FALSE(FileReserve::CanOpen());
    EXPECT_TRUE(reserve.Release());
    // There is room for the reserve and for nothing else.
    reserve.Refill();
    EXPECT_TRUE(FileReserve::CanOpen());
    EXPECT_FALSE(reserve.Release());
    Allow(before_.rlim_cur);
    reserve.Refill();
    reserve.Refill();
  }
  EXPECT_TRUE(reserve.Release());
}

}  // namespace
}  // namespace muster
