#include "tests/testing/sockets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

// More than this musterd may have files open, gone again. That all were open is seen by the reserve
// that is given back, or by a listener that died of it (it opens no more, and nobody is told
// whether the reserve was looked at before); the count of files has fallen before anybody looks.
void Crowd(const MiniMuster& muster) {
  const Idle idle(muster.address(), 400);
  Until(
      [&] {
        return !muster.Runs() || absl::StrContains(muster.MusterdLogs(), "\"given_back\":32");
      },
      "the reserve to be given back, or the end");
}

// "Idle connections up to the limit of files, gone again: the next call is answered, or the process
// has ended with its reason; both shown."
TEST(HostileSockets, ALimitThatMayBeRaisedIs) {
  MiniMuster muster({.musterd_prefix = {"/usr/bin/prlimit", "--nofile=256:4096"}});
  {
    const Idle idle(muster.address(), 400);
    Until([&] { return muster.open_files() > 400; }, "the connections");
  }
  muster.ApplyCatalogue();
  EXPECT_TRUE(muster.IsServing());
  EXPECT_THAT(HttpGet(muster.metrics_address(), "/metrics", absl::Seconds(30)),
              HasSubstr("process_max_fds 4096\n"));
}

TEST(HostileSockets, AListenerThatDiedEndsTheProcessWithItsReason) {
  MiniMuster muster(
      {.musterd_prefix = {"/usr/bin/prlimit", "--nofile=256:256"}, .audit_books = false});
  Crowd(muster);
  Until([&] { return !muster.Runs() || muster.IsServing(); }, "an answer, or the end");
  if (muster.Runs()) GTEST_SKIP() << "the listener lived";
  EXPECT_EQ(muster.Terminate(), 1);
  EXPECT_THAT(muster.MusterdLogs(), HasSubstr("The listener is dead: nothing was heard"));
}

}  // namespace
}  // namespace muster::testing
