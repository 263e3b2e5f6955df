#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/page/limits.h"
#include "services/page/live_board.h"
#include "services/page/questions.h"

struct mg_connection;
struct mg_context;

namespace muster::page {

// The page's HTTP listener: GET and HEAD only.
//   /, /app.js, ...          the page's files, which are part of the program
//   /events                  text/event-stream: `begin` with what stays as it is, `frame` (Board),
//                            `beat` with the time and the services' health
//   /api/pool?name=          Questions::Pool
//   /api/claim?uid=          Questions::Claim
//   /api/past?at=            Questions::Past, of milliseconds since 1970
// Requests with a Host that is not ours are refused, and those that a browser marks as made by
// another site. There is no authentication: whoever can reach the listener can read everything.
class PageListener {
 public:
  struct Options {
    std::string address = {};                  // `127.0.0.1:7605`; port 0 picks one
    std::set<std::string> hosts = {};          // host names to accept, besides addresses
    const LiveBoard* board = nullptr;          // must outlive it, as must what the functions use
    std::string begin = {};                    // JSON of the event `begin`
    std::function<std::string()> health = {};  // JSON
    std::function<Questions::Answer(const std::string& name)> pool = {};
    std::function<Questions::Answer(const std::string& uid)> claim = {};
    std::function<Questions::Answer(absl::Time then)> past = {};
    absl::Duration timeout = kHttpTimeout;  // of a client that sends, or takes, nothing
  };

  // UNAVAILABLE: the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<PageListener>> Create(Options options);
  // Ends every reader's stream.
  ~PageListener();

  int port() const;
  int readers() const { return readers_; }

 private:
  explicit PageListener(Options options);

  static int OnRequest(mg_connection* connection);
  // These answer a request and return the HTTP status.
  int Answer(mg_connection* connection);
  int Ask(mg_connection* connection, absl::string_view path, absl::string_view query, bool head);
  int AskPast(mg_connection* connection, absl::string_view query, bool head);
  int Stream(mg_connection* connection);
  void StreamTo(mg_connection* connection, const std::string& epoch, Place place);
  // Waits for kFrameInterval. False: the listener is stopping.
  bool Rest() const;

  const Options options_;
  std::atomic<int> readers_ = 0;
  std::atomic<int> questions_ = 0;
  std::atomic<int> pasts_ = 0;
  mutable Mutex mutex_;
  mutable CondVar wakes_;
  bool stopping_ MUSTER_GUARDED_BY(mutex_) = false;
  mg_context* context_ = nullptr;
};

}  // namespace muster::page
