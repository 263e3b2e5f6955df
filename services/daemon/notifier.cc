#include "services/daemon/notifier.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "absl/strings/numbers.h"

namespace muster::daemon {

Notifier Notifier::FromEnvironment() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  int64_t microseconds = 0;
  int64_t pid = 0;
  if (!absl::SimpleAtoi(variable("WATCHDOG_USEC"), &microseconds)) microseconds = 0;
  // For another process of the unit: not for us.
  if (absl::SimpleAtoi(variable("WATCHDOG_PID"), &pid) && pid != getpid()) microseconds = 0;
  return Notifier(variable("NOTIFY_SOCKET"),
                  absl::Microseconds(std::max<int64_t>(0, microseconds)));
}

bool Notifier::Tell(absl::string_view state) const {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (socket_.empty() || socket_.size() >= sizeof(address.sun_path)) return false;
  std::copy(socket_.begin(), socket_.end(), address.sun_path);
  if (socket_[0] == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return false;
  // A slow systemd must not hold up the program: it misses this message and gets the next.
  const ssize_t sent = sendto(socket, state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                              reinterpret_cast<const sockaddr*>(&address), size);
  close(socket);
  return sent == static_cast<ssize_t>(state.size());
}

}  // namespace muster::daemon
