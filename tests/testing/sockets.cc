#include "tests/testing/sockets.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace muster::testing {

int Connect(const std::string& address) {
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int port = 0;
  (void)absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port);
  to.sin_port = htons(static_cast<uint16_t>(port));
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // A listener that takes nobody must not stop whoever asks.
  const timeval patience = {1, 0};
  setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  if (connect(made, reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0) return made;
  close(made);
  return -1;
}

Idle::Idle(const std::string& address, int connections, const std::string& begun) {
  for (int i = 0; i < connections; ++i) {
    sockets_.push_back(Connect(address));
    if (!begun.empty()) (void)send(sockets_.back(), begun.data(), begun.size(), MSG_NOSIGNAL);
  }
}

Idle::~Idle() {
  for (const int each : sockets_) close(each);
}

std::string HttpGet(const std::string& address, const std::string& path, absl::Duration patience) {
  const int made = Connect(address);
  const timeval wait = absl::ToTimeval(patience);
  setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
  const std::string request =
      absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  (void)send(made, request.data(), request.size(), MSG_NOSIGNAL);
  std::string answer;
  char bytes[4096];
  for (ssize_t size; (size = recv(made, bytes, sizeof(bytes), 0)) > 0;)
    answer.append(bytes, static_cast<size_t>(size));
  close(made);
  return answer;
}

}  // namespace muster::testing
