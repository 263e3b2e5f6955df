#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/status_macros.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/commands/editing.h"
#include "services/musterctl/print/line_diff.h"
#include "services/musterctl/print/objects.h"

// What manifests would change, beside what is there.
namespace muster::musterctl {
namespace {

// The cluster of the scope, which NodePools are in, is there or is made by one of them.
absl::Status CheckClusterFor(Session& session, const std::vector<Manifest>& manifests) {
  for (const Manifest& manifest : manifests) {
    const auto* cluster = std::get_if<lifecycle::v1::Cluster>(&manifest.resource);
    if (cluster != nullptr && IdOf(*cluster) == session.scope.cluster) return absl::OkStatus();
  }
  return CheckCluster(session);
}

// What `diff -f` prints of one manifest.
absl::StatusOr<std::string> DiffManifest(Session& session, const Manifest& manifest,
                                         const std::vector<Manifest>& all) {
  const std::optional<Item> wanted = ItemOf(manifest.resource);
  if (!wanted) {
    session.world.err << "note: " << manifest.label
                      << " is not compared; apply --dry-run says how many machines are new\n";
    return "";
  }
  const auto live = session.api.Get(KindOf(*wanted), NameOf(*wanted));
  if (!live.ok() && !absl::IsNotFound(live.status())) return live.status();
  if (!live.ok() && KindOf(*wanted) == Kind::kNodePool)
    RETURN_IF_ERROR(CheckClusterFor(session, all));
  const std::string before = live.ok() ? ToYaml(OwnersPart(*live)) : "";
  const std::string diff = LineDiff(before, ToYaml(OwnersPart(*wanted)));
  if (diff.empty()) return "";
  return absl::StrCat("--- ", live.ok() ? manifest.label : "/dev/null", "\n+++ ", manifest.label,
                      " (", manifest.place, ")\n", diff);
}

}  // namespace

absl::Status DiffFiles(Session& session) {
  if (!session.line.arguments.empty()) return WrongUse("diff: either -f or KIND/NAME --since");
  ASSIGN_OR_RETURN(const std::vector<Manifest> manifests, ReadManifests(session));
  bool differs = false;
  for (const Manifest& manifest : manifests) {
    ASSIGN_OR_RETURN(const std::string diff, DiffManifest(session, manifest, manifests));
    session.world.out << diff;
    differs |= !diff.empty();
  }
  return differs ? SaidAlready() : absl::OkStatus();
}

}  // namespace muster::musterctl
