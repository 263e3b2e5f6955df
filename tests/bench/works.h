#pragma once

#include <grpcpp/channel.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/bench/load.h"

namespace muster::bench {

// The calls that are measured, on a running server through the public API. Thread-safe.
class Works {
 public:
  // Two connections: more only cost, fewer are one HTTP/2 flow window.
  explicit Works(const std::string& target);
  ~Works();

  // A cluster with one NodePool of no Nodes, and a quota that is never reached.
  absl::Status SetUp();

  // Holds one Node or none, in turn, for a pool of the slot's own on one quota key.
  IssueCall HoldHot() const;
  // Does nothing on the server.
  IssueCall EmptyRpc() const;
  // Reads the one NodePool.
  IssueCall ReadPool() const;

 private:
  struct Stubs;
  const Stubs& StubsOf(int slot) const {
    return *stubs_[static_cast<size_t>(slot) % stubs_.size()];
  }

  std::vector<std::unique_ptr<Stubs>> stubs_;
  // Goes on from work to work and from run to run, so that no call is refused as old.
  mutable std::atomic<int64_t> generation_;
};

}  // namespace muster::bench
