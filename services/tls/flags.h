#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/tls/certificate_files.h"

// --tls_cert_file, --tls_key_file, --tls_ca_file and --trust_domain, the same for every program.
namespace muster::tls {

// The files that the flags name; nullopt: none is given, and calls are in plain text.
// INVALID_ARGUMENT: only some are given, or the trust domain is invalid.
absl::StatusOr<std::optional<Files>> FilesFromFlags(Use use);
// The same for the flags' values.
absl::StatusOr<std::optional<Files>> CheckFiles(Files files);

// Whether only this machine can reach a listener at `address` (`host:port`, `unix:path`).
bool IsLocal(absl::string_view address);

}  // namespace muster::tls
