#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace grpc {
class ChannelCredentials;
}

namespace muster::musterctl {

// Files in PEM; of all or none.
struct CredentialFiles {
  std::string authority = {};    // whose certificates servers show
  std::string certificate = {};  // ours
  std::string key = {};          // of it
};

// Null: none is given, and calls are in plain text. INVALID_ARGUMENT: one is missing or cannot be used.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ReadCredentials(
    const CredentialFiles& files);

}  // namespace muster::musterctl
