#pragma once

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "tests/kubernetes/api_server.h"

namespace muster::testing {

struct RawAnswer {
  int code = 0;
  std::string body = {};
  std::map<std::string, std::string> headers = {};  // by their names in lower case
  bool is_whole = false;                            // false: the connection broke
};

// Sends one request without kubernetes::Client, for what that hides or cannot do. `target`: path
// and query.
RawAnswer SendRaw(const ApiServer& server, absl::string_view method, absl::string_view target,
                  absl::string_view body = "", absl::string_view content_type = "application/json");

}  // namespace muster::testing
