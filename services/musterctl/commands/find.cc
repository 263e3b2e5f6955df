#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/commands/editing.h"
#include "services/musterctl/commands/for_each.h"
#include "services/musterctl/commands/output.h"
#include "services/musterctl/print/objects.h"
#include "services/musterctl/print/preview.h"
#include "services/musterctl/print/words.h"

namespace muster::musterctl {
namespace {

// The finder's words for people.
std::string Label(capacity::v1::Availability availability) {
  if (availability == capacity::v1::AVAILABILITY_LIKELY) return "Likely available";
  if (availability == capacity::v1::AVAILABILITY_POSSIBLY) return "Possibly available";
  if (availability == capacity::v1::AVAILABILITY_LIMITED) return "Limited availability";
  if (availability == capacity::v1::AVAILABILITY_NOT_AVAILABLE) return "Not available";
  if (availability == capacity::v1::AVAILABILITY_SKU_UNAVAILABLE) return "SKU unavailable";
  return "Unknown";
}

// `TYPE=NODES` or `TYPE=NODES:spot`.
absl::StatusOr<capacity::v1::PlacementRequest> ParsePlacement(absl::string_view text) {
  capacity::v1::PlacementRequest request;
  const size_t equals = text.find('=');
  if (equals == absl::string_view::npos || equals == 0)
    return WrongUse(absl::StrCat("find placements: must be TYPE=NODES[:spot], is \"", text, "\""));
  absl::string_view count = text.substr(equals + 1);
  if (absl::ConsumeSuffix(&count, ":spot")) request.set_compute_class(type::v1::COMPUTE_CLASS_SPOT);
  const absl::StatusOr<int64_t> nodes = ParseCount(text.substr(0, equals), count);
  if (!nodes.ok()) return WrongUse(nodes.status().message());
  request.set_instance_type(std::string(text.substr(0, equals)));
  request.set_nodes(*nodes);
  return request;
}

absl::StatusOr<capacity::v1::FindPlacementsRequest> ParseQuery(const CommandLine& line) {
  capacity::v1::FindPlacementsRequest request;
  for (size_t i = 1; i < line.arguments.size(); ++i) {
    ASSIGN_OR_RETURN(*request.add_requests(), ParsePlacement(line.arguments[i]));
  }
  const auto zones = line.flags.find("zone");
  if (zones != line.flags.end())
    request.mutable_zones()->Assign(zones->second.begin(), zones->second.end());
  return request;
}

// Of the zone with that number.
const std::string& CellOf(const FoundPlacements& found, int zone) {
  return found.cells[static_cast<size_t>(zone)];
}

// A table of all that was found.
void PrintRanking(Session& session, const capacity::v1::FindPlacementsRequest& request,
                  const FoundPlacements& found) {
  std::vector<std::vector<std::string>> rows;
  for (int at = 0; at < found.answer.zones_size(); ++at) {
    const capacity::v1::ZonePlacements& zone = found.answer.zones(at);
    for (int i = 0; i < zone.placements_size() && i < request.requests_size(); ++i) {
      const capacity::v1::Placement& placement = zone.placements(i);
      const capacity::v1::PlacementRequest& wanted = request.requests(i);
      rows.push_back({zone.zone(), wanted.instance_type(), absl::StrCat(wanted.nodes()),
                      ComputeClassWord(wanted.compute_class()), absl::StrCat(placement.free()),
                      absl::StrCat(placement.reclaimable()), absl::StrCat(placement.queue_ahead()),
                      absl::StrCat(placement.in_service()), Label(placement.availability())});
      if (session.of_cells) rows.back().insert(rows.back().begin(), CellOf(found, at));
    }
  }
  std::vector<std::string> headers = {"ZONE",  "INSTANCE TYPE", "NODES",
                                      "CLASS", "FREE",          "RECLAIMABLE",
                                      "AHEAD", "IN SERVICE",    "AVAILABILITY"};
  if (session.of_cells) headers.insert(headers.begin(), "CELL");
  PrintTable(std::move(headers), rows, false, session);
}

void PrintRecommended(Session& session, const FoundPlacements& found) {
  const std::string& zone = found.answer.recommended_zone();
  session.env.out << (zone.empty() ? "No zone is recommended."
                                   : absl::StrCat("Recommended zone: ", zone));
  if (!zone.empty() && session.of_cells) session.env.out << " (in " << CellOf(found, 0) << ")";
  session.env.out << "\n";
}

// Bytes of a NodePool's name.
constexpr size_t kLongestPoolName = 63;

// The id of an instance type as a NodePool's name, which is a DNS subdomain, with `tail` at its
// end.
std::string PoolIdOf(absl::string_view instance_type, absl::string_view tail) {
  std::string id;
  for (char c : absl::AsciiStrToLower(instance_type)) {
    if (c == '_') c = '-';
    const bool is_joint = c == '-' || c == '.';
    if (is_joint && id.empty()) continue;
    // Both sides of a dot have to be letters or digits.
    if (is_joint && (id.back() == '.' || (id.back() == '-' && c == '.'))) {
      id.back() = '-';
    } else {
      id += c;
    }
  }
  id.resize(std::min(id.size(), kLongestPoolName - tail.size()));
  while (!id.empty() && (id.back() == '-' || id.back() == '.')) id.pop_back();
  return absl::StrCat(id, tail);
}

// A NodePool for each request. The first is called `name` (if empty: by its instance type), the
// next of that name `name-2`, ...
std::vector<lifecycle::v1::NodePool> PoolsOf(const capacity::v1::FindPlacementsRequest& request,
                                             const std::string& name, const Scope& scope) {
  std::vector<lifecycle::v1::NodePool> pools;
  std::set<std::string> taken;
  for (const capacity::v1::PlacementRequest& wanted : request.requests()) {
    lifecycle::v1::NodePool& pool = pools.emplace_back();
    const bool spot = wanted.compute_class() == type::v1::COMPUTE_CLASS_SPOT;
    const auto named = [&](const std::string& tail) {
      return name.empty()
                 ? PoolIdOf(wanted.instance_type(), absl::StrCat(spot ? "-spot" : "", tail))
                 : absl::StrCat(name, tail);
    };
    std::string id = named("");
    for (int number = 2; !taken.insert(id).second; ++number) id = named(absl::StrCat("-", number));
    pool.set_name(absl::StrCat("organizations/", scope.organization, "/clusters/", scope.cluster,
                               "/nodePools/", id));
    pool.mutable_spec()->set_instance_type(wanted.instance_type());
    pool.mutable_spec()->set_target_nodes(wanted.nodes());
    if (spot) pool.mutable_spec()->set_compute_class("spot");
  }
  return pools;
}

// `k=v,k=v` of --labels onto every NodePool.
absl::Status AddLabels(const std::string& text, std::vector<lifecycle::v1::NodePool>& pools) {
  if (text.empty()) return absl::OkStatus();
  for (const absl::string_view pair : absl::StrSplit(text, ',')) {
    const std::vector<std::string> parts = absl::StrSplit(pair, absl::MaxSplits('=', 1));
    if (parts.size() != 2 || parts[0].empty())
      return WrongUse(absl::StrCat("--labels: must be KEY=VALUE,..., is \"", text, "\""));
    for (lifecycle::v1::NodePool& pool : pools)
      (*pool.mutable_spec()->mutable_node_labels())[parts[0]] = parts[1];
  }
  return absl::OkStatus();
}

bool SaysCluster(const CommandLine& line) { return line.given.contains("cluster"); }

// Refuses a scope that is no one cluster, as that of contexts of several.
absl::Status CheckScope(const Scope& scope) {
  if (scope.organization != "-" && scope.cluster != "-") return absl::OkStatus();
  return NoPlace("find");
}

// Refuses a zone that is not the cluster's: NodePools get machines in the cluster's zone only.
absl::Status CheckZone(Session& session, const std::string& zone) {
  ASSIGN_OR_RETURN(const Item item, session.api.Get(Kind::kCluster, session.scope.cluster));
  const std::string& is = std::get<lifecycle::v1::Cluster>(item).zone();
  if (is == zone) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the recommended zone is ", zone, ", and cluster \"", session.scope.cluster, "\" is in ", is,
      "; name one that is there with --cluster, or ask with --zone=", is));
}

// Refuses a NodePool that exists: what is recommended has none of the labels, taints and sizes that
// it may have, and would replace them.
absl::Status CheckNew(Session& session, const std::vector<lifecycle::v1::NodePool>& pools) {
  for (const lifecycle::v1::NodePool& pool : pools) {
    const absl::Status found = session.api.Get(Kind::kNodePool, IdOf(pool)).status();
    if (found.ok())
      return absl::AlreadyExistsError(
          absl::StrCat("nodepool \"", IdOf(pool), "\" is there already; choose another --name"));
    if (!absl::IsNotFound(found)) return found;
  }
  return absl::OkStatus();
}

absl::Status ApplyFound(Session& session, const std::vector<lifecycle::v1::NodePool>& pools) {
  RETURN_IF_ERROR(CheckNew(session, pools));
  const WriteMode mode = ModeOf(session.line);
  for (const lifecycle::v1::NodePool& pool : pools) {
    const auto applied = session.api.Apply(pool, mode);
    if (!applied.ok()) {
      TellLeftBehind(session, pools, pool,
                     [](const auto& each) { return absl::StrCat("nodepool/", IdOf(each)); });
      return RenameFields(applied.status(), ManifestPath);
    }
    session.env.out << "nodepool/" << IdOf(pool) << " "
                    << OutcomeWord(applied->outcome, mode.dry_run);
    if (session.of_cells) session.env.out << " (" << applied->detail << ")";
    session.env.out << "\n";
    for (const std::string& warning : applied->warnings)
      session.env.err << "warning: nodepool/" << IdOf(pool) << ": " << warning << "\n";
    if (applied->preview) session.env.out << RenderPreview(*applied->preview);
  }
  return absl::OkStatus();
}

// Without what only the server knows, so that `apply` takes it. With the cluster, if the line says
// one; else whoever applies it chooses one of that zone.
absl::Status PrintFound(Session& session, const std::vector<lifecycle::v1::NodePool>& pools,
                        const std::string& zone) {
  const bool as_json = session.line.Get("output") == "json";
  int documents = 0;
  for (const lifecycle::v1::NodePool& pool : pools) {
    nlohmann::json object = OwnersPart(pool);
    if (SaysCluster(session.line)) AddPlace(pool.name(), object);
    if (as_json) {
      // Names and labels are the line's, and need not be UTF-8.
      using nlohmann::json;
      session.env.out << object.dump(2, ' ', false, json::error_handler_t::replace) << "\n";
    } else {
      session.env.out << (documents++ > 0 ? "---\n" : "") << "# For a cluster in " << zone << ".\n"
                      << ToYaml(object);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckWords(const CommandLine& line) {
  if (line.arguments.size() < 2 || line.arguments[0] != "placements")
    return WrongUse("find: placements TYPE=NODES[:spot]...");
  const std::string output = line.Get("output");
  if (!output.empty() && output != "yaml" && output != "json")
    return WrongUse("find: --output may be yaml or json: the manifest");
  if (line.Has("apply") && !line.Has("name")) return WrongUse("find --apply: --name is missing");
  if (line.Has("must-fit") && !line.Has("apply"))
    return WrongUse("find --must-fit: only with --apply");
  if (line.Has("apply") && !output.empty()) return WrongUse("find: either --apply or --output");
  return absl::OkStatus();
}

}  // namespace

absl::Status Find(Session& session) {
  const CommandLine& line = session.line;
  RETURN_IF_ERROR(CheckWords(line));
  ASSIGN_OR_RETURN(const capacity::v1::FindPlacementsRequest request, ParseQuery(line));
  const bool has_place = line.Has("apply") || (line.Has("output") && SaysCluster(line));
  if (has_place) RETURN_IF_ERROR(CheckScope(session.scope));
  std::vector<lifecycle::v1::NodePool> pools = PoolsOf(request, line.Get("name"), session.scope);
  RETURN_IF_ERROR(AddLabels(line.Get("labels"), pools));
  ASSIGN_OR_RETURN(const FoundPlacements found, session.api.FindPlacements(request));
  const std::string& zone = found.answer.recommended_zone();
  const bool has_manifest = line.Has("output") || line.Has("apply");
  if (has_manifest && zone.empty())
    return absl::FailedPreconditionError(
        "no zone is recommended: these Nodes are to be had nowhere now");
  if (!line.Has("output")) {
    PrintRanking(session, request, found);
    PrintRecommended(session, found);
  }
  if (has_place) RETURN_IF_ERROR(CheckZone(session, zone));
  if (line.Has("output")) return PrintFound(session, pools, zone);
  return line.Has("apply") ? ApplyFound(session, pools) : absl::OkStatus();
}

}  // namespace muster::musterctl
