#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/commands/for_each.h"
#include "services/musterctl/commands/references.h"

namespace muster::musterctl {
namespace {

// The resource name of `CHANNEL~COMPONENT~VERSION`; a resource name stays as it is.
absl::StatusOr<std::string> NameOfRelease(const std::string& id) {
  if (absl::StrContains(id, "/")) return id;
  if (std::optional<std::string> name = ReleaseName(id)) return *std::move(name);
  return WrongUse(absl::StrCat("\"", id, "\": must be CHANNEL~COMPONENT~VERSION"));
}

using ReleaseCall = absl::StatusOr<CellNames> (Api::*)(const std::string&, bool);

// For each release of the command line; `done`: what it is then.
absl::Status ForEachRelease(Session& session, ReleaseCall call, absl::string_view done) {
  const bool dry_run = session.line.Has("dry-run");
  ASSIGN_OR_RETURN(
      const std::vector<ResourceId> ids,
      ReadNamed(session.line.arguments, {Kind::kRelease},
                absl::StrCat(session.line.command, ": release CHANNEL~COMPONENT~VERSION")));
  for (const ResourceId& id : ids) RETURN_IF_ERROR(NameOfRelease(id.id).status());
  const auto change_one = [&](const ResourceId& id) -> absl::Status {
    ASSIGN_OR_RETURN(const std::string name, NameOfRelease(id.id));
    ASSIGN_OR_RETURN(const CellNames cells, (session.api.*call)(name, dry_run));
    session.env.out << "release/" << IdOfName(Kind::kRelease, name)
                    << (dry_run ? " would be " : " ") << done << (cells.empty() ? "" : " in ")
                    << absl::StrJoin(cells, ", ") << "\n";
    return absl::OkStatus();
  };
  return ForEach(session, ids, change_one);
}

// The arguments of an order: NodePools, by name or by their configurations, and the word that may
// follow them.
struct Ordered {
  std::vector<ResourceId> ids = {};
  std::vector<std::string> others = {};
};

// Whether a word after the first NodePool names another one: `nodepool/NAME`, `configuration/UID`
// or a whole name, not `profile/PROFILE`.
bool NamesPool(const std::string& word) {
  return absl::StrContains(word, "/") && !absl::StartsWith(word, "profile/");
}

absl::StatusOr<Ordered> ReadOrdered(absl::Span<const std::string> words, const std::string& usage) {
  if (words.empty()) return WrongUse(usage);
  const bool slashed = absl::StrContains(words[0], "/");
  const bool by_kind = !slashed && ParseKind(words[0]) == Kind::kNodePool;
  if (by_kind && words.size() < 2) return WrongUse(usage);
  Ordered ordered;
  size_t taken = by_kind ? 2 : 1;
  while (slashed && taken < words.size() && NamesPool(words[taken])) ++taken;
  if (slashed || by_kind) {
    ASSIGN_OR_RETURN(ordered.ids,
                     ReadNamed(words.first(taken), {Kind::kNodePool, Kind::kConfiguration}, usage));
  } else {
    ordered.ids = {{Kind::kConfiguration, words[0]}};
  }
  for (const std::string& word : words.subspan(taken)) {
    ordered.others.emplace_back(absl::StripPrefix(word, "profile/"));
    // As from a variable that is not set: without a word, another profile is meant.
    if (ordered.others.back().empty()) return WrongUse(absl::StrCat(usage, "; PROFILE is empty"));
  }
  return ordered;
}

absl::StatusOr<std::string> UidOf(Session& session, const ResourceId& id) {
  if (id.kind == Kind::kConfiguration)
    return std::string(absl::StripPrefix(id.id, "poolConfigurations/"));
  ASSIGN_OR_RETURN(const lifecycle::v1::NodePool pool, session.api.GetNodePool(id.id));
  return pool.uid();
}

using OrderCall = absl::StatusOr<configuration::v1::PoolConfiguration> (Api::*)(const std::string&,
                                                                                const std::string&,
                                                                                bool);
// What is told of it, behind its label.
using OrderText = absl::FunctionRef<std::string(const configuration::v1::PoolConfiguration&)>;

// Gives each NodePool the order, with `profile`.
absl::Status GiveOrders(Session& session, OrderCall call, const std::vector<ResourceId>& ids,
                        const std::string& profile, OrderText says) {
  const auto order_one = [&](const ResourceId& id) -> absl::Status {
    ASSIGN_OR_RETURN(const std::string uid, UidOf(session, id));
    ASSIGN_OR_RETURN(const configuration::v1::PoolConfiguration pool,
                     (session.api.*call)(uid, profile, session.line.Has("dry-run")));
    session.env.out << Label(id) << says(pool) << "\n";
    return absl::OkStatus();
  };
  return ForEach(session, ids, order_one);
}

// Moves NodePools, named by uid or name, to another configuration (promote, rollback).
absl::Status MoveTo(Session& session, OrderCall call) {
  const std::string usage =
      absl::StrCat(session.line.command, ": POOL_UID [PROFILE] or nodepool NAME [PROFILE]");
  ASSIGN_OR_RETURN(const Ordered ordered, ReadOrdered(session.line.arguments, usage));
  if (ordered.others.size() > 1) return WrongUse(usage);
  return GiveOrders(session, call, ordered.ids, ordered.others.empty() ? "" : ordered.others[0],
                    [&](const configuration::v1::PoolConfiguration& pool) {
                      return absl::StrCat(" ", ReachedBy(pool, session.line.Has("dry-run")));
                    });
}

}  // namespace

std::string ReachedBy(const configuration::v1::PoolConfiguration& configuration, bool dry_run) {
  if (!configuration.has_waiting())
    return absl::StrCat(dry_run ? "would be at " : "is at ", configuration.active());
  return absl::StrCat(dry_run ? "would be at " : "will be at ",
                      configuration.waiting().node_profile(), " once no Node is in delivery");
}

absl::Status Publish(Session& session) {
  return ForEachRelease(session, &Api::PublishRelease, "published");
}

absl::Status Withdraw(Session& session) {
  return ForEachRelease(session, &Api::WithdrawRelease, "withdrawn");
}

absl::Status Promote(Session& session) { return MoveTo(session, &Api::Promote); }

absl::Status Rollback(Session& session) { return MoveTo(session, &Api::Rollback); }

absl::Status Enable(Session& session) {
  const std::string usage =
      "enable: revision POOL_UID PROFILE or revision nodepool/NAME... PROFILE";
  absl::Span<const std::string> words = session.line.arguments;
  if (words.empty() || words[0] != "revision") return WrongUse(usage);
  ASSIGN_OR_RETURN(const Ordered ordered, ReadOrdered(words.subspan(1), usage));
  if (ordered.others.size() != 1) return WrongUse(usage);
  const std::string& profile = ordered.others[0];
  return GiveOrders(session, &Api::EnableRevision, ordered.ids, profile,
                    [&](const configuration::v1::PoolConfiguration&) {
                      return absl::StrCat(": ", profile,
                                          session.line.Has("dry-run") ? " might" : " may",
                                          " be booted");
                    });
}

}  // namespace muster::musterctl
