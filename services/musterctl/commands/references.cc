#include "services/musterctl/commands/references.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/common/edit_distance.h"
#include "services/common/resource_name.h"
#include "services/common/status_macros.h"
#include "services/musterctl/commands/wrong_use.h"

namespace muster::musterctl {
namespace {

constexpr std::pair<absl::string_view, Kind> kNames[] = {
    {"organizations/*/clusters/*/nodePools/*/nodes/*", Kind::kNode},
    {"organizations/*/clusters/*/nodePools/*", Kind::kNodePool},
    {"organizations/*/clusters/*/events/*", Kind::kEvent},
    {"organizations/*/clusters/*", Kind::kCluster},
    {"organizations/*/quotas/*/holdings/*", Kind::kHolding},
    {"organizations/*/quotas/*", Kind::kQuota},
    {"channels/*/components/*/releases/*", Kind::kRelease},
    {"poolConfigurations/*", Kind::kConfiguration},
    {"nodeProfiles/*", Kind::kNodeProfile}};

// A whole resource name; nullopt: it is none.
std::optional<ResourceId> WholeName(const std::string& word) {
  for (const auto& [pattern, kind] : kNames) {
    if (MatchName(pattern, word)) return ResourceId{kind, word};
  }
  return std::nullopt;
}

// `KIND/NAME` or a whole name.
absl::StatusOr<ResourceId> ReadSlashed(const std::string& word) {
  if (const auto whole = WholeName(word)) return *whole;
  const size_t slash = word.find('/');
  const std::string kind = word.substr(0, slash);
  const auto known = ParseKind(kind);
  if (!known) return UnknownKind(kind);
  const std::string name = word.substr(slash + 1);
  if (name.empty()) return WrongUse(absl::StrCat("\"", word, "\": must be KIND/NAME"));
  // After `nodepool/` a whole name may stand, too.
  if (const auto whole = WholeName(name)) {
    if (whole->kind == *known) return *whole;
    return WrongUse(absl::StrCat("\"", word, "\": that is no ", KindWord(*known)));
  }
  return ResourceId{*known, name};
}

absl::StatusOr<Asked> ReadAllSlashed(absl::Span<const std::string> words) {
  Asked asked;
  for (const std::string& word : words) {
    if (!absl::StrContains(word, "/")) {
      return WrongUse(
          absl::StrCat("\"", word, "\": beside KIND/NAME every argument must be KIND/NAME"));
    }
    ASSIGN_OR_RETURN(ResourceId id, ReadSlashed(word));
    if (std::find(asked.kinds.begin(), asked.kinds.end(), id.kind) == asked.kinds.end())
      asked.kinds.push_back(id.kind);
    asked.named.push_back(std::move(id));
  }
  return asked;
}

bool IsOneOf(Kind kind, absl::Span<const Kind> kinds) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

// As people say it: of a Node POOL/MACHINE.
std::string ShortId(Kind kind, const std::string& name) {
  if (kind == Kind::kNode) {
    if (const auto parts = MatchName("organizations/*/clusters/*/nodePools/*/nodes/*", name))
      return absl::StrCat((*parts)[2], "/", (*parts)[3]);
  }
  return IdOfName(kind, name);
}

}  // namespace

absl::Status UnknownKind(absl::string_view word) {
  const std::vector<std::string> words = AllKindWords();
  return WrongUse(absl::StrCat("unknown kind \"", word, "\"", DidYouMean(word, words),
                               "; known: ", KindWords()));
}

std::string DidYouMean(absl::string_view said, absl::Span<const std::string> words) {
  const std::string lower = absl::AsciiStrToLower(said);
  const size_t limit = lower.size() < 3 ? 0 : lower.size() < 6 ? 1 : 2;
  std::string best;
  size_t least = limit + 1;
  for (const std::string& word : words) {
    size_t distance = EditDistance(lower, word);
    // A beginning of the word.
    if (lower.size() >= 3 && absl::StartsWith(word, lower))
      distance = std::min<size_t>(distance, 1);
    if (distance < least) {
      least = distance;
      best = word;
    }
  }
  return best.empty() ? "" : absl::StrCat("; did you mean ", best, "?");
}

absl::StatusOr<Asked> ReadAsked(const std::string& command, absl::Span<const std::string> words) {
  if (words.empty()) return WrongUse(absl::StrCat(command, ": say what: ", KindWords()));
  if (absl::StrContains(words[0], "/")) return ReadAllSlashed(words);
  Asked asked;
  for (const absl::string_view word : absl::StrSplit(words[0], ',')) {
    const auto kind = ParseKind(word);
    if (!kind) return UnknownKind(word);
    asked.kinds.push_back(*kind);
  }
  if (words.size() > 1 && asked.kinds.size() > 1)
    return WrongUse(absl::StrCat(command, ": with several kinds no NAME; say KIND/NAME"));
  for (const std::string& word : words.subspan(1)) {
    if (word.empty()) return WrongUse(absl::StrCat(command, ": an empty NAME"));
    const auto whole = WholeName(word);
    const bool has_two_parts = asked.kinds[0] == Kind::kNode || asked.kinds[0] == Kind::kHolding;
    const bool doubled = absl::StrContains(word, "/") && !has_two_parts && !whole;
    if (doubled || (whole && whole->kind != asked.kinds[0])) {
      return WrongUse(absl::StrCat(command, ": \"", word, "\": either KIND NAME or KIND/NAME"));
    }
    asked.named.push_back({asked.kinds[0], word});
  }
  return asked;
}

absl::StatusOr<std::vector<ResourceId>> ReadNamed(absl::Span<const std::string> words,
                                                  absl::Span<const Kind> kinds,
                                                  const std::string& usage) {
  if (words.empty()) return WrongUse(usage);
  absl::StatusOr<Asked> read = ReadAsked(usage.substr(0, usage.find(':')), words);
  if (!read.ok()) return WrongUse(absl::StrCat(usage, "; ", read.status().message()));
  Asked& asked = *read;
  for (const Kind kind : asked.kinds) {
    if (!IsOneOf(kind, kinds)) return WrongUse(usage);
  }
  if (asked.named.empty()) return WrongUse(usage);
  return std::move(asked.named);
}

absl::StatusOr<ResourceId> ReadOne(absl::Span<const std::string> words,
                                   absl::Span<const Kind> kinds, const std::string& usage) {
  ASSIGN_OR_RETURN(std::vector<ResourceId> named, ReadNamed(words, kinds, usage));
  if (named.size() > 1) return WrongUse(absl::StrCat(usage, ", one only"));
  return std::move(named[0]);
}

absl::StatusOr<NodeName> SplitNodeName(const std::string& id, const std::string& usage) {
  const size_t whole = id.rfind("/nodes/");
  const size_t slash = id.find('/');
  NodeName name;
  if (whole != std::string::npos) {
    name = {id.substr(0, whole), id.substr(whole + 7)};
  } else if (slash != std::string::npos) {
    name = {id.substr(0, slash), id.substr(slash + 1)};
  }
  if (name.pool.empty() || name.machine.empty() || absl::StrContains(name.machine, "/"))
    return WrongUse(usage);
  return name;
}

std::string Label(const ResourceId& id) {
  const bool whole = WholeName(id.id).has_value();
  return absl::StrCat(KindWord(id.kind), "/", whole ? ShortId(id.kind, id.id) : id.id);
}

std::string WordsFor(const ResourceId& id) { return absl::StrCat(KindWord(id.kind), "/", id.id); }

bool IsInScope(Kind kind, const std::string& name, const Scope& scope) {
  if (kind > Kind::kQuota) return true;
  const std::string organization = absl::StrCat("organizations/", scope.organization, "/");
  if (kind > Kind::kEvent) return absl::StartsWith(name, organization);
  return absl::StartsWith(name, absl::StrCat(organization, "clusters/", scope.cluster, "/"));
}

std::string Label(Kind kind, const std::string& name, const Scope& scope) {
  return absl::StrCat(KindWord(kind), "/",
                      IsInScope(kind, name, scope) ? ShortId(kind, name) : name);
}

std::string Label(const Item& item, const Scope& scope) {
  return Label(KindOf(item), NameOf(item), scope);
}

}  // namespace muster::musterctl
