#include "services/musterctl/top/page.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/musterctl/top/map.h"
#include "services/musterctl/top/section.h"
#include "services/musterctl/top/tables.h"
#include "services/musterctl/top/times.h"

namespace muster::musterctl::top {
namespace {

using page::CellState;

Line TitleOf(const Fleet& fleet, const View& view) {
  Line line("musterctl top", Style::kTitle);
  line.Add(absl::StrCat("  ", view.server, "  ",
                        absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", view.now, absl::UTCTimeZone())));
  line.Add(fleet.last_change() == absl::InfinitePast()
               ? "  no change yet"
               : absl::StrCat("  last change ", Ago(fleet.last_change(), view.now), " ago"));
  if (!view.filter.zone.empty()) line.Add(absl::StrCat("  zone ", view.filter.zone));
  if (!view.filter.organization.empty())
    line.Add(absl::StrCat("  organization ", view.filter.organization));
  return line;
}

// With one server the names of the live watches, with several cells those of the cells whose
// watches are all live.
std::vector<std::string> LiveOf(const View& view) {
  std::vector<std::string> live;
  for (const CellWatches& cell : view.cells) {
    if (!cell.cell.empty() && !cell.are_live()) continue;
    absl::Time since = absl::InfinitePast();
    for (const page::WatchHealth& watch : cell.watches) {
      since = std::max(since, watch.since);
      if (cell.cell.empty() && watch.live)
        live.push_back(absl::StrCat(watch.service, " ", Ago(watch.since, view.now)));
    }
    if (!cell.cell.empty()) live.push_back(absl::StrCat(cell.cell, " ", Ago(since, view.now)));
  }
  return live;
}

// One line for those that are live, one for each reason why others are not.
void AddWatches(const View& view, std::vector<Line>& lines) {
  const std::vector<std::string> live = LiveOf(view);
  if (!live.empty()) {
    lines.push_back(Line("watches ").Add("live", Style::kGood).Add(": "));
    lines.back().Add(absl::StrJoin(live, ", "));
  }
  for (const CellWatches& cell : view.cells) {
    for (const page::WatchHealth& watch : Silent(cell.watches)) {
      // The important part of an error may be at its end: it may continue on a second line.
      const std::string text = absl::StrCat(
          "! ", cell.cell, cell.cell.empty() ? "" : ": ", watch.service, ": no news for ",
          Ago(watch.since, view.now), ", trying again: ", watch.error);
      lines.emplace_back(text.substr(0, view.width), Style::kBad);
      if (text.size() > view.width)
        lines.push_back(Line("  ").Add(text.substr(view.width), Style::kBad));
    }
  }
}

// Adds who took over last. Whether that replica is still there the pools tell: if nobody
// reconciles, that is their trouble.
void AddReconcilers(const View& view, std::vector<Line>& lines) {
  for (const Reconciler& leader : view.reconcilers) {
    std::string text = absl::StrCat("reconciles ", leader.cell, leader.cell.empty() ? "" : ": ",
                                    leader.holder, ", epoch ", leader.epoch);
    const std::string age = Ago(leader.since, view.now);
    if (!age.empty()) absl::StrAppend(&text, ", since ", age);
    lines.emplace_back(std::move(text));
  }
}

Line TotalsOf(const Fleet& fleet, const View& view, size_t troubles) {
  const StateCounts counts = CountStates(fleet, view.filter);
  const auto count = [&](CellState state) { return counts[static_cast<size_t>(state)]; };
  size_t machines = 0;
  for (const size_t one : counts) machines += one;
  const size_t idle =
      count(CellState::kFree) + count(CellState::kInRepair) + count(CellState::kRetired);
  size_t pools = 0;
  for (const auto& [name, row] : fleet.pools()) pools += size_t{Shows(view.filter, row.pool)};
  Line line(absl::StrCat("pools ", pools - troubles, " ok, "));
  line.Add(absl::StrCat(troubles, " not"), troubles > 0 ? Style::kWarn : Style::kPlain);
  return line.Add(absl::StrCat("; machines ", machines, ": ", count(CellState::kFree), " free, ",
                               machines - idle, " held, ", count(CellState::kInRepair),
                               " in repair; Nodes in service ", count(CellState::kProduction)));
}

}  // namespace

std::vector<page::WatchHealth> Silent(const std::vector<page::WatchHealth>& watches) {
  std::vector<page::WatchHealth> silent;
  for (const page::WatchHealth& watch : watches) {
    if (watch.live) continue;
    const auto same = std::find_if(silent.begin(), silent.end(),
                                   [&](const auto& other) { return other.error == watch.error; });
    if (same == silent.end()) {
      silent.push_back(watch);
      continue;
    }
    absl::StrAppend(&same->service, ", ", watch.service);
    same->since = std::min(same->since, watch.since);
  }
  return silent;
}

std::vector<Line> Render(const Fleet& fleet, const View& view) {
  const std::vector<Trouble> troubles = TroublesOf(fleet, view.filter);
  std::vector<Line> lines = {TitleOf(fleet, view)};
  AddWatches(view, lines);
  AddReconcilers(view, lines);
  lines.push_back(TotalsOf(fleet, view, troubles.size()));
  const bool many = fleet.places().size() > kMostMachines;
  std::vector<Section> sections = {many ? MapOfRacks(fleet, view.filter, view.width)
                                        : MapOfMachines(fleet, view.filter, view.width),
                                   QuotaTable(fleet, view), QueueTable(fleet, view),
                                   PoolTable(fleet, view, troubles)};
  const auto heights = [&] {
    std::vector<size_t> wants;
    for (const Section& section : sections) {
      wants.push_back(view.height > 0 ? section.height()
                                      : std::min(section.height(), kMostRows + 2));
    }
    // Without an end, the map is whole, however many racks there are.
    if (view.height == 0) {
      wants[0] = sections[0].height();
      return wants;
    }
    return Share(wants, view.height - std::min(view.height, lines.size()));
  };
  std::vector<size_t> given = heights();
  if (given[0] < sections[0].height() && !many) {
    Section racks = MapOfRacks(fleet, view.filter, view.width);
    if (racks.height() < sections[0].height()) sections[0] = std::move(racks);
    given = heights();
  }
  for (size_t i = 0; i < sections.size(); ++i) {
    std::vector<Line> part = Cut(sections[i], given[i]);
    std::move(part.begin(), part.end(), std::back_inserter(lines));
  }
  if (view.height > 0 && lines.size() > view.height) lines.resize(view.height);
  return lines;
}

std::string Print(const std::vector<Line>& lines, size_t width, bool colour,
                  absl::string_view end) {
  std::string out;
  for (const Line& line : lines) absl::StrAppend(&out, line.Print(width, colour), end);
  return out;
}

}  // namespace muster::musterctl::top
