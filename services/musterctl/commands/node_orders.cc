#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/commands/references.h"
#include "services/musterctl/print/words.h"

// What is asked of single Nodes: protection, reservation, cordon, drain, reboot.
namespace muster::musterctl {
namespace {

using ::muster::lifecycle::v1::Node;
using ::muster::lifecycle::v1::NodeOrders;

// For each Node of the command line: `change` asks, `says` tells of the Node as it is then.
absl::Status ForEachNode(Session& session,
                         absl::FunctionRef<absl::StatusOr<Node>(const NodeName&)> change,
                         absl::FunctionRef<std::string(const Node&)> says) {
  const std::string usage = absl::StrCat(session.line.command, ": node POOL/MACHINE");
  ASSIGN_OR_RETURN(const std::vector<ResourceId> named,
                   ReadNamed(session.line.arguments, {Kind::kNode}, usage));
  for (const ResourceId& id : named) RETURN_IF_ERROR(SplitNodeName(id.id, usage).status());
  const auto change_one = [&](const ResourceId& id) -> absl::Status {
    ASSIGN_OR_RETURN(const NodeName name, SplitNodeName(id.id, usage));
    const absl::StatusOr<Node> node = change(name);
    if (!node.ok()) {
      return RenameFields(node.status(), [](const std::string& violated) {
        return violated == "node.name" || violated == "name" ? "POOL/MACHINE"
               : violated == "node.protect_until_time"       ? "--for"
                                                             : violated;
      });
    }
    session.world.out << "node/" << name.machine << " " << says(*node) << "\n";
    return absl::OkStatus();
  };
  return ForEach(named, change_one,
                 [&](const absl::Status& error) { session.world.err << RenderError(error); });
}

// `changed` has the one field that is written.
absl::Status ChangeNode(Session& session, const Node& changed, const std::string& field,
                        absl::FunctionRef<std::string(const Node&)> says) {
  return ForEachNode(
      session,
      [&](const NodeName& name) {
        return session.api.UpdateNode(name.pool, name.machine, changed, field);
      },
      says);
}

absl::Status ProtectUntil(Session& session, std::optional<absl::Time> until) {
  Node changed;
  if (until) changed.mutable_protect_until_time()->set_seconds(absl::ToUnixSeconds(*until));
  return ChangeNode(session, changed, "protect_until_time", [](const Node& node) {
    return node.has_protect_until_time() ? absl::StrCat("is protected from scale-down until ",
                                                        FormatTime(node.protect_until_time()))
                                         : "is not protected";
  });
}

absl::Status ReserveFor(Session& session, const std::string& whom) {
  Node changed;
  changed.set_reserved_desired(whom);
  return ChangeNode(session, changed, "reserved_desired", [](const Node& node) {
    return node.reserved_desired().empty() ? "stays its organization's"
                                           : absl::StrCat("is moved to ", node.reserved_desired(),
                                                          ": it leaves once it is drained");
  });
}

// `says` of a Node what it is, behind `done`.
absl::Status Order(Session& session, NodeOrder order, absl::string_view done,
                   absl::string_view says) {
  order.validate_only = session.line.Has("dry-run");
  return ForEachNode(
      session,
      [&](const NodeName& name) { return session.api.OrderNode(name.pool, name.machine, order); },
      [&](const Node&) { return absl::StrCat(order.validate_only ? "would be " : done, says); });
}

}  // namespace

absl::Status Protect(Session& session) {
  if (!session.line.Has("for")) return WrongUse("protect: --for is missing");
  const auto duration = ParseTimeout("--for", session.line.Get("for"));
  if (!duration.ok()) return WrongUse(duration.status().message());
  return ProtectUntil(session, session.world.clock.Now() + *duration);
}

absl::Status Unprotect(Session& session) { return ProtectUntil(session, std::nullopt); }

absl::Status Reserve(Session& session) { return ReserveFor(session, "control-plane"); }
absl::Status Unreserve(Session& session) { return ReserveFor(session, ""); }

absl::Status Cordon(Session& session) {
  return Order(session, {.verb = NodeVerb::kCordon}, "", "cordoned");
}

absl::Status Uncordon(Session& session) {
  return Order(session, {.verb = NodeVerb::kUncordon}, "", "uncordoned");
}

absl::Status Drain(Session& session) {
  const bool force = session.line.Has("force");
  return Order(session, {.verb = NodeVerb::kDrain, .force = force}, "",
               force ? "cordoned; its work is deleted"
                     : "cordoned; its work is moved away as the disruption budget allows");
}

absl::Status Reboot(Session& session) {
  const bool drain = session.line.Has("drain");
  const bool force = session.line.Has("force");
  if (drain && force) return WrongUse("reboot: either --drain or --force");
  NodeOrder order{.verb = NodeVerb::kReboot, .mode = NodeOrders::REBOOT_WHEN_IDLE};
  if (drain) order.mode = NodeOrders::REBOOT_DRAINED;
  if (force) order.mode = NodeOrders::REBOOT_FORCED;
  return Order(session, order, "is ",
               absl::StrCat("rebooted ", force   ? "at once"
                                         : drain ? "once its work was moved away"
                                                 : "once it is idle"));
}

}  // namespace muster::musterctl
