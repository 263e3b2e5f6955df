#include "tests/testing/reserved_port.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <stdexcept>

namespace muster::testing {
namespace {

// Below the ports that Linux gives to programs that ask for any (net.ipv4.ip_local_port_range, from
// 32768).
constexpr uint16_t kFirst = 20'000;
constexpr uint16_t kCount = 12'000;

// A socket bound to `port` of the loopback address `host`; -1: the port is in use. `beside`: what
// is left of a server's connections after its end does not count as use, only a socket that
// listens.
int Bind(const char* host, uint16_t port, bool beside) {
  const int bound = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int reuse = beside ? 1 : 0;
  setsockopt(bound, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  inet_pton(AF_INET, host, &address.sin_addr);
  if (bind(bound, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return bound;
  close(bound);
  return -1;
}

}  // namespace

ReservedPort::ReservedPort() {
  std::random_device random;
  for (int tries = 0; tries < 1'000; ++tries) {
    const auto port = static_cast<uint16_t>(kFirst + random() % kCount);
    mark_ = Bind("127.0.0.2", port, false);
    if (mark_ < 0) continue;
    if (const int probe = Bind("127.0.0.1", port, true); probe >= 0) {
      close(probe);
      number_ = port;
      return;
    }
    close(mark_);
  }
  throw std::runtime_error("no free port");
}

ReservedPort::~ReservedPort() { close(mark_); }

}  // namespace muster::testing
