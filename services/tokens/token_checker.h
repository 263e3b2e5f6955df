#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/clock.h"
#include "services/common/mutex.h"
#include "services/common/watched_file.h"
#include "services/tokens/key_set.h"

namespace muster::tokens {

// Which tokens are taken. All are required.
struct Options {
  std::string keys_file = {};                // a JWK Set; looked at every second (WatchedFile)
  std::string issuer = {};                   // of the claim `iss`
  std::string audience = {};                 // among those of the claim `aud`
  std::vector<std::string> algorithms = {};  // of kAlgorithms

  bool operator==(const Options&) const = default;
};

// The algorithms that may be allowed: those with a key pair, none with a shared secret.
inline constexpr absl::string_view kAlgorithms[] = {"RS256", "RS384", "RS512",
                                                    "ES256", "ES384", "ES512"};

// A token whose signature was found good.
struct KnownToken {
  std::string principal = {};
  absl::Time from = absl::InfinitePast();
  absl::Time until = absl::InfiniteFuture();
};

// Checks bearer tokens (JSON Web Tokens of one issuer), and tells which caller they name.
// Thread-safe.
class TokenChecker {
 public:
  // INVALID_ARGUMENT (field: the flag): the file cannot be used.
  static absl::StatusOr<std::unique_ptr<TokenChecker>> Create(Options options, const Clock* clock);

  // The caller that a header `Bearer TOKEN` names: `token/SUBJECT`, from the claim `sub`.
  // UNAUTHENTICATED (TOKEN_REFUSED): why not.
  absl::StatusOr<std::string> PrincipalOf(absl::string_view header);
  // The same, but only for a token that is remembered: no signature is checked and nothing counted.
  absl::StatusOr<std::string> KnownPrincipalOf(absl::string_view header);

  struct Stats {
    FileReloads keys = {};
    int64_t refused = 0;   // tokens
    int64_t verified = 0;  // signatures: of a token that was good, once while it is remembered
  };
  Stats stats() const;
  // Looks at the keys now. INVALID_ARGUMENT: they cannot be used, and the last stay.
  absl::Status Reload() { return keys_->Reload(); }

 private:
  TokenChecker(Options options, const Clock* clock)
      : options_(std::move(options)), clock_(*clock) {}

  absl::StatusOr<std::string> Check(absl::string_view header, bool verifies);
  // Checks all that does not depend on the time.
  absl::StatusOr<KnownToken> Verify(absl::string_view token, const KeySet& keys) const;
  // What is remembered of the token, checked with these keys; if nothing is and `verifies`,
  // verifies it now.
  absl::StatusOr<KnownToken> Find(absl::string_view token,
                                  const std::shared_ptr<const KeySet>& keys, bool verifies);

  const Options options_;
  const Clock& clock_;
  std::unique_ptr<WatchedFile<KeySet>> keys_;
  std::atomic<int64_t> refused_ = 0;
  std::atomic<int64_t> verified_ = 0;
  Mutex mutex_;
  std::shared_ptr<const KeySet> known_by_ MUSTER_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, KnownToken> known_
      MUSTER_GUARDED_BY(mutex_);  // by their SHA-256
};

}  // namespace muster::tokens
