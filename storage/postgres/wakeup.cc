#include "storage/postgres/wakeup.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace muster::storage {
namespace {

int NewEvent() {
  const int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  return event;
}

// poll leaves out what is negative.
pollfd ToPoll(AwaitedSocket socket) {
  return {socket.fd, static_cast<short>(socket.unsent ? POLLIN | POLLOUT : POLLIN), 0};
}
SocketEvents EventsOf(const pollfd& polled) {
  return {.readable = (polled.revents & ~POLLOUT) != 0,
          .writable = (polled.revents & POLLOUT) != 0};
}

}  // namespace

Wakeup::Wakeup() : event_(NewEvent()) {}
Wakeup::~Wakeup() { close(event_); }

void Wakeup::Signal() {
  const uint64_t one = 1;
  // Fails only where it was signalled 2^64 - 2 times without a Wait: whoever waits is awake.
  [[maybe_unused]] const ssize_t written = write(event_, &one, sizeof(one));
}

SocketEvents Wakeup::Wait(AwaitedSocket socket, absl::Duration longest) {
  pollfd fds[] = {{event_, POLLIN, 0}, ToPoll(socket)};
  const absl::Duration up = absl::Ceil(longest, absl::Milliseconds(1));
  poll(fds, 2, static_cast<int>(std::clamp<int64_t>(absl::ToInt64Milliseconds(up), 0, 1'000'000)));
  uint64_t signals = 0;
  if (fds[0].revents != 0 && read(event_, &signals, sizeof(signals)) < 0) {
    // Another thread that waits has taken it.
  }
  return EventsOf(fds[1]);
}

SocketEvents EventsOf(AwaitedSocket socket) {
  pollfd fd = ToPoll(socket);
  poll(&fd, 1, 0);
  return EventsOf(fd);
}

bool IsReadable(int socket) { return EventsOf(AwaitedSocket{.fd = socket}).readable; }

}  // namespace muster::storage
