#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "services/common/status_macros.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/print/table.h"
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

}  // namespace

absl::Status Find(Session& session) {
  const std::vector<std::string>& arguments = session.line.arguments;
  if (arguments.size() < 2 || arguments[0] != "placements")
    return WrongUse("find: placements TYPE=NODES[:spot]...");
  ASSIGN_OR_RETURN(const capacity::v1::FindPlacementsRequest request, ParseQuery(session.line));
  ASSIGN_OR_RETURN(const capacity::v1::FindPlacementsResponse response,
                   session.api.FindPlacements(request));
  std::vector<std::vector<std::string>> rows;
  for (const capacity::v1::ZonePlacements& zone : response.zones()) {
    for (int i = 0; i < zone.placements_size() && i < request.requests_size(); ++i) {
      const capacity::v1::Placement& placement = zone.placements(i);
      const capacity::v1::PlacementRequest& wanted = request.requests(i);
      rows.push_back({zone.zone(), wanted.instance_type(), absl::StrCat(wanted.nodes()),
                      ComputeClassWord(wanted.compute_class()), absl::StrCat(placement.free()),
                      absl::StrCat(placement.reclaimable()), absl::StrCat(placement.queue_ahead()),
                      absl::StrCat(placement.in_service()), Label(placement.availability())});
    }
  }
  session.world.out << TablePrinter({"ZONE", "INSTANCE TYPE", "NODES", "CLASS", "FREE",
                                     "RECLAIMABLE", "AHEAD", "IN SERVICE", "AVAILABILITY"})
                           .Print(rows);
  session.world.out << (response.recommended_zone().empty()
                            ? std::string("No zone is recommended.")
                            : absl::StrCat("Recommended zone: ", response.recommended_zone()))
                    << "\n";
  return absl::OkStatus();
}

}  // namespace muster::musterctl
