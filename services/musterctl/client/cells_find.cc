#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/cells.h"

// FindPlacements (where Nodes can be had) over several cells.
namespace muster::musterctl {
namespace {

using capacity::v1::FindPlacementsRequest;
using capacity::v1::FindPlacementsResponse;
using capacity::v1::ZonePlacements;

// The spare machines of a zone, relative to the number asked for, of the request for which that is
// least: as capacity ranks the zones of one cell (muster/capacity/v1/capacity_service.proto),
// except that an answer does not tell what is kept for gangs.
double SpareOf(const ZonePlacements& zone, const FindPlacementsRequest& request) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < std::min(zone.placements_size(), request.requests_size()); ++i) {
    const capacity::v1::Placement& placement = zone.placements(i);
    const auto asked = static_cast<double>(std::max<int64_t>(1, request.requests(i).nodes()));
    auto there = static_cast<double>(placement.free());
    if (placement.availability() > capacity::v1::AVAILABILITY_LIKELY)
      there += static_cast<double>(placement.reclaimable());
    if (placement.availability() > capacity::v1::AVAILABILITY_POSSIBLY)
      there -= static_cast<double>(placement.queue_ahead());
    least = std::min(least, (there - asked) / asked);
  }
  return least;
}

bool IsBetter(const ZonePlacements& a, const ZonePlacements& b,
              const FindPlacementsRequest& request) {
  if (a.availability() != b.availability()) return a.availability() < b.availability();
  const double spare_a = SpareOf(a, request);
  const double spare_b = SpareOf(b, request);
  return spare_a != spare_b ? spare_a > spare_b : a.zone() < b.zone();
}

// What one cell found, and how much of it is merged already.
struct Found {
  std::string cell = {};
  FindPlacementsResponse answer = {};
  int next = 0;

  bool is_left() const { return next < answer.zones_size(); }
  const ZonePlacements& zone() const { return answer.zones(next); }
};

// The zones of all, best first: each cell's stay in the order that it gave them.
FoundPlacements Merge(std::vector<Found> all, const FindPlacementsRequest& request) {
  FoundPlacements merged;
  while (true) {
    Found* best = nullptr;
    for (Found& found : all) {
      if (!found.is_left()) continue;
      if (best == nullptr || IsBetter(found.zone(), best->zone(), request)) best = &found;
    }
    if (best == nullptr) break;
    *merged.answer.add_zones() = best->zone();
    merged.cells.push_back(best->cell);
    ++best->next;
  }
  const bool is_any = merged.answer.zones_size() > 0 &&
                      merged.answer.zones(0).availability() <= capacity::v1::AVAILABILITY_LIMITED;
  if (is_any) merged.answer.set_recommended_zone(merged.answer.zones(0).zone());
  return merged;
}

}  // namespace

absl::StatusOr<std::map<const Cell*, std::vector<std::string>>> CellsApi::ZonesByCell(
    const FindPlacementsRequest& request) {
  std::map<const Cell*, std::vector<std::string>> zones;
  for (const std::string& zone : request.zones()) {
    const auto found = GetEvery(Kind::kZone, zone);
    if (absl::IsNotFound(found.status()))
      return absl::NotFoundError(absl::StrCat("no cell has zone \"", zone, "\""));
    RETURN_IF_ERROR(found.status());
    for (const Item& item : *found) {
      for (const Cell& cell : cells_) {
        if (cell.name == item.cell) zones[&cell].push_back(zone);
      }
    }
  }
  return zones;
}

void CellsApi::PassOverRefusals(Round& round) const {
  if (!round.answered.empty()) return PassOver(round, absl::IsInvalidArgument);
  auto& failures = round.failures;
  const bool all_refuse = std::all_of(failures.begin(), failures.end(), [](const auto& each) {
    return absl::IsInvalidArgument(each.second);
  });
  if (all_refuse && !round.is_one_failure()) failures.erase(failures.begin() + 1, failures.end());
}

absl::StatusOr<FoundPlacements> CellsApi::FindPlacements(const FindPlacementsRequest& request) {
  const auto zones = ZonesByCell(request);
  RETURN_IF_ERROR(zones.status());
  const auto find = [&](const Cell& cell) -> absl::StatusOr<FoundPlacements> {
    FindPlacementsRequest of_cell = request;
    const auto own = zones->find(&cell);
    if (own == zones->end()) {
      // All zones asked for are in other cells. A request without zones would mean all zones of
      // this one.
      if (!zones->empty()) return FoundPlacements();
    } else {
      of_cell.mutable_zones()->Assign(own->second.begin(), own->second.end());
    }
    return cell.api->FindPlacements(of_cell);
  };
  std::vector<Answer<FoundPlacements>> answers;
  Round round = AskEach(find, answers);
  // A cell that has none of the zones was not asked: its empty answer does not count.
  const auto is_left_out = [&](const Cell* cell) {
    return !zones->empty() && !zones->contains(cell);
  };
  std::erase_if(round.answered, is_left_out);
  std::erase_if(answers, [&](const auto& answer) { return is_left_out(answer.cell); });
  PassOverRefusals(round);
  RETURN_IF_ERROR(ConcludeRead(round));
  std::vector<Found> all;
  for (Answer<FoundPlacements>& answer : answers)
    all.push_back({answer.cell->name, std::move(answer.said.answer)});
  return Merge(std::move(all), request);
}

}  // namespace muster::musterctl
