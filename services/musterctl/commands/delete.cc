#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/commands/output.h"
#include "services/musterctl/commands/references.h"
#include "services/musterctl/print/preview.h"

namespace muster::musterctl {
namespace {

// One that is to go: its label, and once it was asked for, the uid of the NodePool.
struct Deletion {
  ResourceId id = {};
  std::string uid = {};
};

constexpr Kind kDeletable[] = {Kind::kNodePool,     Kind::kQuota,   Kind::kCluster, Kind::kZone,
                               Kind::kInstanceType, Kind::kMachine, Kind::kRelease};
constexpr char kUsage[] =
    "delete: say nodepool, quota, cluster, zone, instancetype, machine or release, and NAME";

absl::StatusOr<std::vector<ResourceId>> OfManifests(Session& session) {
  std::vector<ResourceId> ids;
  ASSIGN_OR_RETURN(std::vector<Manifest> manifests, ReadManifests(session));
  for (const Manifest& manifest : manifests) {
    if (const auto* pool = std::get_if<lifecycle::v1::NodePool>(&manifest.resource)) {
      ids.push_back({Kind::kNodePool, IdOf(*pool)});
    } else if (const auto* quota = std::get_if<quota::v1::Quota>(&manifest.resource)) {
      ids.push_back({Kind::kQuota, quota->name()});
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat(manifest.place, ": ", manifest.label,
                       " is not deleted by a file; only NodePools and quotas are. By name: delete "
                       "KIND/NAME"));
    }
  }
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
    // Quotas are the organization's: who means a cluster does not mean them.
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
      session.world.err << "No " << KindPlural(kind) << " found.\n";
    }
    for (const Item& item : items) ids.push_back({kind, IdOf(item)});
  }
  return ids;
}

absl::StatusOr<std::vector<ResourceId>> ReadDeletions(Session& session) {
  const CommandLine& line = session.line;
  const bool chosen = line.Has("all") || line.Has("selector");
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

absl::Status DeleteOne(Session& session, Deletion& deletion) {
  const bool dry_run = session.line.Has("dry-run");
  lifecycle::v1::NodePool pool;
  absl::Status status;
  if (deletion.id.kind == Kind::kNodePool) {
    const auto answer = session.api.DeleteNodePool(deletion.id.id, dry_run);
    status = answer.status();
    if (answer.ok()) pool = *answer;
    deletion.uid = pool.uid();
  } else {
    status = session.api.DeleteItem(deletion.id, dry_run);
  }
  const std::string label = Label(deletion.id);
  if (absl::IsNotFound(status) && session.line.Has("ignore-not-found")) {
    session.world.out << label << " not found\n";
    deletion.id.id.clear();
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(status);
  session.world.out << label << (dry_run ? " would be deleted" : " deleted") << std::endl;
  if (dry_run && deletion.id.kind == Kind::kNodePool)
    session.world.out << RenderPreview(pool.preview());
  return absl::OkStatus();
}

// How long a NodePool may take to go.
absl::StatusOr<absl::Duration> WaitLimit(const CommandLine& line) {
  const bool short_form = line.Has("timeout") && !line.given.contains("wait-timeout");
  const std::string flag = short_form ? "timeout" : "wait-timeout";
  auto timeout = ParseTimeout(absl::StrCat("--", flag), line.Get(flag));
  if (!timeout.ok()) return WrongUse(timeout.status().message());
  return timeout;
}

}  // namespace

absl::Status Delete(Session& session) {
  const CommandLine& line = session.line;
  ASSIGN_OR_RETURN(const absl::Duration limit, WaitLimit(line));
  if (line.Has("dry-run") && line.Has("wait"))
    return WrongUse("delete: either --dry-run or --wait");
  ASSIGN_OR_RETURN(const std::vector<ResourceId> ids, ReadDeletions(session));
  std::vector<Deletion> asked;
  const auto tell = [&](const absl::Status& error) { session.world.err << RenderError(error); };
  const auto delete_one = [&](const ResourceId& id) -> absl::Status {
    Deletion deletion{.id = id};
    RETURN_IF_ERROR(DeleteOne(session, deletion));
    if (id.kind == Kind::kNodePool && !deletion.id.id.empty()) asked.push_back(deletion);
    return absl::OkStatus();
  };
  absl::Status status = ForEach(ids, delete_one, tell);
  const bool waits = !line.Has("dry-run") && (line.Has("wait") || !line.given.contains("wait"));
  for (const Deletion& deletion : asked) {
    if (!waits) break;
    const absl::Status gone = WaitForPool(session, deletion.id, true, limit, deletion.uid);
    if (gone.ok()) continue;
    if (!status.ok()) tell(status);
    status = gone;
  }
  return status;
}

}  // namespace muster::musterctl
