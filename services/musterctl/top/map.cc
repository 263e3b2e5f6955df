#include "services/musterctl/top/map.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/count_text.h"

namespace muster::musterctl::top {
namespace {

using page::CellState;

constexpr absl::string_view kIndent = "    ";

struct Rack {
  std::string name = {};
  std::vector<const Machine*> machines = {};
};

struct Block {
  std::string zone = {};
  std::string type = {};
  std::vector<Rack> racks = {};
};

bool Shows(const Filter& filter, const Machine& machine) {
  return filter.zone.empty() || machine.zone == filter.zone;
}

std::vector<Block> BlocksOf(const Fleet& fleet, const Filter& filter) {
  std::vector<Block> blocks;
  for (const Machine* machine : fleet.places()) {
    if (!Shows(filter, *machine)) continue;
    if (blocks.empty() || blocks.back().zone != machine->zone ||
        blocks.back().type != machine->type)
      blocks.push_back({machine->zone, machine->type});
    std::vector<Rack>& racks = blocks.back().racks;
    if (racks.empty() || racks.back().name != machine->rack) racks.push_back({machine->rack});
    racks.back().machines.push_back(machine);
  }
  return blocks;
}

bool IsInUse(CellState state) {
  return state != CellState::kFree && state != CellState::kInRepair && state != CellState::kRetired;
}

bool IsIll(CellState state) { return state == CellState::kTriage || state == CellState::kFailed; }

// The length of the prefix that all racks' names share, up to a `-` or the like; it is not shown.
size_t SharedStart(const std::vector<Rack>& racks) {
  absl::string_view shared = racks.front().name;
  for (const Rack& rack : racks) {
    size_t same = 0;
    while (same < shared.size() && same < rack.name.size() && shared[same] == rack.name[same])
      ++same;
    shared = shared.substr(0, same);
  }
  // Of a single rack only the last part of the name is shown.
  if (racks.size() == 1 && !shared.empty()) shared.remove_suffix(1);
  const size_t mark = shared.find_last_of("-/._");
  return mark == absl::string_view::npos ? 0 : mark + 1;
}

// The caption of each block: which it is, and how much of it is free, in columns.
std::vector<Line> CaptionsOf(const std::vector<Block>& blocks) {
  Columns columns;
  for (const Block& block : blocks) {
    size_t machines = 0;
    size_t unheld = 0;
    for (const Rack& rack : block.racks) {
      machines += rack.machines.size();
      for (const Machine* machine : rack.machines)
        unheld += static_cast<size_t>(machine->state() == CellState::kFree);
    }
    columns.AddRow({{block.zone, Style::kTitle},
                    {block.type, Style::kTitle},
                    {absl::StrCat(unheld), Style::kDim, true},
                    {absl::StrCat("of ", machines, " free"), Style::kDim}});
  }
  std::vector<Line> lines = columns.Lines();
  size_t width = 0;
  for (const Line& line : lines) width = std::max(width, line.width());
  for (Line& line : lines) line.PadTo(width);
  return lines;
}

// Letters with what stands before them.
struct Piece {
  std::string label = {};
  std::vector<std::pair<char, Style>> letters = {};

  size_t width() const { return label.size() + letters.size(); }
};

// The pieces in rows of at most `width`: beside the caption if all of them fit there, else below
// it. A piece that is wider than a row goes on in the next one.
void AddBlock(const Line& caption, const std::vector<Piece>& pieces, size_t width,
              std::vector<Line>& rows) {
  constexpr absl::string_view kGap = "  ";
  size_t wanted = caption.width();
  for (const Piece& piece : pieces) wanted += kGap.size() + piece.width();
  rows.push_back(caption);
  const bool below = wanted > width;
  bool fresh = below;
  for (const Piece& piece : pieces) {
    if (fresh || (below && rows.back().width() + kGap.size() + piece.width() > width)) {
      rows.emplace_back(kIndent);
      fresh = false;
    } else {
      rows.back().Add(kGap);
    }
    rows.back().Add(piece.label, Style::kDim);
    for (const auto& [letter, style] : piece.letters) {
      if (below && rows.back().width() >= std::max(width, kIndent.size() + 1))
        rows.emplace_back(kIndent);
      rows.back().Add(std::string(1, letter), style);
    }
  }
}

// `.` none, `1` to `9` tenths, `#` all, `!` whatever the share.
std::pair<char, Style> ShareOf(const Rack& rack) {
  size_t used = 0;
  bool ill = false;
  for (const Machine* machine : rack.machines) {
    used += static_cast<size_t>(IsInUse(machine->state()));
    ill = ill || IsIll(machine->state());
  }
  const size_t tenths = std::max<size_t>(used == 0 ? 0 : 1, 10 * used / rack.machines.size());
  if (ill) return {'!', Style::kBad};
  if (tenths == 0) return {'.', Style::kDim};
  return {tenths >= 10 ? '#' : static_cast<char>('0' + tenths), Style::kGood};
}

Line TitleOf(const std::vector<Block>& blocks) {
  size_t machines = 0;
  for (const Block& block : blocks) {
    for (const Rack& rack : block.racks) machines += rack.machines.size();
  }
  return Line("FLEET", Style::kTitle).Add(absl::StrCat("  ", CountText(machines, "machine")));
}

}  // namespace

char LetterOf(CellState state) {
  switch (state) {
    case CellState::kFree:
      return '.';
    case CellState::kHeld:
      return 'h';
    case CellState::kAssigned:
      return 'a';
    case CellState::kBooting:
      return 'b';
    case CellState::kRegistered:
      return 'r';
    case CellState::kProduction:
      return 'P';
    case CellState::kReconfiguring:
      return 'c';
    case CellState::kTriage:
      return 'T';
    case CellState::kLeaving:
      return 'l';
    case CellState::kReclaiming:
      return 's';
    case CellState::kFailed:
      return 'F';
    case CellState::kInRepair:
      return 'R';
    case CellState::kRetired:
      return '-';
    case CellState::kNodeless:
      return '_';
  }
  return '?';
}

Style StyleOf(CellState state) {
  switch (state) {
    case CellState::kFree:
    case CellState::kRetired:
    case CellState::kNodeless:
      return Style::kDim;
    case CellState::kHeld:
    case CellState::kAssigned:
    case CellState::kBooting:
    case CellState::kRegistered:
      return Style::kWork;
    case CellState::kProduction:
      return Style::kGood;
    case CellState::kReconfiguring:
      return Style::kChange;
    case CellState::kLeaving:
    case CellState::kReclaiming:
      return Style::kWarn;
    case CellState::kTriage:
    case CellState::kFailed:
    case CellState::kInRepair:
      return Style::kBad;
  }
  return Style::kPlain;
}

StateCounts CountStates(const Fleet& fleet, const Filter& filter) {
  StateCounts counts = {};
  for (const Machine* machine : fleet.places()) {
    if (Shows(filter, *machine)) ++counts[static_cast<size_t>(machine->state())];
  }
  return counts;
}

Section MapOfMachines(const Fleet& fleet, const Filter& filter, size_t width) {
  const std::vector<Block> blocks = BlocksOf(fleet, filter);
  Section section{TitleOf(blocks)};
  const StateCounts counts = CountStates(fleet, filter);
  for (const CellState state : page::kAllCellStates) {
    const size_t count = counts[static_cast<size_t>(state)];
    if (count == 0) continue;
    const std::string text = absl::StrCat(" ", page::CellStateName(state), " ", count);
    if (section.rows.empty() || section.rows.back().width() + 3 + text.size() > width)
      section.rows.emplace_back();
    section.rows.back().Add("  ").Add(std::string(1, LetterOf(state)), StyleOf(state)).Add(text);
  }
  if (blocks.empty()) section.rows.emplace_back("  No machine is registered.", Style::kDim);
  const std::vector<Line> captions = CaptionsOf(blocks);
  for (size_t i = 0; i < blocks.size(); ++i) {
    const size_t shared = SharedStart(blocks[i].racks);
    std::vector<Piece> pieces;
    for (const Rack& rack : blocks[i].racks) {
      pieces.push_back({absl::StrCat(rack.name.substr(shared), rack.name.empty() ? "" : " ")});
      for (const Machine* machine : rack.machines)
        pieces.back().letters.emplace_back(LetterOf(machine->state()), StyleOf(machine->state()));
    }
    AddBlock(captions[i], pieces, width, section.rows);
  }
  return section;
}

Section MapOfRacks(const Fleet& fleet, const Filter& filter, size_t width) {
  const std::vector<Block> blocks = BlocksOf(fleet, filter);
  Section section{TitleOf(blocks)};
  section.title.Add(", too many for the page: one character a rack");
  section.rows.emplace_back(
      "  share in use: . none, 1 to 9 tenths, # all; ! machines in triage or failed");
  const std::vector<Line> captions = CaptionsOf(blocks);
  for (size_t i = 0; i < blocks.size(); ++i) {
    Piece piece;
    for (const Rack& rack : blocks[i].racks) piece.letters.push_back(ShareOf(rack));
    AddBlock(captions[i], {piece}, width, section.rows);
  }
  return section;
}

}  // namespace muster::musterctl::top
