#pragma once

#include <gtest/gtest.h>
#include <httplib.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "services/common/mutex.h"

namespace muster::kubernetes {

// A body that the test feeds while the server sends it. Thread-safe.
class Feed {
 public:
  void Push(absl::string_view bytes) { Add({std::string(bytes), Piece::kBytes}); }
  // The body ends as it should.
  void End() { Add({"", Piece::kEnd}); }
  // The connection is closed in the middle of the body.
  void Cut() { Add({"", Piece::kCut}); }

  bool Send(httplib::DataSink& sink) {
    const Piece piece = Take();
    if (piece.kind == Piece::kCut) return false;
    if (piece.kind == Piece::kEnd) {
      sink.done();
      return true;
    }
    return sink.write(piece.bytes.data(), piece.bytes.size());
  }

 private:
  struct Piece {
    std::string bytes = {};
    enum { kBytes, kEnd, kCut } kind = kBytes;
  };
  void Add(Piece piece) {
    MutexLock lock(mutex_);
    pieces_.push_back(std::move(piece));
    changed_.SignalAll();
  }
  Piece Take() {
    MutexLock lock(mutex_);
    while (pieces_.empty()) changed_.Wait(mutex_);
    Piece piece = std::move(pieces_.front());
    pieces_.pop_front();
    return piece;
  }

  Mutex mutex_;
  CondVar changed_;
  std::deque<Piece> pieces_ MUSTER_GUARDED_BY(mutex_);
};

// An HTTP server of this process that answers whatever the test wants. Declare it before its
// clients: their connections must be closed before it ends.
class TestServer {
 public:
  // Called by many threads.
  using Handler = std::function<void(TestServer&, const httplib::Request&, httplib::Response&)>;

  explicit TestServer(Handler handler,
                      std::unique_ptr<httplib::Server> server = std::make_unique<httplib::Server>())
      : handler_(std::move(handler)), server_(std::move(server)) {
    const auto handle = [this](const httplib::Request& request, httplib::Response& response) {
      Remember(request);
      handler_(*this, request, response);
    };
    server_->Get(".*", handle).Post(".*", handle).Put(".*", handle).Patch(".*", handle);
    server_->Delete(".*", httplib::Server::Handler(handle));
    server_->set_keep_alive_max_count(1000);
    server_->set_tcp_nodelay(true);  // or each answer waits 40 ms for an acknowledgement
    port_ = server_->bind_to_any_port("127.0.0.1");
    EXPECT_GT(port_, 0);
    thread_ = std::thread([this] { server_->listen_after_bind(); });
    while (!server_->is_running()) std::this_thread::yield();
  }
  ~TestServer() {
    {
      MutexLock lock(mutex_);
      for (const auto& feed : feeds_) feed->Cut();
    }
    server_->stop();
    thread_.join();
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  std::string host() const { return absl::StrCat("127.0.0.1:", port_); }
  std::string url() const { return absl::StrCat("http://", host()); }

  // All requests so far.
  std::vector<httplib::Request> requests() const {
    MutexLock lock(mutex_);
    return requests_;
  }
  // The answer's body is what the test feeds. It is cut at the end of the server at the latest.
  std::shared_ptr<Feed> SendFeed(httplib::Response& response) {
    auto feed = std::make_shared<Feed>();
    response.set_chunked_content_provider(
        "application/json", [feed](size_t, httplib::DataSink& sink) { return feed->Send(sink); });
    MutexLock lock(mutex_);
    feeds_.push_back(feed);
    return feed;
  }

 private:
  void Remember(const httplib::Request& request) {
    MutexLock lock(mutex_);
    requests_.push_back(request);
  }

  const Handler handler_;
  const std::unique_ptr<httplib::Server> server_;
  int port_ = 0;
  mutable Mutex mutex_;
  std::vector<httplib::Request> requests_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Feed>> feeds_ MUSTER_GUARDED_BY(mutex_);
  std::thread thread_;
};

inline void SendJson(httplib::Response& response, const std::string& body, int code = 200) {
  response.status = code;
  response.set_content(body, "application/json");
}

}  // namespace muster::kubernetes
