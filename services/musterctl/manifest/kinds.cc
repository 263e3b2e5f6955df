#include "services/musterctl/manifest/kinds.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "services/common/resource_name.h"

namespace muster::musterctl {
namespace {

struct Words {
  Kind kind = {};
  absl::string_view singular = {};
  absl::string_view plural = {};
  absl::string_view brief = {};
};

constexpr Words kWords[] = {
    {Kind::kNodePool, "nodepool", "nodepools", "np"},
    {Kind::kNode, "node", "nodes", "no"},
    {Kind::kEvent, "event", "events", "ev"},
    {Kind::kCluster, "cluster", "clusters", ""},
    {Kind::kHolding, "holding", "holdings", ""},
    {Kind::kQuota, "quota", "quotas", ""},
    {Kind::kZone, "zone", "zones", ""},
    {Kind::kInstanceType, "instancetype", "instancetypes", "it"},
    {Kind::kMachine, "machine", "machines", ""},
    {Kind::kClaim, "claim", "claims", ""},
    {Kind::kRelease, "release", "releases", ""},
    {Kind::kConfiguration, "configuration", "configurations", ""},
    {Kind::kNodeProfile, "profile", "profiles", ""},
};

}  // namespace

std::optional<Kind> ParseKind(absl::string_view word) {
  const std::string lower = absl::AsciiStrToLower(word);
  for (const Words& words : kWords) {
    if (!lower.empty() &&
        (lower == words.singular || lower == words.plural || lower == words.brief)) {
      return words.kind;
    }
  }
  return std::nullopt;
}

absl::string_view KindWord(Kind kind) { return kWords[static_cast<size_t>(kind)].singular; }

absl::string_view KindPlural(Kind kind) { return kWords[static_cast<size_t>(kind)].plural; }
absl::string_view KindBrief(Kind kind) { return kWords[static_cast<size_t>(kind)].brief; }

std::vector<std::string> AllKindWords() {
  std::vector<std::string> all;
  for (const Words& words : kWords) {
    for (const absl::string_view word : {words.plural, words.singular, words.brief}) {
      if (!word.empty()) all.emplace_back(word);
    }
  }
  return all;
}

const std::vector<Kind>& AllKinds() {
  static const auto& kinds = *new std::vector<Kind>([] {
    std::vector<Kind> all;
    for (const Words& words : kWords) all.push_back(words.kind);
    return all;
  }());
  return kinds;
}

std::string KindWords() {
  return absl::StrJoin(kWords, ", ", [](std::string* out, const Words& words) {
    absl::StrAppend(out, words.plural);
  });
}

const std::string& NameOf(const Item& item) {
  return std::visit([](const auto& resource) -> const std::string& { return resource.name(); },
                    item);
}

std::string IdOfName(Kind kind, absl::string_view name) {
  if (kind == Kind::kRelease) {
    if (const auto parts = MatchName("channels/*/components/*/releases/*", name))
      return absl::StrJoin(*parts, "~");
  }
  if (kind == Kind::kHolding) {
    if (const auto parts = MatchName("organizations/*/quotas/*/holdings/*", name))
      return absl::StrCat((*parts)[1], "/", (*parts)[2]);
  }
  return std::string(LastIdOf(name));
}

std::string ReleaseName(absl::string_view channel, absl::string_view component,
                        absl::string_view version) {
  return absl::StrCat("channels/", channel, "/components/", component, "/releases/", version);
}

std::optional<std::string> ReleaseName(absl::string_view id) {
  const std::vector<absl::string_view> parts = absl::StrSplit(id, '~');
  if (parts.size() != 3) return std::nullopt;
  return ReleaseName(parts[0], parts[1], parts[2]);
}

std::string IdOf(const Item& item) { return IdOfName(KindOf(item), NameOf(item)); }

}  // namespace muster::musterctl
