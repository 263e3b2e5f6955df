#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "services/common/timestamp.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/print/printable.h"
#include "services/musterctl/print/words.h"

// Waits for a Node that was ordered to drain or reboot.
namespace muster::musterctl {
namespace {

using ::muster::lifecycle::v1::Node;
using ::muster::lifecycle::v1::NodeObserved;
using ::muster::lifecycle::v1::NodeOrders;

constexpr absl::Duration kNodePoll = absl::Milliseconds(250);
// A Node counts as drained after so many looks in a row without work: Pods that were on their way
// when it was cordoned may still come. In all longer than the servers' --cordon_settle. Where its
// agent has not said that it is cordoned, not before servers take it for so.
constexpr int kLooksAtIdle = 20;
// When those do that tell nothing of it (Node.cordon_effective_time), after the order.
constexpr absl::Duration kCordonPatience = absl::Minutes(2);

// How far a Node is, and whether the wait is over; `end` is an error if it did not end well.
struct NodeProgress {
  std::string line = {};
  bool is_over = false;
  absl::Status end = {};
  // For so long after the wait began it may be given work; 0: its agent has it cordoned.
  absl::Duration takes_work_for = {};
};

std::string Told(const Node& node) {
  const NodeObserved& seen = node.observed();
  std::string line = NodeStateWord(node.state());
  if (seen.active()) {
    const bool more = seen.active_pod_count() > seen.active_pods_size();
    absl::StrAppend(&line, "  work: ", Printable(absl::StrJoin(seen.active_pods(), ", ")),
                    more ? ", ..." : "");
  }
  if (!seen.drain_blocked_by().empty())
    absl::StrAppend(&line, "  blocked by ", Printable(seen.drain_blocked_by()));
  return line;
}

// Its machine is on its way out of the NodePool, or never came up.
bool Leaves(Node::State state) { return state >= Node::STATE_CORDONED; }

// How long after the order the servers take the Node's cordon for carried out, if its agent does
// not say so. By their times alone: this machine's clock may differ. The wait began no earlier than
// the order was given.
absl::Duration CordonPatience(const Node& node) {
  if (!node.has_cordon_effective_time()) return kCordonPatience;
  const bool is_ordered = node.orders().has_drain_time();
  return FromTimestamp(node.cordon_effective_time()) -
         FromTimestamp(is_ordered ? node.orders().drain_time() : node.state_time());
}

NodeProgress OfDrain(const Node& node) {
  if (!node.orders().has_drain_time() && !Leaves(node.state()))
    return {Told(node), true, absl::FailedPreconditionError("its drain was taken back")};
  const bool cordoned = node.observed().has_cordon_time() || node.state() > Node::STATE_CORDONED;
  return {Told(node),
          !node.observed().active(),
          {},
          cordoned ? absl::ZeroDuration() : CordonPatience(node)};
}

// Why a reboot that was ordered may not begin.
constexpr char kTellsNoBoot[] =
    "  its agent does not tell which boot it runs: it reboots only into another configuration";

// Where no boot has an id, the server notes when each was told.
bool IsSameBoot(const NodeObserved& seen, const NodeObserved& before) {
  if (!before.boot_id().empty()) return seen.boot_id() == before.boot_id();
  return seen.boot_time().seconds() == before.boot_time().seconds() &&
         seen.boot_time().nanos() == before.boot_time().nanos();
}

NodeProgress OfReboot(const Node& node, const Node& before) {
  if (Leaves(node.state()))
    return {Told(node), true, absl::FailedPreconditionError("it leaves its NodePool")};
  const bool is_ordered = node.orders().reboot() != NodeOrders::REBOOT_UNSPECIFIED;
  const bool to_come =
      is_ordered || node.has_reconfigure_time() || node.state() != Node::STATE_PRODUCTION;
  const bool has_no_boot = is_ordered && node.observed().boot_id().empty();
  if (to_come) return {absl::StrCat(Told(node), has_no_boot ? kTellsNoBoot : ""), false, {}};
  if (IsSameBoot(node.observed(), before.observed()))
    return {Told(node), true, absl::FailedPreconditionError("its reboot was taken back")};
  return {Told(node), true, {}};
}

NodeProgress ProgressOf(const absl::StatusOr<Item>& item, NodeVerb verb, const Node& before) {
  const bool drains = verb == NodeVerb::kDrain;
  if (absl::IsNotFound(item.status())) {
    return {"gone", true,
            drains ? absl::OkStatus() : absl::FailedPreconditionError("it left its NodePool")};
  }
  if (PassesBy(item.status())) return {"the server is away, trying again", false, {}};
  if (!item.ok()) return {"", true, item.status()};
  const Node& node = std::get<Node>(*item);
  // Its machine came back, as another Node.
  const bool is_another = node.create_time().seconds() != before.create_time().seconds() ||
                          node.create_time().nanos() != before.create_time().nanos();
  if (is_another) return ProgressOf(absl::NotFoundError("gone"), verb, before);
  return drains ? OfDrain(node) : OfReboot(node, before);
}

}  // namespace

absl::Status WaitForNode(Session& session, const ResourceId& id, NodeVerb verb, const Node& before,
                         absl::Duration timeout) {
  const std::string label = absl::StrCat("node/", id.id.substr(id.id.rfind('/') + 1));
  const char* wanted = verb == NodeVerb::kDrain ? "drained" : "back";
  const WaitLimit ends(session.api, timeout);
  const absl::Duration begin = session.env.steady.Now();
  std::string last;
  int idle = 0;  // looks in a row at which the Node was done
  bool took_work = false;
  while (true) {
    const NodeProgress progress = ProgressOf(session.api.Get(Kind::kNode, id.id), verb, before);
    const absl::Duration passed = session.env.steady.Now() - begin;
    if (!progress.line.empty() && progress.line != last) {
      session.env.out << absl::StrFormat("%5.1fs  %s", absl::ToDoubleSeconds(passed), progress.line)
                      << std::endl;
    }
    last = progress.line;
    const bool is_well = progress.is_over && progress.end.ok();
    // What came until it was cordoned may be on its way.
    const bool takes_work = progress.takes_work_for > absl::ZeroDuration();
    if (std::exchange(took_work, takes_work) && !took_work) idle = 0;
    idle = is_well ? idle + 1 : 0;
    const bool may_change =
        verb == NodeVerb::kDrain && (idle < kLooksAtIdle || passed < progress.takes_work_for);
    if (is_well && !may_change) {
      session.env.out << label << " is " << wanted << std::endl;
      return absl::OkStatus();
    }
    const std::string not_so = absl::StrCat(label, " is not ", wanted);
    if (absl::IsFailedPrecondition(progress.end))
      return absl::FailedPreconditionError(absl::StrCat(not_so, ": ", progress.end.message()));
    if (progress.is_over && !is_well) return progress.end;
    if (passed >= timeout) {
      return absl::DeadlineExceededError(
          absl::StrCat(not_so, " after ", absl::FormatDuration(timeout), ": ", progress.line));
    }
    session.env.sleep(kNodePoll);
    session.api.AskAgain();
  }
}

}  // namespace muster::musterctl
