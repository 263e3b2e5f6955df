#include "services/tokens/token_checker.h"

#include <jwt.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/access/policy.h"
#include "services/common/error.h"
#include "services/common/sha256.h"
#include "services/common/status_macros.h"
#include "services/tokens/json_fields.h"

namespace muster::tokens {
namespace {

constexpr char kFlag[] = "--token_keys_file";
constexpr size_t kMaxTokenBytes = 8 << 10;
constexpr size_t kMaxSubjectBytes = 253;
// Most tokens that are remembered, so that their signature is checked once and not at each call.
constexpr size_t kMaxKnown = 10'000;
// How much the clocks of two machines may differ.
constexpr absl::Duration kLeeway = absl::Seconds(30);

absl::Status Refused(absl::string_view why) {
  return error::Make(absl::StatusCode::kUnauthenticated,
                     absl::StrCat("The bearer token is not taken: ", why),
                     {.reason = "TOKEN_REFUSED"});
}

absl::StatusOr<std::shared_ptr<const KeySet>> ParseKeys(const std::string& path,
                                                        const std::optional<std::string>& text) {
  if (!text) return error::InvalidField(kFlag, absl::StrCat(path, " cannot be read."));
  absl::StatusOr<KeySet> keys = KeySet::Parse(*text);
  if (keys.ok()) return std::make_shared<const KeySet>(*std::move(keys));
  const auto detail = error::DetailOf(keys.status());
  const auto& fault = detail->fields[0];
  return error::InvalidField(kFlag, absl::StrCat(path, ": ", fault.field, " ", fault.description));
}

// The object in a part of a token; discarded: it is none.
nlohmann::json ObjectIn(absl::string_view part) {
  std::string text;
  if (!absl::WebSafeBase64Unescape(part, &text)) return nlohmann::json::value_t::discarded;
  auto object = nlohmann::json::parse(text, nullptr, false);
  return object.is_object() ? object : nlohmann::json(nlohmann::json::value_t::discarded);
}

// The NumericDate in a field; nullopt: there is none, or it is invalid.
std::optional<absl::Time> TimeOf(const nlohmann::json& object, const char* field) {
  const auto found = object.find(field);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const double seconds = found->get<double>();
  // Years 1970 to 9999.
  if (!(seconds >= 0 && seconds <= 253'402'300'799)) return std::nullopt;
  return absl::UnixEpoch() + absl::Seconds(seconds);
}

// Whether a part is in canonical base64url. Otherwise the same signature could be written in
// another way: as another token, just as valid.
bool IsCanonical(absl::string_view part) {
  std::string bytes;
  return absl::WebSafeBase64Unescape(part, &bytes) && absl::WebSafeBase64Escape(bytes) == part;
}

bool Fits(absl::string_view algorithm, KeyType type) {
  if (absl::StartsWith(algorithm, "RS")) return type == KeyType::kRsa;
  return (algorithm == "ES256" && type == KeyType::kP256) ||
         (algorithm == "ES384" && type == KeyType::kP384) ||
         (algorithm == "ES512" && type == KeyType::kP521);
}

bool IsSigned(const std::string& token, const std::string& algorithm, const PublicKey& key) {
  jwt_t* read = nullptr;
  const int failed =
      jwt_decode(&read, token.c_str(), reinterpret_cast<const unsigned char*>(key.pem.data()),
                 static_cast<int>(key.pem.size()));
  // Without memory for a copy of the key libjwt says that all is well, and has checked nothing.
  const bool checked = failed == 0 && jwt_get_alg(read) == jwt_str_alg(algorithm.c_str());
  jwt_free(read);
  return checked;
}

bool IsFor(const nlohmann::json& claims, const std::string& audience) {
  const auto found = claims.find("aud");
  if (found == claims.end()) return false;
  if (found->is_string()) return *found == audience;
  return found->is_array() && std::find(found->begin(), found->end(), audience) != found->end();
}

bool IsSubject(const std::string& subject) {
  return !subject.empty() && subject.size() <= kMaxSubjectBytes &&
         std::all_of(subject.begin(), subject.end(),
                     [](unsigned char c) { return absl::ascii_isgraph(c) && c != '*'; });
}

// Checks the claims of a token whose signature is good.
absl::StatusOr<KnownToken> ReadClaims(const nlohmann::json& claims, const Options& options) {
  if (StringIn(claims, "iss") != options.issuer)
    return Refused("its issuer (`iss`) is not --token_issuer.");
  if (!IsFor(claims, options.audience))
    return Refused("--token_audience is not of its audience (`aud`).");
  const std::string subject = StringIn(claims, "sub");
  if (!IsSubject(subject)) {
    return Refused(absl::StrCat("its subject (`sub`) must be 1 to ", kMaxSubjectBytes,
                                " printable characters without `*`."));
  }
  const std::optional<absl::Time> until = TimeOf(claims, "exp");
  if (!until) return Refused("it does not say when it expires (`exp`).");
  KnownToken known{.principal = absl::StrCat(access::kTokenPrefix, subject), .until = *until};
  if (claims.contains("nbf")) {
    const std::optional<absl::Time> from = TimeOf(claims, "nbf");
    if (!from) return Refused("`nbf` is no time.");
    known.from = *from;
  }
  return known;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TokenChecker>> TokenChecker::Create(Options options,
                                                                   const Clock* clock) {
  std::unique_ptr<TokenChecker> made(new TokenChecker(std::move(options), clock));
  const std::string& path = made->options_.keys_file;
  ASSIGN_OR_RETURN(made->keys_,
                   WatchedFile<KeySet>::Create(
                       {.path = path,
                        .what = "set of token keys",
                        .parse = [path](const auto& text) { return ParseKeys(path, text); },
                        .name = [](const KeySet& keys) { return keys.Ids(); }}));
  return made;
}

absl::StatusOr<std::string> TokenChecker::PrincipalOf(absl::string_view header) {
  absl::StatusOr<std::string> principal = Check(header, true);
  if (!principal.ok()) refused_.fetch_add(1, std::memory_order_relaxed);
  return principal;
}

absl::StatusOr<std::string> TokenChecker::KnownPrincipalOf(absl::string_view header) {
  return Check(header, false);
}

absl::StatusOr<std::string> TokenChecker::Check(absl::string_view header, bool verifies) {
  constexpr absl::string_view kScheme = "bearer ";
  if (!absl::StartsWithIgnoreCase(header, kScheme))
    return Refused("the header `authorization` must be `Bearer TOKEN`.");
  const absl::string_view token = absl::StripAsciiWhitespace(header.substr(kScheme.size()));
  if (token.size() > kMaxTokenBytes)
    return Refused(absl::StrCat("it must have ", kMaxTokenBytes, " bytes at most."));
  ASSIGN_OR_RETURN(KnownToken known, Find(token, keys_->current(), verifies));
  const absl::Time now = clock_.Now();
  if (now >= known.until + kLeeway) return Refused("it has expired (`exp`).");
  if (now < known.from - kLeeway) return Refused("it does not hold yet (`nbf`).");
  return std::move(known.principal);
}

absl::StatusOr<KnownToken> TokenChecker::Find(absl::string_view token,
                                              const std::shared_ptr<const KeySet>& keys,
                                              bool verifies) {
  // Secrets are not kept.
  const std::string name = Sha256Hex(token);
  {
    MutexLock lock(mutex_);
    // What other keys said does not count.
    if (known_by_ != keys || known_.size() >= kMaxKnown) known_.clear();
    known_by_ = keys;
    const auto found = known_.find(name);
    if (found != known_.end()) return found->second;
  }
  if (!verifies) return Refused("its signature was not checked.");
  verified_.fetch_add(1, std::memory_order_relaxed);
  ASSIGN_OR_RETURN(KnownToken known, Verify(token, *keys));
  MutexLock lock(mutex_);
  if (known_by_ == keys) known_[name] = known;
  return known;
}

absl::StatusOr<KnownToken> TokenChecker::Verify(absl::string_view token, const KeySet& keys) const {
  const std::vector<std::string> parts = absl::StrSplit(token, '.');
  const nlohmann::json header =
      parts.size() == 3 ? ObjectIn(parts[0]) : nlohmann::json(nlohmann::json::value_t::discarded);
  const nlohmann::json claims = header.is_discarded() ? header : ObjectIn(parts[1]);
  if (claims.is_discarded() || !IsCanonical(parts[2])) return Refused("it is no JSON Web Token.");
  if (header.contains("typ") && !absl::EqualsIgnoreCase(StringIn(header, "typ"), "JWT"))
    return Refused("its type (`typ`) must be JWT, or not said.");
  if (header.contains("crit")) return Refused("it asks for what is not known here (`crit`).");
  const std::string algorithm = StringIn(header, "alg");
  const auto& allowed = options_.algorithms;
  if (std::find(allowed.begin(), allowed.end(), algorithm) == allowed.end())
    return Refused("its algorithm (`alg`) is not one of --token_algorithms.");
  const PublicKey* key = keys.Find(StringIn(header, "kid"));
  if (key == nullptr) return Refused("its key (`kid`) is not one of --token_keys_file.");
  if (!Fits(algorithm, key->type)) return Refused("its key is not for its algorithm (`alg`).");
  if (!IsSigned(std::string(token), algorithm, *key)) return Refused("its signature is wrong.");
  return ReadClaims(claims, options_);
}

TokenChecker::Stats TokenChecker::stats() const {
  return {.keys = keys_->reloads(), .refused = refused_, .verified = verified_};
}

}  // namespace muster::tokens
