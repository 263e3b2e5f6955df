#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/status_macros.h"
#include "services/musterctl/commands/commands.h"

namespace muster::musterctl {
namespace {

// The resource name of `CHANNEL~COMPONENT~VERSION`; a resource name stays as it is.
absl::StatusOr<std::string> ReleaseArgument(const CommandLine& line) {
  const std::vector<std::string>& arguments = line.arguments;
  if (arguments.size() != 2 || ParseKind(arguments[0]) != Kind::kRelease)
    return WrongUse(absl::StrCat(line.command, ": release CHANNEL~COMPONENT~VERSION"));
  if (absl::StrContains(arguments[1], "/")) return arguments[1];
  if (std::optional<std::string> name = ReleaseName(arguments[1])) return *std::move(name);
  return WrongUse(absl::StrCat("\"", arguments[1], "\": must be CHANNEL~COMPONENT~VERSION"));
}

using OrderCall = absl::StatusOr<configuration::v1::PoolConfiguration> (Api::*)(const std::string&,
                                                                                const std::string&);

// Gives an order to a NodePool, named by its uid or name, and says what it came to.
absl::Status GiveOrder(Session& session, OrderCall call) {
  std::vector<std::string> arguments = session.line.arguments;
  const bool by_name = !arguments.empty() && ParseKind(arguments[0]) == Kind::kNodePool;
  if (by_name) arguments.erase(arguments.begin());
  if (arguments.empty() || arguments.size() > 2) {
    return WrongUse(
        absl::StrCat(session.line.command, ": POOL_UID [PROFILE] or nodepool NAME [PROFILE]"));
  }
  std::string uid = arguments[0];
  if (by_name) {
    ASSIGN_OR_RETURN(const lifecycle::v1::NodePool pool, session.api.GetNodePool(arguments[0]));
    uid = pool.uid();
  }
  ASSIGN_OR_RETURN(const configuration::v1::PoolConfiguration pool,
                   (session.api.*call)(uid, arguments.size() == 2 ? arguments[1] : ""));
  session.world.out << (by_name ? "nodepool/" : "configuration/") << arguments[0];
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
  const std::vector<std::string>& arguments = session.line.arguments;
  if (arguments.size() != 3 || arguments[0] != "revision")
    return WrongUse("enable: revision POOL_UID PROFILE");
  RETURN_IF_ERROR(session.api.EnableRevision(arguments[1], arguments[2]).status());
  session.world.out << "configuration/" << arguments[1] << ": " << arguments[2]
                    << " may be booted\n";
  return absl::OkStatus();
}

}  // namespace muster::musterctl
