#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/kubernetes/api/json.h"

namespace muster::kubernetes {

// Query parameters as they are meant; the client escapes them.
using Parameters = std::vector<std::pair<std::string, std::string>>;

// One request that ended, for metrics: a watch when its answer begins, all others when their answer
// is complete. `code` is the HTTP status, or 0 when there was no answer.
struct RequestEnd {
  absl::string_view method = {};  // GET, POST, ...
  int code = 0;
  absl::Duration duration = absl::ZeroDuration();
};

struct ClientOptions {
  std::string user_agent = "muster-kubernetes";
  absl::Duration connect_timeout = absl::Seconds(5);
  absl::Duration timeout = absl::Seconds(30);  // of one request; watches have none
  int max_connections = 8;                     // idle ones kept; more are opened when needed
  int list_chunk = 500;                        // objects a page; fewer where they are large
  // The most bytes of one answer. A page of 500 objects usually has a tenth of it. Parsed it takes
  // up to 16 times as much memory.
  size_t max_answer = size_t{64} << 20;
  // A watch on which nothing arrives for so long is dead. Bookmarks come about once a minute.
  absl::Duration watch_silence = absl::Seconds(150);
  // Asked just before a request is sent that may change something; false: it is not sent (ABORTED).
  std::function<bool()> may_write = {};
  std::function<void(const RequestEnd&)> on_request = {};  // must be thread-safe
};

}  // namespace muster::kubernetes
