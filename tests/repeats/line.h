#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/mutex.h"

// A line to a server that can break: TCP connections to `address()` are handed on to a port of this
// machine.
namespace muster::testing {

class Line {
 public:
  explicit Line(int target) : target_(target), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in any = AddressOf(0);
    socklen_t size = sizeof any;
    if (listener_ < 0 || ::bind(listener_, Plain(any), size) != 0 || ::listen(listener_, 16) != 0 ||
        ::getsockname(listener_, Plain(any), &size) != 0) {
      throw std::runtime_error("A line cannot listen.");
    }
    port_ = ntohs(any.sin_port);
    acceptor_ = std::thread([this] { Accept(); });
  }
  ~Line() {
    over_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    Cut();
    for (std::thread& pump : pumps_) pump.join();
    for (const int end : ends_) ::close(end);
    ::close(listener_);
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  // From here on what the server answers to calls is lost, while the calls arrive.
  void LoseAnswers() { loses_ = true; }
  // Ends every connection. Those that are made from here on lose nothing.
  void Cut() {
    MutexLock lock(mutex_);
    for (const int end : ends_) ::shutdown(end, SHUT_RDWR);
    loses_ = false;
  }

 private:
  static sockaddr_in AddressOf(int port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    return address;
  }
  static sockaddr* Plain(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

  void Accept() {
    for (int client; (client = ::accept(listener_, nullptr, nullptr)) >= 0;) {
      sockaddr_in server = AddressOf(target_);
      const int there = ::socket(AF_INET, SOCK_STREAM, 0);
      MutexLock lock(mutex_);
      ends_.insert(ends_.end(), {client, there});
      if (over_ || ::connect(there, Plain(server), sizeof server) != 0) {
        ::shutdown(client, SHUT_RDWR);
        continue;
      }
      pumps_.emplace_back([this, client, there] { Pump(client, there, false); });
      pumps_.emplace_back([this, client, there] { Pump(there, client, true); });
    }
  }
  void Pump(int from, int to, bool is_answer) {
    char bytes[16384];
    std::string waiting;  // of answers: the beginning of a frame
    for (ssize_t count; (count = ::recv(from, bytes, sizeof bytes, 0)) > 0;) {
      waiting.append(bytes, static_cast<size_t>(count));
      Send(to, is_answer ? Frames(waiting) : std::exchange(waiting, ""));
    }
    ::shutdown(to, SHUT_RDWR);
  }
  static void Send(int to, const std::string& bytes) {
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t now = ::send(to, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (now <= 0) return;
      sent += static_cast<size_t>(now);
    }
  }
  // Takes the whole HTTP/2 frames out of `waiting`, and gives those that are to arrive: settings
  // and the like always do.
  std::string Frames(std::string& waiting) const {
    constexpr size_t kHeader = 9;
    std::string frames;
    while (waiting.size() >= kHeader) {
      const auto byte = [&](size_t at) { return static_cast<unsigned char>(waiting[at]); };
      const size_t size = kHeader + (size_t{byte(0)} << 16 | size_t{byte(1)} << 8 | byte(2));
      if (waiting.size() < size) break;
      const bool is_of_a_call = byte(3) <= 1;  // DATA, HEADERS
      if (!is_of_a_call || !loses_) frames.append(waiting, 0, size);
      waiting.erase(0, size);
    }
    return frames;
  }

  const int target_;
  const int listener_;
  int port_ = 0;
  std::atomic<bool> over_ = false;
  std::atomic<bool> loses_ = false;
  Mutex mutex_;
  std::vector<int> ends_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::thread> pumps_;  // the acceptor's until it has ended
  std::thread acceptor_;
};

}  // namespace muster::testing
