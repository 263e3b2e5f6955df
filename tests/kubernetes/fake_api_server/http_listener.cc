#include "tests/kubernetes/fake_api_server/http_listener.h"

#include <arpa/inet.h>
#include <httplib.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "services/common/mutex.h"

namespace muster::testing {
namespace {

constexpr size_t kConnections = 128;
constexpr int kBacklog = 256;
constexpr int kSocketTimeout = 30'000;  // milliseconds

void SharePort(int fd) {
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
}

bool WaitFor(int fd, short events, int timeout) {
  pollfd waiting{fd, events, 0};
  return poll(&waiting, 1, timeout) > 0;
}

// A connection, buffered: httplib reads headers byte by byte.
class Connection : public httplib::Stream {
 public:
  explicit Connection(int fd) : fd_(fd) {}

  bool is_readable() const override { return at_ < size_ || WaitFor(fd_, POLLIN, kSocketTimeout); }
  // Also false once the client is gone: an idle watch learns it from here.
  bool is_writable() const override {
    char byte = 0;
    const ssize_t size = recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    const bool is_gone = size == 0 || (size < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
    return !is_gone && WaitFor(fd_, POLLOUT, kSocketTimeout);
  }
  ssize_t read(char* out, size_t size) override {
    if (at_ == size_) {
      if (!WaitFor(fd_, POLLIN, kSocketTimeout)) return -1;
      const ssize_t received = recv(fd_, buffer_, sizeof(buffer_), 0);
      if (received <= 0) return received;
      at_ = 0;
      size_ = static_cast<size_t>(received);
    }
    const size_t count = std::min(size, size_ - at_);
    std::memcpy(out, buffer_ + at_, count);
    at_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* data, size_t size) override {
    size_t sent = 0;
    while (sent < size) {
      if (!WaitFor(fd_, POLLOUT, kSocketTimeout)) return -1;
      const ssize_t count = send(fd_, data + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0 && errno != EAGAIN) return -1;
      if (count > 0) sent += static_cast<size_t>(count);
    }
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip = "127.0.0.1";
    port = 0;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    get_remote_ip_and_port(ip, port);
  }
  socket_t socket() const override { return fd_; }
  // Without an end: the next request may be long in coming.
  bool AwaitRequest() const { return at_ < size_ || WaitFor(fd_, POLLIN, -1); }

 private:
  const int fd_;
  char buffer_[8192];
  size_t at_ = 0;
  size_t size_ = 0;
};

}  // namespace

// httplib's own loop polls idle connections a hundred times a second and waits for them when it
// stops; this one sleeps in poll and is woken by a shutdown of the socket.
struct HttpListener::Server : httplib::Server {
  bool process_and_close_socket(socket_t fd) override {
    if (Register(fd)) {
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      Connection connection(fd);
      bool is_closed = false;
      while (!is_closed && connection.AwaitRequest() &&
             process_request(connection, false, is_closed, nullptr)) {
      }
      Forget(fd);
    }
    // Programs that the test started meanwhile hold the socket too: a mere close would leave the
    // other side waiting.
    shutdown(fd, SHUT_RDWR);
    close(fd);
    return true;
  }
  void Widen() { ::listen(svr_sock_, kBacklog); }
  void CutAll() {
    const MutexLock lock(mutex);
    is_closing = true;
    for (const int fd : open) shutdown(fd, SHUT_RDWR);
  }
  bool Register(int fd) {
    const MutexLock lock(mutex);
    if (!is_closing) open.insert(fd);
    return !is_closing;
  }
  void Forget(int fd) {
    const MutexLock lock(mutex);
    open.erase(fd);
  }

  std::thread thread = {};
  Mutex mutex = {};
  bool is_closing MUSTER_GUARDED_BY(mutex) = false;
  std::set<int> open MUSTER_GUARDED_BY(mutex) = {};
};

HttpListener::HttpListener(Handler handler) : handler_(std::move(handler)) {
  reservation_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  SharePort(reservation_);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(reservation_, generic, size) != 0 || getsockname(reservation_, generic, &size) != 0)
    throw std::runtime_error("no free port");
  port_ = ntohs(address.sin_port);
}

HttpListener::~HttpListener() {
  Close();
  close(reservation_);
}

void HttpListener::Open() {
  if (server_ != nullptr) return;
  server_ = std::make_unique<Server>();
  server_->new_task_queue = [] { return new httplib::ThreadPool(kConnections); };
  server_->set_socket_options(SharePort);
  for (auto method : {&httplib::Server::Get, &httplib::Server::Options})
    ((*server_).*method)(".*", handler_);
  server_->Post(".*", handler_);
  server_->Put(".*", handler_);
  server_->Patch(".*", handler_);
  server_->Delete(".*", handler_);
  if (!server_->bind_to_port("127.0.0.1", port_)) throw std::runtime_error("cannot bind the port");
  server_->Widen();
  server_->thread = std::thread([server = server_.get()] { server->listen_after_bind(); });
  while (!server_->is_running()) std::this_thread::yield();
}

void HttpListener::Close() {
  if (server_ == nullptr) return;
  server_->stop();
  server_->CutAll();
  server_->thread.join();
  server_.reset();
}

}  // namespace muster::testing
