#include "storage/postgres/answer_watchdog.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace muster::storage {
namespace {

constexpr absl::Duration kLongestLook = absl::Seconds(1);

int Duplicate(int socket) {
  const int own = fcntl(socket, F_DUPFD_CLOEXEC, 0);
  if (own < 0) throw std::system_error(errno, std::generic_category(), "fcntl");
  return own;
}

}  // namespace

AskedSocket::AskedSocket(int socket) : socket_(Duplicate(socket)) {}
AskedSocket::~AskedSocket() { close(socket_); }

void AskedSocket::CutIfOwed(std::chrono::nanoseconds patience) {
  const int64_t asked_at = asked_at_;
  const std::chrono::nanoseconds now = std::chrono::steady_clock::now().time_since_epoch();
  if (asked_at != 0 && now - std::chrono::nanoseconds(asked_at) > patience)
    shutdown(socket_, SHUT_RDWR);
}

AnswerWatchdog::AnswerWatchdog(absl::Duration patience)
    : patience_(absl::ToChronoNanoseconds(patience)) {
  if (patience != absl::InfiniteDuration()) thread_ = std::thread([this] { Run(); });
}

AnswerWatchdog::~AnswerWatchdog() {
  stopper_.Stop();
  if (thread_.joinable()) thread_.join();
}

void AnswerWatchdog::Watch(const std::shared_ptr<AskedSocket>& socket) {
  MutexLock lock(mutex_);
  sockets_.push_back(socket);
}

void AnswerWatchdog::Run() {
  const absl::Duration look = std::min(absl::FromChrono(patience_) / 4, kLongestLook);
  while (stopper_.Sleep(look)) {
    MutexLock lock(mutex_);
    std::erase_if(sockets_, [this](const std::weak_ptr<AskedSocket>& held) {
      const std::shared_ptr<AskedSocket> socket = held.lock();
      if (socket != nullptr) socket->CutIfOwed(patience_);
      return socket == nullptr;
    });
  }
}

}  // namespace muster::storage
