#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/access/scope.h"
#include "services/common/mutex.h"

// Who may do what, and where. Pure: no file, no call.
namespace muster::access {

// As muster.type.v1.Access.Verb.
enum class Verb { kRead, kWrite, kOperate, kReport, kSync, kDebug };
inline constexpr Verb kVerbs[] = {Verb::kRead,   Verb::kWrite, Verb::kOperate,
                                  Verb::kReport, Verb::kSync,  Verb::kDebug};
absl::string_view VerbName(Verb verb);  // `read`

// What a caller is; each role has its verbs.
enum class Role { kViewer, kEditor, kOperator, kAgent, kAdapter, kService, kAuditor };
inline constexpr Role kRoles[] = {Role::kViewer,  Role::kEditor,  Role::kOperator, Role::kAgent,
                                  Role::kAdapter, Role::kService, Role::kAuditor};
absl::string_view RoleName(Role role);  // `viewer`
const std::vector<Verb>& VerbsOf(Role role);

// What one caller may do: each verb with its scope.
class Rights {
 public:
  void Add(Role role, const Scope& scope);
  // All verbs, everywhere.
  static Rights All();
  // None, shared.
  static const std::shared_ptr<const Rights>& None();

  const Scope& Of(Verb verb) const { return scopes_[static_cast<size_t>(verb)]; }
  bool none() const;
  bool operator==(const Rights&) const = default;

 private:
  std::array<Scope, std::size(kVerbs)> scopes_ = {};
};

// "These callers have this role there."
struct Binding {
  Role role = Role::kViewer;
  // Names of callers (rpc::PrincipalOf); with `/*` at the end, all names that begin so.
  std::vector<std::string> principals = {};
  Scope scope = {};
};

// The names of callers in plain text from this machine, and of callers that show no certificate.
inline constexpr char kLocal[] = "local";
inline constexpr char kAnonymous[] = "anonymous";
// Stands before a token's subject in the name of its caller.
inline constexpr absl::string_view kTokenPrefix = "token/";
// The name of a process that calls its own services.
inline constexpr char kSelf[] = "self";

// A whole policy. Thread-safe; never changes.
class Policy {
 public:
  explicit Policy(std::vector<Binding> bindings, std::string hash = "");
  // Reads the text of a policy file (YAML; deploy/security.md). INVALID_ARGUMENT: every fault, with
  // its line where it has one.
  static absl::StatusOr<std::shared_ptr<const Policy>> Parse(absl::string_view yaml);
  // The policy of a server without a policy file: kLocal may do everything, and with `anonymous`
  // kAnonymous, too.
  static std::shared_ptr<const Policy> Open(bool anonymous);

  // Never null. Nobody is bound to kSelf, and it may do everything.
  std::shared_ptr<const Rights> RightsOf(absl::string_view principal) const;

  const std::vector<Binding>& bindings() const { return bindings_; }
  const std::string& hash() const { return hash_; }  // 12 hex digits of the text's SHA-256

 private:
  Rights Collect(absl::string_view principal) const;

  const std::vector<Binding> bindings_;
  const std::string hash_;
  std::multimap<std::string, size_t, std::less<>> by_name_;  // principal, `/*` included → binding
  mutable Mutex mutex_;
  // The rights of callers that were seen; bounded.
  mutable std::map<std::string, std::shared_ptr<const Rights>, std::less<>> known_
      MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::access
