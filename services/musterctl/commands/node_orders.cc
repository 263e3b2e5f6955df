#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "services/common/kubernetes_names.h"
#include "services/common/status_macros.h"
#include "services/common/timestamp.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/commands/for_each.h"
#include "services/musterctl/commands/references.h"
#include "services/musterctl/print/preview.h"
#include "services/musterctl/print/words.h"

// What is asked of single Nodes: protection, reservation, cordon, drain, reboot.
namespace muster::musterctl {
namespace {

using ::muster::lifecycle::v1::Node;
using ::muster::lifecycle::v1::NodeOrders;

// How long a drain or reboot is waited for, unless it is said.
constexpr absl::Duration kNodeWait = absl::Minutes(20);

// A Node that was given an order, as it was then.
struct OrderedNode {
  ResourceId id = {};
  Node node = {};
};

// For each Node of the command line: `change` gives the order, `says` makes the text that is
// printed of the answer. Nodes for which it succeeded are added to `done`, if that is not null.
absl::Status ForEachNode(Session& session,
                         absl::FunctionRef<absl::StatusOr<Node>(const NodeName&)> change,
                         absl::FunctionRef<std::string(const Node&)> says,
                         std::vector<OrderedNode>* done = nullptr) {
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
    session.env.out << "node/" << name.machine << " " << says(*node) << "\n"
                    << RenderPreview(*node);
    if (done != nullptr) done->push_back({id, *node});
    return absl::OkStatus();
  };
  return ForEach(session, named, change_one);
}

// Sets the one field `field` of each Node to that of `changed`.
absl::Status ChangeNode(Session& session, const Node& changed, const std::string& field,
                        absl::FunctionRef<std::string(const Node&)> says) {
  const bool dry_run = session.line.Has("dry-run");
  return ForEachNode(
      session,
      [&](const NodeName& name) {
        return session.api.UpdateNode(name.pool, name.machine, changed, field, dry_run);
      },
      says);
}

absl::Status ProtectUntil(Session& session, std::optional<absl::Time> until) {
  Node changed;
  if (until) SetTimestamp(*until, changed.mutable_protect_until_time());
  const bool dry_run = session.line.Has("dry-run");
  return ChangeNode(session, changed, "protect_until_time", [&](const Node& node) {
    if (!node.has_protect_until_time())
      return std::string(dry_run ? "would not be protected" : "is not protected");
    return absl::StrCat(dry_run ? "would be" : "is", " protected from scale-down until ",
                        FormatTime(node.protect_until_time()));
  });
}

absl::Status ReserveFor(Session& session, const std::string& whom) {
  Node changed;
  changed.set_reserved_desired(whom);
  const bool dry_run = session.line.Has("dry-run");
  return ChangeNode(session, changed, "reserved_desired", [&](const Node& node) {
    if (node.reserved_desired().empty())
      return std::string(dry_run ? "would stay its organization's" : "stays its organization's");
    return absl::StrCat(dry_run ? "would be" : "is", " moved to ", node.reserved_desired(),
                        ": it leaves once it is drained");
  });
}

// `says` of a Node what it is, behind `done`. With --wait the Nodes are waited for.
absl::Status Order(Session& session, NodeOrder order, absl::string_view done,
                   absl::string_view says) {
  const CommandLine& line = session.line;
  order.validate_only = line.Has("dry-run");
  if (order.validate_only && line.Has("wait"))
    return WrongUse(absl::StrCat(line.command, ": either --dry-run or --wait"));
  absl::Duration limit = kNodeWait;
  if (line.Has("wait") && line.Has("timeout")) {
    ASSIGN_OR_RETURN(limit, ParseTimeout("--timeout", line.Get("timeout")));
  }
  std::vector<OrderedNode> ordered;
  absl::Status last = ForEachNode(
      session,
      [&](const NodeName& name) { return session.api.OrderNode(name.pool, name.machine, order); },
      [&](const Node&) { return absl::StrCat(order.validate_only ? "would be " : done, says); },
      &ordered);
  if (!line.Has("wait")) return last;
  for (const OrderedNode& one : ordered) {
    absl::Status status = WaitForNode(session, one.id, order.verb, one.node, limit);
    if (status.ok()) continue;
    if (!last.ok()) session.env.err << RenderError(last);
    last = std::move(status);
  }
  return last;
}

}  // namespace

absl::Status Protect(Session& session) {
  if (!session.line.Has("for")) return WrongUse("protect: --for is missing");
  const auto duration = ParseTimeout("--for", session.line.Get("for"));
  if (!duration.ok()) return WrongUse(duration.status().message());
  return ProtectUntil(session, session.env.clock.Now() + *duration);
}

absl::Status Unprotect(Session& session) { return ProtectUntil(session, std::nullopt); }

absl::Status Reserve(Session& session) { return ReserveFor(session, kControlPlane); }
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
