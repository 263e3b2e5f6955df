#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/status_macros.h"
#include "services/common/timestamp.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/commands/editing.h"
#include "services/musterctl/commands/references.h"
#include "services/musterctl/print/line_diff.h"
#include "services/musterctl/print/objects.h"

// What manifests would change, beside what is there.
namespace muster::musterctl {
namespace {

// OK if the cluster that the NodePool of `of` is in exists or one of the manifests makes it.
absl::Status CheckClusterFor(Session& session, const Manifest& of,
                             const std::vector<Manifest>& manifests) {
  const std::string pool = ResourceName(of.resource);
  const std::string wanted = ClusterOf(pool);
  for (const Manifest& manifest : manifests) {
    const auto* cluster = std::get_if<lifecycle::v1::Cluster>(&manifest.resource);
    if (cluster != nullptr && cluster->name() == wanted) return absl::OkStatus();
  }
  if (IsInScope(Kind::kNodePool, pool, session.scope)) return CheckCluster(session);
  const absl::Status found = session.api.Get(Kind::kCluster, wanted).status();
  return absl::IsNotFound(found) ? AtManifest(found, of) : absl::OkStatus();
}

using Overrides = google::protobuf::RepeatedPtrField<quota::v1::LimitOverride>;

// The overrides as the server keeps them: in microseconds, without those that have lapsed.
Overrides AsKept(const Overrides& written, absl::Time now) {
  Overrides kept;
  for (quota::v1::LimitOverride given : written) {
    for (auto* time : {given.mutable_effective_time(), given.mutable_expire_time()})
      time->set_nanos(time->nanos() / 1000 * 1000);
    if (FromTimestamp(given.expire_time()) > now) *kept.Add() = std::move(given);
  }
  return kept;
}

// `wanted`, which the manifest says, as apply would leave it beside what is there (null: nothing).
Item AfterApply(Item wanted, const Manifest& manifest, const Item* live, absl::Time now) {
  // Overrides that a manifest does not speak of stay.
  if (auto* quota = std::get_if<quota::v1::Quota>(&wanted))
    *quota->mutable_overrides() = live == nullptr || manifest.says_overrides
                                      ? AsKept(quota->overrides(), now)
                                      : std::get<quota::v1::Quota>(*live).overrides();
  if (auto* zone = std::get_if<capacity::v1::Zone>(&wanted)) {
    const std::set<std::string> types(zone->instance_types().begin(), zone->instance_types().end());
    zone->mutable_instance_types()->Assign(types.begin(), types.end());
  }
  return wanted;
}

// The part of a resource that its owner writes; for a Release also whether it is withdrawn.
nlohmann::json SaidOf(const Item& item) {
  nlohmann::json said = OwnersPart(item);
  const auto* release = std::get_if<configuration::v1::Release>(&item);
  if (release != nullptr && release->has_withdraw_time()) said["status"] = "withdrawn";
  return said;
}

// What `diff -f` prints of one manifest.
absl::StatusOr<std::string> DiffManifest(Session& session, const Manifest& manifest,
                                         const std::vector<Manifest>& all) {
  const std::optional<Item> wanted = ItemOf(manifest.resource);
  if (!wanted) {
    session.env.err << "note: " << manifest.label
                    << " is not compared; apply --dry-run says how many machines are new\n";
    return "";
  }
  const auto live = session.api.Get(KindOf(*wanted), NameOf(*wanted));
  if (!live.ok() && !absl::IsNotFound(live.status())) return live.status();
  if (!live.ok() && KindOf(*wanted) == Kind::kNodePool)
    RETURN_IF_ERROR(CheckClusterFor(session, manifest, all));
  const auto* release = std::get_if<configuration::v1::Release>(&*wanted);
  if (release != nullptr && release->has_withdraw_time()) return "";  // apply leaves it alone
  const std::string before = live.ok() ? ToYaml(SaidOf(*live)) : "";
  const Item after =
      AfterApply(*wanted, manifest, live.ok() ? &*live : nullptr, session.env.clock.Now());
  const std::string diff = LineDiff(before, ToYaml(SaidOf(after)));
  if (diff.empty()) return "";
  return absl::StrCat("--- ", live.ok() ? manifest.label : "/dev/null", "\n+++ ", manifest.label,
                      " (", manifest.place, ")\n", diff);
}

}  // namespace

absl::Status DiffFiles(Session& session) {
  if (!session.line.arguments.empty() || session.line.Has("since"))
    return WrongUse("diff: either -f or KIND/NAME --since");
  ASSIGN_OR_RETURN(const std::vector<Manifest> manifests, ReadManifests(session));
  bool differs = false;
  for (const Manifest& manifest : manifests) {
    ASSIGN_OR_RETURN(const std::string diff, DiffManifest(session, manifest, manifests));
    session.env.out << diff;
    differs |= !diff.empty();
  }
  return differs ? AlreadyPrinted() : absl::OkStatus();
}

}  // namespace muster::musterctl
