#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/client/set_members.h"
#include "services/musterctl/commands/editing.h"
#include "services/musterctl/commands/for_each.h"
#include "services/musterctl/commands/output.h"
#include "services/musterctl/commands/references.h"
#include "services/musterctl/print/preview.h"

namespace muster::musterctl {
namespace {

// A resource to delete; for a NodePool, once its deletion was asked for, also its uid.
struct Deletion {
  ResourceId id = {};  // of an empty id: it was not there
  std::string uid = {};
};

constexpr Kind kDeletable[] = {Kind::kNodePool, Kind::kCluster, Kind::kRelease,     Kind::kQuota,
                               Kind::kMachine,  Kind::kZone,    Kind::kInstanceType};
constexpr char kUsage[] =
    "delete: say nodepool, quota, cluster, zone, instancetype, machine or release, and NAME";

// The id of a manifest's resource; its whole name if the manifest says, or may say, another place
// than the command line.
ResourceId IdIn(const Item& item, const Scope& scope) {
  const Kind kind = KindOf(item);
  const bool is_whole =
      kind == Kind::kCluster || kind == Kind::kQuota || !IsInScope(kind, NameOf(item), scope);
  return {kind, is_whole ? NameOf(item) : IdOf(item)};
}

absl::StatusOr<std::vector<ResourceId>> OfManifests(Session& session) {
  std::vector<ResourceId> ids;
  ASSIGN_OR_RETURN(const std::vector<Manifest> manifests, ReadManifests(session));
  for (const Manifest& manifest : manifests) {
    if (const auto* set = std::get_if<MachineSet>(&manifest.resource)) {
      ASSIGN_OR_RETURN(const std::vector<SetMember> members,
                       FindMembers(*set, [&](const capacity::v1::ListMachinesRequest& filter) {
                         return session.api.ListMachines(filter);
                       }));
      for (const SetMember& member : members) ids.push_back(IdIn(member.machine, session.scope));
    } else if (const std::optional<Item> item = ItemOf(manifest.resource)) {
      ids.push_back(IdIn(*item, session.scope));
    }
  }
  const auto turn = [](const ResourceId& id) {
    return std::find(std::begin(kDeletable), std::end(kDeletable), id.kind);
  };
  std::stable_sort(ids.begin(), ids.end(),
                   [&](const ResourceId& a, const ResourceId& b) { return turn(a) < turn(b); });
  return ids;
}

// All of a kind in the scope, or those that -l lets through.
absl::StatusOr<std::vector<ResourceId>> OfSelection(Session& session) {
  const CommandLine& line = session.line;
  ASSIGN_OR_RETURN(const Asked asked, ReadAsked("delete", line.arguments));
  if (!asked.named.empty()) return WrongUse("delete: either NAME, or --all or --selector");
  std::vector<ResourceId> ids;
  for (const Kind kind : asked.kinds) {  // before anything is asked
    if (kind != Kind::kNodePool && kind != Kind::kQuota)
      return WrongUse("delete: --all and --selector are of NodePools and quotas");
    // Quotas belong to the organization: a line that names a cluster does not mean all of them.
    if (kind == Kind::kQuota && (asked.kinds.size() > 1 || line.given.contains("cluster")))
      return WrongUse(
          "delete quotas --all: are of all of the organization; say it without others "
          "and without --cluster");
  }
  for (const Kind kind : asked.kinds) {
    ASSIGN_OR_RETURN(const Selection selection, Selection::Read(line, {kind}));
    ASSIGN_OR_RETURN(std::vector<Item> items, session.api.List(kind, ""));
    selection.Filter(items);
    if (items.empty()) {
      if (kind == Kind::kNodePool) RETURN_IF_ERROR(CheckCluster(session));
      session.env.err << "No " << KindPlural(kind) << " found.\n";
    }
    for (const Item& item : items) ids.push_back({kind, IdOf(item)});
  }
  return ids;
}

absl::StatusOr<std::vector<ResourceId>> ReadDeletions(Session& session) {
  const CommandLine& line = session.line;
  const bool chosen = IsChosen(line);
  if (line.Has("filename")) {
    if (!line.arguments.empty() || chosen) return WrongUse("delete: either -f or KIND and NAME");
    return OfManifests(session);
  }
  if (chosen) return OfSelection(session);
  if (line.arguments.size() == 1 && ParseKind(line.arguments[0])) {
    return WrongUse(absl::StrCat("delete ", KindWord(*ParseKind(line.arguments[0])),
                                 ": NAME is missing, or --all"));
  }
  return ReadNamed(line.arguments, kDeletable, kUsage);
}

// What else is deleted by the same command.
struct Others {
  bool with_cluster = false;  // a cluster is to go, too, and may be gone
  bool before = false;        // some are to go before it
};

// Whether the deletion was refused only because the resource is in use.
bool IsInUse(const absl::Status& status) {
  const std::optional<error::Detail> detail = error::DetailOf(status);
  return detail && absl::EndsWith(detail->reason, "_IN_USE");
}

absl::Status DeleteOne(Session& session, Deletion& deletion, const Others& others) {
  const bool dry_run = session.line.Has("dry-run");
  lifecycle::v1::NodePool pool;
  absl::Status status;
  CellNames cells;
  if (deletion.id.kind == Kind::kNodePool) {
    const auto answer = session.api.DeleteNodePool(deletion.id.id, dry_run);
    status = answer.status();
    if (answer.ok()) pool = *answer;
    deletion.uid = pool.uid();
  } else {
    const auto answer = session.api.DeleteItem(deletion.id, dry_run);
    status = answer.status();
    if (answer.ok()) cells = *answer;
  }
  const std::string label = Label(deletion.id);
  // One of all that were there a moment ago has gone by itself.
  if (absl::IsNotFound(status) && IsChosen(session.line)) {
    deletion.id.id.clear();
    return absl::OkStatus();
  }
  if (absl::IsNotFound(status) && session.line.Has("ignore-not-found")) {
    if (!others.with_cluster) RETURN_IF_ERROR(CheckClusterOf(session, deletion.id));
    session.env.out << label << " not found\n";
    deletion.id.id.clear();
    return absl::OkStatus();
  }
  // In a dry run what goes before it is still there, and so it is in use.
  if (dry_run && others.before && IsInUse(status)) {
    session.env.out << label << " would be deleted, if what goes before it is all that is in it: "
                    << status.message() << std::endl;
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(status);
  session.env.out << label << (dry_run ? " would be deleted" : " deleted")
                  << (cells.empty() ? "" : " in ") << absl::StrJoin(cells, ", ") << std::endl;
  if (dry_run && deletion.id.kind == Kind::kNodePool)
    session.env.out << RenderPreview(pool.preview());
  return absl::OkStatus();
}

// How long a NodePool may take to go.
absl::StatusOr<absl::Duration> ReadLimit(const CommandLine& line) {
  const bool short_form = line.Has("timeout") && !line.given.contains("wait-timeout");
  const std::string flag = short_form ? "timeout" : "wait-timeout";
  auto timeout = ParseTimeout(absl::StrCat("--", flag), line.Get(flag));
  if (!timeout.ok()) return WrongUse(timeout.status().message());
  return timeout;
}

// Whether the command waits until NodePools are gone.
bool Waits(const CommandLine& line) {
  return !line.Has("dry-run") && (line.Has("wait") || !line.given.contains("wait"));
}

// The deletions of one command, one after the other. What NodePools may need is deleted only once
// they are gone.
class Deletions {
 public:
  // `limit`: how long a NodePool may take to go.
  Deletions(Session& session, absl::Duration limit, const std::vector<ResourceId>& ids)
      : session_(session), limit_(limit) {
    others_.with_cluster =
        absl::c_any_of(ids, [](const ResourceId& id) { return id.kind == Kind::kCluster; });
  }

  absl::Status Delete(const ResourceId& id) {
    const bool is_pool = id.kind == Kind::kNodePool;
    if (!is_pool) RETURN_IF_ERROR(AwaitTurn(id));
    Deletion deletion{.id = id};
    const absl::Status status = DeleteOne(session_, deletion, others_);
    others_.before = others_.before || status.ok();
    // Where there is no such cluster, it may be that another was meant.
    const auto is_gone = [&] {
      return absl::IsNotFound(status) &&
             (others_.with_cluster || CheckClusterOf(session_, id).ok());
    };
    pools_stay_ = pools_stay_ || (is_pool && !status.ok() && !is_gone());
    if (status.ok() && waits_ && is_pool && !deletion.id.id.empty()) asked_.push_back(deletion);
    return status;
  }
  // Waits until the NodePools that are being deleted are gone; goes on after an error of one.
  absl::Status AwaitGone() {
    absl::Status last;
    for (const Deletion& deletion : std::exchange(asked_, {})) {
      const WaitLimit ends(session_.api, limit_);
      absl::Status gone = WaitForPool(session_, deletion.id, true, limit_, deletion.uid);
      if (gone.ok()) continue;
      if (!last.ok()) Tell(last);
      last = std::move(gone);
    }
    return last;
  }
  void Tell(const absl::Status& error) { session_.env.err << RenderError(error); }

 private:
  absl::Status AwaitTurn(const ResourceId& id) {
    const absl::Status gone = AwaitGone();
    pools_stay_ = pools_stay_ || !gone.ok();
    RETURN_IF_ERROR(gone);
    if (!pools_stay_) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        Label(id), " was not deleted: a NodePool that was to go first may be there still."));
  }

  Session& session_;
  const absl::Duration limit_;
  const bool waits_ = Waits(session_.line);
  Others others_ = {};
  std::vector<Deletion> asked_ = {};
  bool pools_stay_ = false;  // a NodePool that was to go is still there
};

}  // namespace

absl::Span<const Kind> DeletedKinds() { return kDeletable; }

bool IsChosen(const CommandLine& line) {
  return line.command == "delete" && (line.Has("all") || line.Has("selector"));
}

absl::Status Delete(Session& session) {
  const CommandLine& line = session.line;
  ASSIGN_OR_RETURN(const absl::Duration limit, ReadLimit(line));
  if (line.Has("dry-run") && line.Has("wait"))
    return WrongUse("delete: either --dry-run or --wait");
  ASSIGN_OR_RETURN(const std::vector<ResourceId> ids, ReadDeletions(session));
  Deletions deletions(session, limit, ids);
  absl::Status status =
      ForEach(session, ids, [&](const ResourceId& id) { return deletions.Delete(id); });
  absl::Status gone = deletions.AwaitGone();
  if (gone.ok()) return status;
  if (!status.ok()) deletions.Tell(status);
  return gone;
}

}  // namespace muster::musterctl
