#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"

// Connections as no library makes them. Addresses are `127.0.0.1:port`.
namespace muster::testing {

// A TCP connection; -1 when there is none.
int Connect(const std::string& address);

// Connections that say `begun`, and no more.
class Idle {
 public:
  Idle(const std::string& address, int connections, const std::string& begun = "");
  ~Idle();
  Idle(const Idle&) = delete;
  Idle& operator=(const Idle&) = delete;

 private:
  std::vector<int> sockets_;
};

// What an HTTP server answers to `GET path`; empty when it does not within `patience`.
std::string HttpGet(const std::string& address, const std::string& path, absl::Duration patience);

}  // namespace muster::testing
