#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "services/common/status_macros.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/commands/references.h"

namespace muster::musterctl {
namespace {

// The resource name of `CHANNEL~COMPONENT~VERSION`; a resource name stays as it is.
absl::StatusOr<std::string> ReleaseArgument(const CommandLine& line) {
  ASSIGN_OR_RETURN(const ResourceId id,
                   ReadOne(line.arguments, {Kind::kRelease},
                           absl::StrCat(line.command, ": release CHANNEL~COMPONENT~VERSION")));
  if (absl::StrContains(id.id, "/")) return id.id;
  if (std::optional<std::string> name = ReleaseName(id.id)) return *std::move(name);
  return WrongUse(absl::StrCat("\"", id.id, "\": must be CHANNEL~COMPONENT~VERSION"));
}

// A NodePool, by name or as its configuration, and what follows it.
struct Ordered {
  ResourceId id = {};
  std::vector<std::string> others = {};
};
absl::StatusOr<Ordered> ReadOrdered(absl::Span<const std::string> words, const std::string& usage) {
  if (words.empty()) return WrongUse(usage);
  Ordered ordered;
  const bool slashed = absl::StrContains(words[0], "/");
  const bool by_kind = !slashed && ParseKind(words[0]) == Kind::kNodePool;
  if (by_kind && words.size() < 2) return WrongUse(usage);
  if (slashed || by_kind) {
    const size_t taken = slashed ? 1 : 2;
    ASSIGN_OR_RETURN(ordered.id,
                     ReadOne(words.first(taken), {Kind::kNodePool, Kind::kConfiguration}, usage));
    words.remove_prefix(taken);
  } else {
    ordered.id = {Kind::kConfiguration, words[0]};
    words.remove_prefix(1);
  }
  for (const std::string& word : words)
    ordered.others.emplace_back(absl::StripPrefix(word, "profile/"));
  return ordered;
}

absl::StatusOr<std::string> UidOf(Session& session, const ResourceId& id) {
  if (id.kind == Kind::kConfiguration)
    return std::string(absl::StripPrefix(id.id, "poolConfigurations/"));
  ASSIGN_OR_RETURN(const lifecycle::v1::NodePool pool, session.api.GetNodePool(id.id));
  return pool.uid();
}

using OrderCall = absl::StatusOr<configuration::v1::PoolConfiguration> (Api::*)(const std::string&,
                                                                                const std::string&);

// Gives an order to a NodePool, named by its uid or name, and says what it came to.
absl::Status GiveOrder(Session& session, OrderCall call) {
  const std::string usage =
      absl::StrCat(session.line.command, ": POOL_UID [PROFILE] or nodepool NAME [PROFILE]");
  ASSIGN_OR_RETURN(const Ordered ordered, ReadOrdered(session.line.arguments, usage));
  if (ordered.others.size() > 1) return WrongUse(usage);
  ASSIGN_OR_RETURN(const std::string uid, UidOf(session, ordered.id));
  ASSIGN_OR_RETURN(const configuration::v1::PoolConfiguration pool,
                   (session.api.*call)(uid, ordered.others.empty() ? "" : ordered.others.front()));
  session.world.out << Label(ordered.id);
  if (pool.has_waiting()) {
    session.world.out << " will be at " << pool.waiting().node_profile()
                      << " once no Node is in delivery\n";
  } else {
    session.world.out << " is at " << pool.active() << "\n";
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Publish(Session& session) {
  ASSIGN_OR_RETURN(const std::string name, ReleaseArgument(session.line));
  RETURN_IF_ERROR(session.api.PublishRelease(name).status());
  session.world.out << "release/" << IdOfName(Kind::kRelease, name) << " published\n";
  return absl::OkStatus();
}

absl::Status Withdraw(Session& session) {
  ASSIGN_OR_RETURN(const std::string name, ReleaseArgument(session.line));
  RETURN_IF_ERROR(session.api.WithdrawRelease(name).status());
  session.world.out << "release/" << IdOfName(Kind::kRelease, name) << " withdrawn\n";
  return absl::OkStatus();
}

absl::Status Promote(Session& session) { return GiveOrder(session, &Api::Promote); }

absl::Status Rollback(Session& session) { return GiveOrder(session, &Api::Rollback); }

absl::Status Enable(Session& session) {
  const std::string usage = "enable: revision POOL_UID PROFILE";
  absl::Span<const std::string> words = session.line.arguments;
  if (words.empty() || words[0] != "revision") return WrongUse(usage);
  ASSIGN_OR_RETURN(const Ordered ordered, ReadOrdered(words.subspan(1), usage));
  if (ordered.others.size() != 1) return WrongUse(usage);
  ASSIGN_OR_RETURN(const std::string uid, UidOf(session, ordered.id));
  RETURN_IF_ERROR(session.api.EnableRevision(uid, ordered.others[0]).status());
  session.world.out << Label(ordered.id) << ": " << ordered.others[0] << " may be booted\n";
  return absl::OkStatus();
}

}  // namespace muster::musterctl
