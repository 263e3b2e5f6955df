// Policy files.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "services/access/policy.h"
#include "services/common/error.h"
#include "services/common/resource_name.h"
#include "services/common/sha256.h"
#include "services/common/text_fault.h"

namespace muster::access {
namespace {

constexpr size_t kMaxBytes = 1 << 20;
constexpr size_t kMaxBindings = 10'000;
constexpr size_t kMaxFaults = 20;

bool IsClusterName(const std::string& name) {
  const auto parts = MatchName("organizations/*/clusters/*", name);
  return parts && IsDnsLabel((*parts)[0]) && IsDnsLabel((*parts)[1]);
}

// A caller's name: `local`, `anonymous`, `spiffe://DOMAIN/PATH`, `token/SUBJECT`; the last two
// perhaps with `/*` at their end.
bool IsPrincipal(absl::string_view name) {
  if (name == kLocal || name == kAnonymous) return true;
  if (absl::ConsumePrefix(&name, "spiffe://")) {
    const size_t slash = name.find('/');
    if (slash == 0 || slash == absl::string_view::npos || slash + 1 == name.size()) return false;
  } else if (!absl::StartsWith(name, kTokenPrefix) || name == kTokenPrefix) {
    return false;
  }
  const size_t star = name.find('*');
  return name.find(' ') == absl::string_view::npos &&
         (star == absl::string_view::npos || (star + 1 == name.size() && name[star - 1] == '/'));
}

std::optional<Role> RoleOf(absl::string_view name) {
  const auto* found = std::find_if(std::begin(kRoles), std::end(kRoles),
                                   [&](Role role) { return RoleName(role) == name; });
  if (found == std::end(kRoles)) return std::nullopt;
  return *found;
}

std::string AllRoles() {
  return absl::StrJoin(kRoles, ", ",
                       [](std::string* out, Role role) { absl::StrAppend(out, RoleName(role)); });
}

// Reads what is right, and keeps what is wrong.
class Reader {
 public:
  absl::StatusOr<std::vector<Binding>> Read(absl::string_view text) {
    std::vector<Binding> bindings;
    if (const auto fault = FindTextFault(text)) {
      return error::InvalidField("policy", absl::StrCat(fault->what, ". (line ", fault->line, ")"));
    }
    try {
      const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
      const YAML::Node root = documents.empty() ? YAML::Node() : documents[0];
      if (documents.size() > 1) {
        Fault(documents[1], "policy", "must be one document.");
      } else if (root.IsMap()) {
        CheckKeys(root, "policy", {"bindings"});
        ReadBindings(root["bindings"], bindings);
      } else {
        Fault(root, "policy", "must be a map with `bindings`.");
      }
    } catch (const YAML::Exception& e) {
      faults_.push_back(
          {"policy", absl::StrCat("is no YAML: line ", e.mark.line + 1, ": ", e.msg)});
    }
    if (!faults_.empty()) return error::InvalidFields(std::move(faults_));
    return bindings;
  }

 private:
  void Fault(const YAML::Node& at, absl::string_view field, absl::string_view description) {
    if (faults_.size() >= kMaxFaults) return;
    const int line = at.Mark().line;
    faults_.push_back(
        {std::string(field), line < 0 ? std::string(description)
                                      : absl::StrCat(description, " (line ", line + 1, ")")});
  }

  void CheckKeys(const YAML::Node& map, absl::string_view path,
                 const std::set<std::string>& allowed) {
    std::set<std::string> seen;
    for (const auto& entry : map) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (!allowed.contains(key)) {
        Fault(entry.first, path,
              absl::StrCat("has \"", key, "\"; allowed are ", absl::StrJoin(allowed, ", "), "."));
      } else if (!seen.insert(key).second) {
        Fault(entry.first, path, absl::StrCat("has \"", key, "\" twice."));
      }
    }
  }

  void ReadBindings(const YAML::Node& list, std::vector<Binding>& bindings) {
    if (!list || !list.IsSequence() || list.size() == 0 || list.size() > kMaxBindings)
      return Fault(list ? list : YAML::Node(), "bindings",
                   absl::StrCat("must be a list of 1 to ", kMaxBindings, "."));
    for (size_t i = 0; i < list.size(); ++i)
      bindings.push_back(ReadBinding(list[i], absl::StrCat("bindings[", i, "]")));
  }

  Binding ReadBinding(const YAML::Node& node, const std::string& path) {
    Binding binding;
    if (!node.IsMap()) {
      Fault(node, path, "must be a map.");
      return binding;
    }
    CheckKeys(node, path,
              {"role", "principals", "everywhere", "organizations", "clusters", "zones"});
    const std::string word = node["role"] && node["role"].IsScalar() ? node["role"].Scalar() : "";
    const std::optional<Role> role = RoleOf(word);
    if (!role)
      Fault(node, absl::StrCat(path, ".role"), absl::StrCat("must be one of ", AllRoles(), "."));
    binding.role = role.value_or(Role::kViewer);
    binding.principals = Strings(
        node, path, "principals", &IsPrincipal,
        "`local`, `anonymous`, `spiffe://DOMAIN/PATH` or `token/SUBJECT`, perhaps with `/*` at its "
        "end");
    if (binding.principals.empty())
      Fault(node, absl::StrCat(path, ".principals"), "must name at least one caller.");
    ReadScope(node, path, binding.scope);
    if (binding.role == Role::kAdapter && !binding.scope.empty() && !binding.scope.only_clusters())
      Fault(node, path, "is an adapter's: its scope is `clusters`, and nothing else.");
    return binding;
  }

  void ReadScope(const YAML::Node& node, const std::string& path, Scope& scope) {
    const size_t before = faults_.size();
    const YAML::Node everywhere = node["everywhere"];
    if (everywhere && !(everywhere.IsScalar() && everywhere.Scalar() == "true"))
      Fault(everywhere, absl::StrCat(path, ".everywhere"), "must be true, or left out.");
    for (const std::string& id : Strings(node, path, "organizations", &IsDnsLabel, "a DNS label"))
      scope.AddOrganization(id);
    for (const std::string& name : Strings(node, path, "clusters", &IsClusterName,
                                           "`organizations/{organization}/clusters/{cluster}`"))
      scope.AddCluster(name);
    for (const std::string& id : Strings(node, path, "zones", &IsZoneId, "a zone id"))
      scope.AddZone(id);
    if (everywhere) {
      if (!scope.empty())
        Fault(node, path, "is for `everywhere`, and for less: leave one of them out.");
      scope = Scope::Everywhere();
    } else if (scope.empty() && faults_.size() == before) {
      Fault(node, path,
            "says nowhere: it needs `organizations`, `clusters`, `zones` or `everywhere: true`.");
    }
  }

  std::vector<std::string> Strings(const YAML::Node& node, const std::string& path, const char* key,
                                   const std::function<bool(const std::string&)>& is_valid,
                                   absl::string_view shape) {
    std::vector<std::string> values;
    const YAML::Node list = node[key];
    if (!list) return values;
    const std::string field = absl::StrCat(path, ".", key);
    if (!list.IsSequence() || list.size() == 0) {
      Fault(list, field, "must be a list that is not empty.");
      return values;
    }
    for (const auto& item : list) {
      const std::string value = item.IsScalar() ? item.Scalar() : "";
      if (is_valid(value)) {
        values.push_back(value);
      } else {
        Fault(item, field, absl::StrCat("has \"", value, "\", which is not ", shape, "."));
      }
    }
    return values;
  }

  std::vector<error::FieldViolation> faults_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Policy>> Policy::Parse(absl::string_view yaml) {
  if (yaml.size() > kMaxBytes)
    return error::InvalidField("policy", absl::StrCat("is larger than ", kMaxBytes, " bytes."));
  absl::StatusOr<std::vector<Binding>> bindings = Reader().Read(yaml);
  if (!bindings.ok()) return bindings.status();
  return std::make_shared<const Policy>(*std::move(bindings), Sha256Hex(yaml).substr(0, 12));
}

}  // namespace muster::access
