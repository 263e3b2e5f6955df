#include "services/access/scope.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/resource_name.h"
#include "services/common/sha256.h"

namespace muster::access {
namespace {

constexpr absl::string_view kOrganizations = "organizations/";

// The first `parts` parts of a name: all of it when it has no more.
absl::string_view Front(absl::string_view name, int parts) {
  size_t end = 0;
  for (int i = 0; i < parts; ++i) {
    end = name.find('/', i == 0 ? 0 : end + 1);
    if (end == absl::string_view::npos) return name;
  }
  return name.substr(0, end);
}

void Describe(absl::string_view what, const std::set<std::string, std::less<>>& ids,
              std::vector<std::string>& parts) {
  if (!ids.empty()) parts.push_back(absl::StrCat(what, " ", absl::StrJoin(ids, ", ")));
}

}  // namespace

void Scope::Add(const Scope& other) {
  everywhere_ = everywhere_ || other.everywhere_;
  organizations_.insert(other.organizations_.begin(), other.organizations_.end());
  clusters_.insert(other.clusters_.begin(), other.clusters_.end());
  zones_.insert(other.zones_.begin(), other.zones_.end());
}

bool Scope::Covers(absl::string_view name, absl::string_view zone) const {
  if (everywhere_) return true;
  if (!zone.empty() && zones_.contains(zone)) return true;
  if (name.substr(0, kOrganizations.size()) != kOrganizations) return false;
  return organizations_.contains(Front(name, 2).substr(kOrganizations.size())) ||
         clusters_.contains(Front(name, 4));
}

std::optional<std::string> Scope::Narrowed(absl::string_view prefix) const {
  // Names do not tell what is in a zone.
  if (everywhere_ || !zones_.empty()) return std::string(prefix);
  std::vector<std::string> own(clusters_.begin(), clusters_.end());
  for (const std::string& id : organizations_) own.push_back(absl::StrCat(kOrganizations, id, "/"));
  if (std::any_of(own.begin(), own.end(),
                  [&](const std::string& all) { return IsUnder(prefix, all); })) {
    return std::string(prefix);
  }
  std::erase_if(own, [&](const std::string& part) { return !IsUnder(part, prefix); });
  if (own.empty()) return std::nullopt;
  return own.size() == 1 ? own.front() : std::string(prefix);
}

std::string Scope::OnlyOrganization() const {
  if (everywhere_ || !zones_.empty()) return "";
  std::set<std::string> owners;
  for (const std::string& id : organizations_) owners.insert(absl::StrCat(kOrganizations, id));
  for (const std::string& name : clusters_) owners.emplace(Front(name, 2));
  return owners.size() == 1 ? *owners.begin() : "";
}

std::string Scope::ToString() const {
  if (everywhere_) return "everywhere";
  std::vector<std::string> parts;
  Describe("organizations", organizations_, parts);
  Describe("clusters", clusters_, parts);
  Describe("zones", zones_, parts);
  return parts.empty() ? "nowhere" : absl::StrJoin(parts, "; ");
}

std::string ViewOf(const Scope* narrowed_to) {
  return narrowed_to == nullptr ? "all" : Sha256Hex(narrowed_to->ToString()).substr(0, 16);
}

}  // namespace muster::access
