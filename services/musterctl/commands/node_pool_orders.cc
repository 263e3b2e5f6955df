#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/print/preview.h"
#include "services/musterctl/print/words.h"

// What is asked of one NodePool or Node: its size, its reconfigure reboots, protection.
namespace muster::musterctl {
namespace {

const std::vector<std::string>& Values(const CommandLine& line, const std::string& flag) {
  static const auto& none = *new std::vector<std::string>();
  const auto it = line.flags.find(flag);
  return it == line.flags.end() ? none : it->second;
}

// Names a field of the request as the flag that it came from: `remove_machines[1]` as
// `--remove g8fd930`.
absl::Status WithFlagNames(const absl::Status& status, absl::string_view list,
                           absl::string_view flag, const std::vector<std::string>& machines) {
  return RenameFields(status, [&](const std::string& field) {
    for (size_t i = 0; i < machines.size(); ++i) {
      if (field == absl::StrCat(list, "[", i, "]")) return absl::StrCat(flag, " ", machines[i]);
    }
    if (field == list) return std::string(flag);
    if (field == "target_nodes") return std::string("--nodes");
    if (field == "max_unavailable") return std::string("--max-unavailable");
    if (field == "allowed_failures") return std::string("--allowed-failures");
    return field;
  });
}

absl::StatusOr<std::string> PoolArgument(const CommandLine& line) {
  if (line.arguments.size() != 2 || ParseKind(line.arguments[0]) != Kind::kNodePool)
    return WrongUse(absl::StrCat(line.command, ": nodepool NAME"));
  return line.arguments[1];
}

// `nodepool/train: reconfiguration 2 is RUNNING, 3 Nodes rebooted`.
void TellReconfiguration(Session& session, const std::string& id,
                         const lifecycle::v1::Reconfiguration& reconfiguration) {
  session.world.out << "nodepool/" << id << ": reconfiguration " << reconfiguration.number()
                    << " is " << ReconfigurationStateWord(reconfiguration.state()) << ", "
                    << reconfiguration.rebooted_nodes() << " Nodes rebooted\n";
}

absl::Status Control(Session& session, ReconfigurationVerb verb) {
  const std::vector<std::string>& arguments = session.line.arguments;
  if (arguments.size() != 2 || arguments[0] != "reconfiguration")
    return WrongUse(absl::StrCat(session.line.command, ": reconfiguration NAME"));
  ASSIGN_OR_RETURN(const lifecycle::v1::NodePool pool,
                   session.api.ControlReconfiguration(verb, arguments[1]));
  TellReconfiguration(session, arguments[1], pool.reconfiguration());
  return absl::OkStatus();
}

// `changed` has the one field that is written; `says` of the Node as it is then.
absl::Status ChangeNode(Session& session, const lifecycle::v1::Node& changed,
                        const std::string& field,
                        absl::FunctionRef<std::string(const lifecycle::v1::Node&)> says) {
  const std::vector<std::string>& arguments = session.line.arguments;
  const std::vector<std::string> parts =
      absl::StrSplit(arguments.size() == 2 ? arguments[1] : "", '/');
  if (arguments.size() != 2 || ParseKind(arguments[0]) != Kind::kNode || parts.size() != 2 ||
      parts[0].empty() || parts[1].empty())
    return WrongUse(absl::StrCat(session.line.command, ": node POOL/MACHINE"));
  const auto node = session.api.UpdateNode(parts[0], parts[1], changed, field);
  if (!node.ok()) {
    return RenameFields(node.status(), [](const std::string& name) {
      return name == "node.name"                 ? "POOL/MACHINE"
             : name == "node.protect_until_time" ? "--for"
                                                 : name;
    });
  }
  session.world.out << "node/" << parts[1] << " " << says(*node) << "\n";
  return absl::OkStatus();
}

absl::Status ProtectUntil(Session& session, std::optional<absl::Time> until) {
  lifecycle::v1::Node changed;
  if (until) changed.mutable_protect_until_time()->set_seconds(absl::ToUnixSeconds(*until));
  return ChangeNode(session, changed, "protect_until_time", [](const lifecycle::v1::Node& node) {
    return node.has_protect_until_time() ? absl::StrCat("is protected from scale-down until ",
                                                        FormatTime(node.protect_until_time()))
                                         : "is not protected";
  });
}

absl::Status ReserveFor(Session& session, const std::string& whom) {
  lifecycle::v1::Node changed;
  changed.set_reserved_desired(whom);
  return ChangeNode(session, changed, "reserved_desired", [](const lifecycle::v1::Node& node) {
    return node.reserved_desired().empty() ? "stays its organization's"
                                           : absl::StrCat("is moved to ", node.reserved_desired(),
                                                          ": it leaves once it is drained");
  });
}

}  // namespace

absl::Status Scale(Session& session) {
  const CommandLine& line = session.line;
  ASSIGN_OR_RETURN(const std::string id, PoolArgument(line));
  const std::vector<std::string>& remove = Values(line, "remove");
  if (!line.Has("nodes") && remove.empty())
    return WrongUse("scale: --nodes or --remove is missing");
  lifecycle::v1::ResizeNodePoolRequest request;
  request.set_name(id);
  if (line.Has("nodes")) {
    const absl::StatusOr<int64_t> nodes = ParseCount("--nodes", line.Get("nodes"));
    if (!nodes.ok()) return WrongUse(nodes.status().message());
    request.set_target_nodes(*nodes);
  }
  request.mutable_remove_machines()->Assign(remove.begin(), remove.end());
  request.set_validate_only(line.Has("dry-run"));
  const auto pool = session.api.Resize(std::move(request));
  if (!pool.ok()) return WithFlagNames(pool.status(), "remove_machines", "--remove", remove);
  session.world.out << "nodepool/" << id << (line.Has("dry-run") ? " would be" : "")
                    << " scaled to " << pool->spec().target_nodes()
                    << (remove.empty() ? "" : "; first to go: ") << absl::StrJoin(remove, ", ")
                    << "\n";
  for (const std::string& warning : pool->warnings())
    session.world.err << "warning: nodepool/" << id << ": " << warning << "\n";
  if (line.Has("dry-run")) session.world.out << RenderPreview(pool->preview());
  return absl::OkStatus();
}

absl::Status Reconfigure(Session& session) {
  const CommandLine& line = session.line;
  ASSIGN_OR_RETURN(const std::string id, PoolArgument(line));
  const std::vector<std::string>& machines = Values(line, "machine");
  const auto failures = ParseCount("--allowed-failures", line.Get("allowed-failures"));
  if (!failures.ok()) return WrongUse(failures.status().message());
  lifecycle::v1::ReconfigureNodePoolRequest request;
  request.set_name(id);
  request.mutable_machines()->Assign(machines.begin(), machines.end());
  request.set_evict_active(line.Has("evict-active"));
  request.set_max_unavailable(line.Get("max-unavailable"));
  request.set_allowed_failures(*failures);
  request.set_validate_only(line.Has("dry-run"));
  const auto pool = session.api.Reconfigure(std::move(request));
  if (!pool.ok()) return WithFlagNames(pool.status(), "machines", "--machine", machines);
  if (line.Has("dry-run")) {
    const bool idle = pool->preview().nodes_to_reboot() == 0;
    session.world.out << "nodepool/" << id
                      << (idle ? " has nothing to reconfigure\n" : " would be reconfigured\n")
                      << RenderPreview(pool->preview());
  } else {
    TellReconfiguration(session, id, pool->reconfiguration());
  }
  return absl::OkStatus();
}

absl::Status Pause(Session& session) { return Control(session, ReconfigurationVerb::kPause); }
absl::Status Resume(Session& session) { return Control(session, ReconfigurationVerb::kResume); }
absl::Status Cancel(Session& session) { return Control(session, ReconfigurationVerb::kCancel); }

absl::Status Protect(Session& session) {
  if (!session.line.Has("for")) return WrongUse("protect: --for is missing");
  const auto duration = ParseTimeout("--for", session.line.Get("for"));
  if (!duration.ok()) return WrongUse(duration.status().message());
  return ProtectUntil(session, session.world.clock.Now() + *duration);
}

absl::Status Unprotect(Session& session) { return ProtectUntil(session, std::nullopt); }

absl::Status Reserve(Session& session) { return ReserveFor(session, "control-plane"); }
absl::Status Unreserve(Session& session) { return ReserveFor(session, ""); }

}  // namespace muster::musterctl
