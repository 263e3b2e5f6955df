#include "tests/hostile/api_server.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace muster::testing {
namespace {

constexpr size_t kBrackets = 200'000'000;
constexpr char kEmptyList[] =
    R"({"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":"1"},"items":[]})";
constexpr char kNotFound[] =
    R"({"apiVersion":"v1","kind":"Status","status":"Failure","reason":"NotFound","code":404})";

int Listen() {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in any = {};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  (void)bind(made, reinterpret_cast<sockaddr*>(&any), sizeof(any));
  (void)listen(made, 128);
  return made;
}

bool Send(int client, const std::string& bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t more = send(client, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (more <= 0) return false;
    sent += static_cast<size_t>(more);
  }
  return true;
}

bool Reply(int client, const std::string& code, const std::string& body) {
  return Send(client, absl::StrCat("HTTP/1.1 ", code,
                                   "\r\nContent-Type: application/json\r\nContent-Length: ",
                                   body.size(), "\r\n\r\n", body));
}

size_t BodySize(const std::string& head) {
  const size_t at = absl::AsciiStrToLower(head).find("content-length:");
  if (at == std::string::npos) return 0;
  return static_cast<size_t>(std::atoll(head.c_str() + at + 15));
}

}  // namespace

ApiServer::ApiServer(Malice malice)
    : malice_(malice), listener_(Listen()), accepting_([this] { Accept(); }) {}

ApiServer::~ApiServer() {
  stopped_ = true;
  shutdown(listener_, SHUT_RDWR);
  accepting_.join();
  std::vector<std::thread> serving;
  {
    MutexLock lock(mutex_);
    for (const int client : clients_) shutdown(client, SHUT_RDWR);
    serving.swap(serving_);
  }
  for (std::thread& each : serving) each.join();
  for (const int client : clients_) close(client);
  close(listener_);
}

std::string ApiServer::address() const {
  sockaddr_in bound = {};
  socklen_t size = sizeof(bound);
  getsockname(listener_, reinterpret_cast<sockaddr*>(&bound), &size);
  return absl::StrCat("127.0.0.1:", ntohs(bound.sin_port));
}

void ApiServer::Accept() {
  while (!stopped_) {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    MutexLock lock(mutex_);
    clients_.push_back(client);
    serving_.emplace_back([this, client] { Serve(client); });
  }
}

void ApiServer::Serve(int client) {
  std::string bytes;
  char some[16'384];
  while (!stopped_) {
    const size_t end = bytes.find("\r\n\r\n");
    if (end != std::string::npos) {
      const std::string head = bytes.substr(0, end);
      const size_t size = end + 4 + BodySize(head);
      if (bytes.size() >= size) {
        if (!Answer(client, head, bytes.substr(end + 4, size - end - 4))) break;
        bytes.erase(0, size);
        continue;
      }
    }
    const ssize_t more = recv(client, some, sizeof(some), 0);
    if (more <= 0) break;
    bytes.append(some, static_cast<size_t>(more));
  }
  shutdown(client, SHUT_RDWR);
}

bool ApiServer::Answer(int client, const std::string& head, const std::string& body) {
  const std::string line = head.substr(0, head.find("\r\n"));
  if (absl::StrContains(line, "/leases")) {
    MutexLock lock(mutex_);
    if (absl::StartsWith(line, "POST ") || absl::StartsWith(line, "PUT ")) lease_ = body;
    return lease_.empty() ? Reply(client, "404 Not Found", kNotFound)
                          : Reply(client, "200 OK", lease_);
  }
  if (!absl::StartsWith(line, "GET ")) return Reply(client, "200 OK", body);
  if (absl::StrContains(line, "/kube-system"))
    return Reply(client, "200 OK", R"({"metadata":{"name":"kube-system","uid":"hostile"}})");
  const bool watch = absl::StrContains(line, "watch=");
  if (watch != (malice_ == Malice::kEndlessLine)) {
    if (!watch) return Reply(client, "200 OK", kEmptyList);
    return Reply(client, "404 Not Found", kNotFound);
  }
  Attack(client);
  return false;
}

void ApiServer::Attack(int client) {
  ++attacked_;
  if (!Send(client,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: "
            "chunked\r\n\r\n"))
    return;
  const std::string piece(1 << 16, malice_ == Malice::kEndlessLine ? 'x' : '[');
  const std::string chunk = absl::StrFormat("%x\r\n%s\r\n", piece.size(), piece);
  size_t sent = 0;
  while (!stopped_ && (malice_ == Malice::kEndlessLine || sent < kBrackets)) {
    if (!Send(client, chunk)) return;
    sent += piece.size();
  }
  (void)Send(client, "0\r\n\r\n");
}

}  // namespace muster::testing
