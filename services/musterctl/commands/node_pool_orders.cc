#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "services/common/count_text.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/commands/for_each.h"
#include "services/musterctl/commands/references.h"
#include "services/musterctl/print/preview.h"
#include "services/musterctl/print/words.h"

// What is asked of one NodePool: its size, its reconfigure reboots.
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
                           absl::string_view flag, const std::vector<std::string>& machines,
                           const std::string& count_flag) {
  return RenameFields(status, [&](const std::string& field) {
    for (size_t i = 0; i < machines.size(); ++i) {
      if (field == absl::StrCat(list, "[", i, "]")) return absl::StrCat(flag, " ", machines[i]);
    }
    if (field == list) return std::string(flag);
    if (field == "target_nodes") return count_flag;
    if (field == "max_unavailable") return std::string("--max-unavailable");
    if (field == "allowed_failures") return std::string("--allowed-failures");
    return field;
  });
}

// `g1`, `node/train/g1`, as `get nodes -o name` says it: the machine.
std::vector<std::string> MachinesOf(const CommandLine& line, const std::string& flag) {
  std::vector<std::string> machines;
  for (const std::string& value : Values(line, flag))
    machines.push_back(value.substr(value.rfind('/') + 1));
  return machines;
}

// `nodepool/train: reconfiguration 2 is RUNNING, 3 Nodes rebooted`.
void TellReconfiguration(Session& session, const ResourceId& id,
                         const lifecycle::v1::Reconfiguration& reconfiguration) {
  session.env.out << Label(id) << ": reconfiguration " << reconfiguration.number()
                  << (session.line.Has("dry-run") ? " would be " : " is ")
                  << ReconfigurationStateWord(reconfiguration.state()) << ", "
                  << CountText(reconfiguration.rebooted_nodes(), "Node") << " rebooted\n";
}

// `reconfiguration NAME...`, as it always was, or the NodePools as elsewhere.
absl::StatusOr<std::vector<ResourceId>> ReadReconfigured(const CommandLine& line) {
  const std::string usage = absl::StrCat(line.command, ": nodepool/NAME, or reconfiguration NAME");
  absl::Span<const std::string> words = line.arguments;
  if (words.empty() || words[0] != "reconfiguration")
    return ReadNamed(words, {Kind::kNodePool}, usage);
  words.remove_prefix(1);
  if (words.empty() || absl::StrContains(words[0], "/"))
    return ReadNamed(words, {Kind::kNodePool}, usage);
  std::vector<std::string> named = {std::string(KindWord(Kind::kNodePool))};
  named.insert(named.end(), words.begin(), words.end());
  return ReadNamed(named, {Kind::kNodePool}, usage);
}

absl::Status Control(Session& session, ReconfigurationVerb verb) {
  const bool dry_run = session.line.Has("dry-run");
  ASSIGN_OR_RETURN(const std::vector<ResourceId> ids, ReadReconfigured(session.line));
  const auto control_one = [&](const ResourceId& id) -> absl::Status {
    ASSIGN_OR_RETURN(const lifecycle::v1::NodePool pool,
                     session.api.ControlReconfiguration(verb, id.id, dry_run));
    TellReconfiguration(session, id, pool.reconfiguration());
    if (dry_run) session.env.out << RenderPreview(pool.preview());
    return absl::OkStatus();
  };
  return ForEach(session, ids, control_one);
}

}  // namespace

absl::Status Scale(Session& session) {
  const CommandLine& line = session.line;
  ASSIGN_OR_RETURN(
      const std::vector<ResourceId> pools,
      ReadNamed(line.arguments, {Kind::kNodePool}, "scale: nodepool NAME or nodepool/NAME"));
  const std::vector<std::string> remove = MachinesOf(line, "remove");
  if (line.Has("nodes") && line.Has("replicas"))
    return WrongUse("scale: either --nodes or --replicas");
  const std::string flag = line.Has("replicas") ? "--replicas" : "--nodes";
  const std::string wanted = line.Get(flag.substr(2));
  if (wanted.empty() && remove.empty()) return WrongUse("scale: --nodes or --remove is missing");
  if (pools.size() > 1 && !remove.empty()) return WrongUse("--remove: of one NodePool only");
  lifecycle::v1::ResizeNodePoolRequest request;
  if (!wanted.empty()) {
    const absl::StatusOr<int64_t> nodes = ParseCount(flag, wanted);
    if (!nodes.ok()) return WrongUse(nodes.status().message());
    request.set_target_nodes(*nodes);
    request.set_must_fit(line.Has("must-fit"));
  }
  request.mutable_remove_machines()->Assign(remove.begin(), remove.end());
  request.set_validate_only(line.Has("dry-run"));
  const auto scale_one = [&](const ResourceId& id) -> absl::Status {
    request.set_name(id.id);
    const auto pool = session.api.Resize(request);
    if (!pool.ok())
      return WithFlagNames(pool.status(), "remove_machines", "--remove", remove, flag);
    session.env.out << Label(id) << (line.Has("dry-run") ? " would be" : "") << " scaled to "
                    << pool->spec().target_nodes() << (remove.empty() ? "" : "; first to go: ")
                    << absl::StrJoin(remove, ", ") << "\n";
    for (const std::string& warning : pool->warnings())
      session.env.err << "warning: " << Label(id) << ": " << warning << "\n";
    if (line.Has("dry-run")) session.env.out << RenderPreview(pool->preview());
    return absl::OkStatus();
  };
  return ForEach(session, pools, scale_one);
}

absl::Status Reconfigure(Session& session) {
  const CommandLine& line = session.line;
  const bool dry_run = line.Has("dry-run");
  ASSIGN_OR_RETURN(
      const std::vector<ResourceId> pools,
      ReadNamed(line.arguments, {Kind::kNodePool}, "reconfigure: nodepool NAME or nodepool/NAME"));
  const std::vector<std::string> machines = MachinesOf(line, "machine");
  if (pools.size() > 1 && !machines.empty()) return WrongUse("--machine: of one NodePool only");
  const auto failures = ParseCount("--allowed-failures", line.Get("allowed-failures"));
  if (!failures.ok()) return WrongUse(failures.status().message());
  lifecycle::v1::ReconfigureNodePoolRequest request;
  request.mutable_machines()->Assign(machines.begin(), machines.end());
  request.set_evict_active(line.Has("evict-active"));
  request.set_max_unavailable(line.Get("max-unavailable"));
  request.set_allowed_failures(*failures);
  request.set_validate_only(dry_run);
  const auto reconfigure_one = [&](const ResourceId& id) -> absl::Status {
    request.set_name(id.id);
    const auto pool = session.api.Reconfigure(request);
    if (!pool.ok()) return WithFlagNames(pool.status(), "machines", "--machine", machines, "");
    if (!dry_run) {
      TellReconfiguration(session, id, pool->reconfiguration());
      return absl::OkStatus();
    }
    const bool idle = pool->preview().nodes_to_reboot() == 0;
    session.env.out << Label(id)
                    << (idle ? " has nothing to reconfigure\n" : " would be reconfigured\n")
                    << RenderPreview(pool->preview());
    return absl::OkStatus();
  };
  return ForEach(session, pools, reconfigure_one);
}

absl::Status Pause(Session& session) { return Control(session, ReconfigurationVerb::kPause); }
absl::Status Resume(Session& session) { return Control(session, ReconfigurationVerb::kResume); }
absl::Status Cancel(Session& session) { return Control(session, ReconfigurationVerb::kCancel); }

}  // namespace muster::musterctl
