#pragma once

#include <functional>
#include <memory>

namespace httplib {
struct Request;
struct Response;
}  // namespace httplib

namespace muster::testing {

// An HTTP server on a port of 127.0.0.1 that stays its own while nobody listens there. Each open
// connection has a thread. Thread-safe, but for Open and Close against each other.
class HttpListener {
 public:
  using Handler = std::function<void(const httplib::Request&, httplib::Response&)>;

  // Throws std::runtime_error without a free port. Open yet to be called.
  explicit HttpListener(Handler handler);
  ~HttpListener();
  HttpListener(const HttpListener&) = delete;
  HttpListener& operator=(const HttpListener&) = delete;

  int port() const { return port_; }
  void Open();
  // Cuts all connections and refuses new ones. Waits for the handlers: see that they return.
  void Close();

 private:
  struct Server;

  const Handler handler_;
  int reservation_ = -1;  // bound, never listening
  int port_ = 0;
  std::unique_ptr<Server> server_;
};

}  // namespace muster::testing
