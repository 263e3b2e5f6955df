#include "services/rpc/listener_watch.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <string>

#include "absl/strings/str_cat.h"
#include "services/rpc/testing/fake_quota_service.h"
#include "tests/testing/patience.h"

namespace muster::rpc {
namespace {

using ::testing::HasSubstr;

// A port that takes connections into its backlog, and nobody accepts them: as a dead listener.
class DeafListener {
 public:
  DeafListener() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address));
    listen(socket_, 16);
    socklen_t size = sizeof(address);
    getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  ~DeafListener() { close(socket_); }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  const int socket_;
  int port_ = 0;
};

TEST(ListenerWatch, OneThatAnswersIsAlive) {
  FakeServer server;
  EXPECT_EQ(ListenerWatch::Look(absl::StrCat("127.0.0.1:", server.server->port()), nullptr,
                                absl::Minutes(1), [] { return false; }),
            "");
}

TEST(ListenerWatch, OneThatTakesNoConnectionIsToldOnce) {
  DeafListener deaf;
  std::promise<std::string> told;
  ListenerWatch watch({.address = deaf.address(),
                       .interval = absl::Milliseconds(1),
                       .patience = absl::Milliseconds(1),
                       .failures_to_tell = 2,
                       .on_dead = [&](const std::string& what) { told.set_value(what); }});
  EXPECT_THAT(testing::Await(told.get_future(), "the dead listener"),
              HasSubstr("nothing was heard"));
}

TEST(ListenerWatch, AFailureThatIsExcusedDoesNotCount) {
  DeafListener deaf;
  std::atomic<int> asked = 0;
  ListenerWatch watch({.address = deaf.address(),
                       .interval = absl::Milliseconds(1),
                       .patience = absl::Milliseconds(1),
                       .failures_to_tell = 1,
                       .excused = [&] { return ++asked > 0; },
                       .on_dead = [](const std::string&) { ADD_FAILURE(); }});
  testing::Until([&] { return asked > 3; }, "some looks");
}

TEST(ListenerWatch, EndsInTheMiddleOfALook) {
  DeafListener deaf;
  {
    ListenerWatch watch({.address = deaf.address(),
                         .interval = absl::ZeroDuration(),
                         .patience = absl::Hours(1),
                         .on_dead = [](const std::string&) { ADD_FAILURE(); }});
  }
}

}  // namespace
}  // namespace muster::rpc
