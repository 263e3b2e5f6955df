#include "services/common/stop_listener.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace muster {
namespace {

constexpr int kPatience = 60'000;  // milliseconds

// A socket that listens at that address, a number, on a port that it picks.
int ListenAt(const std::string& host) {
  addrinfo hints = {};
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  EXPECT_EQ(getaddrinfo(host.c_str(), "0", &hints, &found), 0);
  const int listener = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(bind(listener, found->ai_addr, found->ai_addrlen), 0);
  EXPECT_EQ(listen(listener, 8), 0);
  freeaddrinfo(found);
  return listener;
}

// IPv4 and IPv6 have it in the same place.
int PortOf(int listener) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  EXPECT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

// As one that sleeps until somebody comes.
void ExpectWoken(const std::string& given, const std::string& bound) {
  SCOPED_TRACE(given);
  const int listener = ListenAt(bound);
  const int port = PortOf(listener);
  bool woken = false;
  StopListener(absl::StrCat(given, ":0"), port, [&] {
    pollfd waiting{listener, POLLIN, 0};
    woken = poll(&waiting, 1, kPatience) == 1;
  });
  EXPECT_TRUE(woken);
  close(listener);
}

TEST(StopListenerTest, WakesOneWhereverItListens) {
  ExpectWoken("127.0.0.1", "127.0.0.1");
  ExpectWoken("127.0.0.2", "127.0.0.2");
  ExpectWoken("0.0.0.0", "0.0.0.0");
  ExpectWoken("localhost", "127.0.0.1");
}

TEST(StopListenerTest, WakesOneOfIpv6) {
  if (access("/proc/net/if_inet6", F_OK) != 0) GTEST_SKIP() << "no IPv6 on this machine";
  ExpectWoken("[::1]", "::1");
  ExpectWoken("[::]", "::");
}

// It has nobody left who could wake it, or is quick.
TEST(StopListenerTest, ReturnsWhenItHasStopped) {
  bool stopped = false;
  StopListener("127.0.0.1:0", 0, [&] { stopped = true; });
  EXPECT_TRUE(stopped);
}

}  // namespace
}  // namespace muster
