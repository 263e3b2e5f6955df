#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"

// Plain TCP connections, for what no client library does. Addresses are `127.0.0.1:port`.
namespace muster::testing {

// Opens a connection, within about a second, and returns its socket, which the caller closes; -1:
// there is none.
int Connect(const std::string& address);

// Connections that each send `begun` and nothing more. Open until the destructor.
class Idle {
 public:
  Idle(const std::string& address, int connections, const std::string& begun = "");
  ~Idle();
  Idle(const Idle&) = delete;
  Idle& operator=(const Idle&) = delete;

 private:
  std::vector<int> sockets_;
};

// An HTTP server's whole answer, with its headers, to `GET path`; empty: none began within
// `patience`. An answer that pauses for longer than that is cut off there.
std::string HttpGet(const std::string& address, const std::string& path, absl::Duration patience);

}  // namespace muster::testing
