#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace grpc {
class ChannelCredentials;
}

namespace muster::client {

// Files that prove who calls: a certificate with its key, or a token. All empty: calls are in plain
// text.
struct CredentialFiles {
  std::string authority = {};    // in PEM: whose certificates servers show
  std::string certificate = {};  // in PEM: ours
  std::string key = {};          // of it
  std::string token = {};  // a bearer token, which is read at each call: it may be another by then
};

// The credentials; null: no file is given. INVALID_ARGUMENT: one is missing or cannot be used;
// fields are named as in contexts.h.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ReadCredentials(
    const CredentialFiles& files);

}  // namespace muster::client
