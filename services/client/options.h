#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace grpc {
class ChannelCredentials;
}

namespace muster::client {

struct Options {
  // A gRPC target: `host:port`, `unix:path`, or `dns:///name:port`, all of whose addresses are
  // called in turn.
  std::string server = {};
  std::shared_ptr<grpc::ChannelCredentials> credentials =
      {};                                      // see credentials.h; null: plain text
  absl::Duration timeout = absl::Seconds(10);  // of each call, with its repetitions
  // The request_id of the first mutation that takes one, at most 64 bytes; the next ones get
  // `ID.2`, `ID.3`, ... If ID is too long for that, half of its SHA-256 stands for it there. Empty:
  // a random one.
  std::string request_id = {};
  // Why changes are made, for their history: printable ASCII; empty: not said.
  std::string reason = {};
  // Waits between a call and its repetition; null: sleeps. For tests.
  std::function<void(absl::Duration)> sleep = {};
};

// The request_id of the `number`th mutation, from 1, of a client with Options::request_id `id`;
// `order` not 0: of those of that order (Client::BeginOrder).
std::string NumberedId(const std::string& id, int order, int number);

// The options for the server of the context `name`; empty: of $MUSTER_CONTEXT, else of the current
// context. See contexts.h. INVALID_ARGUMENT: there is no such context, it names no server, or its
// files cannot be used.
absl::StatusOr<Options> OptionsFromContext(const std::string& name = "");

}  // namespace muster::client
