#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/integration/house.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

// Connections that say nothing.
class Idle {
 public:
  Idle(const std::string& address, int connections) {
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int port = 0;
    EXPECT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
    to.sin_port = htons(static_cast<uint16_t>(port));
    for (int i = 0; i < connections; ++i) {
      sockets_.push_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
      (void)connect(sockets_.back(), reinterpret_cast<sockaddr*>(&to), sizeof(to));
    }
  }
  ~Idle() {
    for (const int each : sockets_) close(each);
  }

 private:
  std::vector<int> sockets_;
};

// More than this musterd may have files open, gone again.
void Crowd(const House& house) {
  const Idle idle(house.address(), 400);
  Until([&] { return house.open_files() >= 256; }, "the server to have all files open");
}

// "Idle connections up to the limit of files, gone again: the next call is answered, or the process
// has ended with its reason; both shown."
TEST(HostileSockets, ALimitThatMayBeRaisedIs) {
  House house({.musterd_prefix = {"/usr/bin/prlimit", "--nofile=256:4096"}});
  {
    const Idle idle(house.address(), 400);
    Until([&] { return house.open_files() > 400; }, "the connections");
  }
  house.ApplyCatalogue();
  EXPECT_TRUE(house.IsServing());
}

TEST(HostileSockets, AListenerThatDiedEndsTheProcessWithItsReason) {
  House house({.musterd_prefix = {"/usr/bin/prlimit", "--nofile=256:256"}, .audit_books = false});
  Crowd(house);
  Until([&] { return !house.Runs() || house.IsServing(); }, "an answer, or the end");
  if (house.Runs()) return;
  EXPECT_EQ(house.Terminate(), 1);
  EXPECT_THAT(house.Logs(), HasSubstr("The listener is dead: nothing was heard"));
}

}  // namespace
}  // namespace muster::testing
