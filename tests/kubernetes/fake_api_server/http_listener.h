#pragma once

#include <functional>
#include <memory>

namespace httplib {
struct Request;
struct Response;
}  // namespace httplib

namespace muster::testing {

// An HTTP server on a port of 127.0.0.1, which it keeps while it does not listen. Each open
// connection has a thread. Thread-safe, but Open and Close must not run at once.
class HttpListener {
 public:
  using Handler = std::function<void(const httplib::Request&, httplib::Response&)>;

  // Reserves a port; throws std::runtime_error if none is free. Listens from Open on.
  explicit HttpListener(Handler handler);
  ~HttpListener();
  HttpListener(const HttpListener&) = delete;
  HttpListener& operator=(const HttpListener&) = delete;

  int port() const { return port_; }
  void Open();
  // Cuts all connections and refuses new ones. Waits for the handlers, so they must be made to
  // return.
  void Close();

 private:
  struct Server;

  const Handler handler_;
  int reservation_ = -1;  // bound, never listening
  int port_ = 0;
  std::unique_ptr<Server> server_;
};

}  // namespace muster::testing
