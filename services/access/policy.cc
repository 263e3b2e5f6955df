#include "services/access/policy.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::access {
namespace {

// Most callers whose rights are kept; those of others are worked out at every call.
constexpr size_t kMaxKnown = 10'000;

struct RoleVerbs {
  absl::string_view name;
  std::vector<Verb> verbs;
};

const RoleVerbs& Of(Role role) {
  static const auto& all = *new std::array<RoleVerbs, std::size(kRoles)>{{
      {"viewer", {Verb::kRead}},
      {"editor", {Verb::kRead, Verb::kWrite}},
      {"operator", {Verb::kRead, Verb::kWrite, Verb::kOperate, Verb::kDebug}},
      {"agent", {Verb::kRead, Verb::kReport}},
      {"adapter", {Verb::kRead, Verb::kWrite, Verb::kReport, Verb::kSync}},
      {"service", {Verb::kRead, Verb::kSync}},
      {"auditor", {Verb::kRead}},
  }};
  return all[static_cast<size_t>(role)];
}

}  // namespace

absl::string_view VerbName(Verb verb) {
  constexpr absl::string_view kNames[] = {"read", "write", "operate", "report", "sync", "debug"};
  return kNames[static_cast<size_t>(verb)];
}

absl::string_view RoleName(Role role) { return Of(role).name; }
const std::vector<Verb>& VerbsOf(Role role) { return Of(role).verbs; }

void Rights::Add(Role role, const Scope& scope) {
  for (const Verb verb : VerbsOf(role)) scopes_[static_cast<size_t>(verb)].Add(scope);
}

Rights Rights::All() {
  Rights all;
  all.scopes_.fill(Scope::Everywhere());
  return all;
}

const std::shared_ptr<const Rights>& Rights::None() {
  static const auto& none = *new std::shared_ptr<const Rights>(new Rights());
  return none;
}

bool Rights::none() const {
  return std::all_of(scopes_.begin(), scopes_.end(),
                     [](const Scope& scope) { return scope.empty(); });
}

Policy::Policy(std::vector<Binding> bindings, std::string hash)
    : bindings_(std::move(bindings)), hash_(std::move(hash)) {
  for (size_t i = 0; i < bindings_.size(); ++i) {
    for (const std::string& principal : bindings_[i].principals) by_name_.emplace(principal, i);
  }
}

std::shared_ptr<const Policy> Policy::Open(bool anonymous) {
  Binding all{.principals = {kLocal}, .scope = Scope::Everywhere()};
  if (anonymous) all.principals.push_back(kAnonymous);
  std::vector<Binding> bindings;
  for (const Role role : kRoles) {
    all.role = role;
    bindings.push_back(all);
  }
  return std::make_shared<const Policy>(std::move(bindings));
}

std::shared_ptr<const Rights> Policy::RightsOf(absl::string_view principal) const {
  MutexLock lock(mutex_);
  const auto found = known_.find(principal);
  if (found != known_.end()) return found->second;
  auto rights = std::make_shared<const Rights>(Collect(principal));
  if (known_.size() < kMaxKnown) known_.emplace(principal, rights);
  return rights;
}

Rights Policy::Collect(absl::string_view principal) const {
  if (principal == kSelf) return Rights::All();
  Rights rights;
  const auto add = [&](absl::string_view name) {
    for (auto [it, end] = by_name_.equal_range(name); it != end; ++it) {
      const Binding& binding = bindings_[it->second];
      rights.Add(binding.role, binding.scope);
    }
  };
  add(principal);
  for (size_t at = principal.find('/'); at != absl::string_view::npos;
       at = principal.find('/', at + 1))
    add(absl::StrCat(principal.substr(0, at + 1), "*"));
  return rights;
}

}  // namespace muster::access
