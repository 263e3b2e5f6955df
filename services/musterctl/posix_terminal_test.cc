// On a pseudo-terminal.
#include "services/musterctl/posix_terminal.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string>

namespace muster::musterctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PosixTerminalTest : public ::testing::Test {
 protected:
  PosixTerminalTest() {
    EXPECT_EQ(grantpt(master_), 0);
    EXPECT_EQ(unlockpt(master_), 0);
    slave_ = open(ptsname(master_), O_RDWR | O_NOCTTY);
    EXPECT_GE(slave_, 0);
  }
  ~PosixTerminalTest() override {
    close(slave_);
    close(master_);
  }

  tcflag_t Modes() const {
    termios now = {};
    EXPECT_EQ(tcgetattr(slave_, &now), 0);
    return now.c_lflag;
  }
  std::string Shown() const {
    char bytes[4096];
    const ssize_t count = read(master_, bytes, sizeof(bytes));
    return std::string(bytes, static_cast<size_t>(std::max<ssize_t>(count, 0)));
  }
  void Press(absl::string_view keys) const {
    EXPECT_EQ(write(master_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }

  const int master_ = posix_openpt(O_RDWR | O_NOCTTY);
  int slave_ = -1;
};

TEST_F(PosixTerminalTest, IsGivenBackAsItWas) {
  const tcflag_t before = Modes();
  {
    PosixTerminal terminal(slave_, slave_);
    EXPECT_TRUE(terminal.exists());
    terminal.Enter();
    terminal.Enter();
    EXPECT_EQ(Modes() & (ICANON | ECHO), 0U);
    EXPECT_THAT(Shown(), HasSubstr("\x1b[?1049h"));
    Press("jq");
    EXPECT_THAT(terminal.Await(absl::Minutes(1)), ElementsAre(Key::kDown, Key::kQuit));
  }
  EXPECT_EQ(Modes(), before);
  EXPECT_THAT(Shown(), HasSubstr("\x1b[?25h\x1b[?1049l"));
}

TEST_F(PosixTerminalTest, SignalsAreKeysWhileItIsEntered) {
  struct sigaction before = {};
  sigaction(SIGINT, nullptr, &before);
  PosixTerminal terminal(slave_, slave_);
  terminal.Enter();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    raise(signal);
    EXPECT_THAT(terminal.Await(absl::Minutes(1)), ElementsAre(Key::kQuit)) << signal;
  }
  winsize size = {};
  size.ws_col = 61;
  size.ws_row = 17;
  ASSERT_EQ(ioctl(master_, TIOCSWINSZ, &size), 0);
  raise(SIGWINCH);
  EXPECT_THAT(terminal.Await(absl::Minutes(1)), ElementsAre(Key::kRedraw));
  EXPECT_EQ(terminal.size().width, 61U);
  EXPECT_EQ(terminal.size().height, 17U);
  terminal.Leave();
  struct sigaction after = {};
  sigaction(SIGINT, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

TEST_F(PosixTerminalTest, ATerminalThatIsGoneEndsIt) {
  PosixTerminal terminal(slave_, slave_);
  terminal.Enter();
  close(master_);
  EXPECT_THAT(terminal.Await(absl::Minutes(1)), ElementsAre(Key::kQuit));
}

TEST(KeysTest, SequencesOfUnknownKeysMeanNothing) {
  EXPECT_THAT(KeysOf("\x1b[A\x1bOBk\x1b[1;5Cx\x1b[6~"),
              ElementsAre(Key::kUp, Key::kDown, Key::kUp, Key::kPageDown));
  EXPECT_THAT(KeysOf("\x1b"), ElementsAre());
}

}  // namespace
}  // namespace muster::musterctl
