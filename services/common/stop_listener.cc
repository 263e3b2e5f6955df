#include "services/common/stop_listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "absl/strings/strip.h"
#include "absl/time/clock.h"

namespace muster {
namespace {

constexpr absl::Duration kBetweenKnocks = absl::Milliseconds(10);

std::string HostOf(absl::string_view address) {
  absl::string_view host = address.substr(0, address.rfind(':'));
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  return std::string(host);
}

// A connection to a listener of this machine, closed at once. What listens at every address
// (`0.0.0.0`, `::`) is reached by that one, too; what was given by a name, by loopback.
void Knock(const std::string& host, int port) {
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(static_cast<uint16_t>(port));
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  v4.sin_port = v6.sin6_port;
  const bool is_v6 = inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1;
  if (!is_v6 && inet_pton(AF_INET, host.c_str(), &v4.sin_addr) != 1)
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int knock =
      socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (knock < 0) return;
  [[maybe_unused]] const int ignored =
      is_v6 ? connect(knock, reinterpret_cast<const sockaddr*>(&v6), sizeof(v6))
            : connect(knock, reinterpret_cast<const sockaddr*>(&v4), sizeof(v4));
  close(knock);
}

}  // namespace

void StopListener(absl::string_view address, int port, absl::FunctionRef<void()> stop) {
  const std::string host = HostOf(address);
  std::atomic<bool> stopped = false;
  std::thread stopping([&] {
    stop();
    stopped = true;
  });
  while (!stopped) {
    Knock(host, port);
    absl::SleepFor(kBetweenKnocks);
  }
  stopping.join();
}

}  // namespace muster
