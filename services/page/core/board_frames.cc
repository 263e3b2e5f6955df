// What readers are told of a board.
#include "absl/strings/str_cat.h"
#include "services/page/core/board.h"

namespace muster::page {

uint32_t Board::PoolOf(const Cell& cell) const {
  if (cell.node.known) return cell.node.pool;
  const auto pool = pool_by_uid_.find(cell.machine.claim);
  return cell.machine.claim == 0 || pool == pool_by_uid_.end() ? 0 : pool->second;
}

Board::Frame Board::TellAfter(const Place& place, size_t most) const {
  Frame frame;
  std::string cells;
  std::string documents;
  frame.place.at = log_.TellAfter(place.at, most, [&](ChangeLog::Row row, uint64_t) {
    if (row % 2 == 0) {
      AppendCell(cells_[row / 2], row / 2, place.whole, cells);
    } else if (place.at != 0 || !documents_[row / 2].json.empty()) {
      AppendDocument(documents_[row / 2], documents);
    }
  });
  frame.caught_up = frame.place.at == log_.last();
  frame.place.begun = place.at == 0 ? log_.last() : place.begun;
  frame.place.whole = frame.caught_up ? frame.place.at : place.whole;
  absl::StrAppend(&frame.json, "{\"caughtUp\":", frame.caught_up ? "true" : "false");
  const size_t first = words_.ToldBy(place.at);
  const size_t end = words_.ToldBy(frame.place.at);
  if (first != end) {
    absl::StrAppend(&frame.json, ",\"words\":[", first, ",[");
    for (size_t i = first; i < end; ++i) {
      absl::StrAppend(&frame.json, i == first ? "" : ",",
                      Quoted(words_.at(static_cast<uint32_t>(i))));
    }
    frame.json += "]]";
  }
  if (!cells.empty()) absl::StrAppend(&frame.json, ",\"cells\":[", cells, "]");
  if (!documents.empty()) absl::StrAppend(&frame.json, ",\"documents\":[", documents, "]");
  frame.json += "}";
  return frame;
}

void Board::AppendCell(const Cell& cell, uint32_t index, uint64_t whole, std::string& out) const {
  if (!out.empty()) out += ",";
  if (!cell.machine.known && !cell.node.known) {
    absl::StrAppend(&out, "[", index, ",-1]");
    return;
  }
  const uint32_t pool = PoolOf(cell);
  const auto facts = facts_by_pool_.find(pool);
  uint32_t flags = cell.node.flags;
  if (cell.machine.spot || (facts != facts_by_pool_.end() && facts->second.spot))
    flags |= kCellSpot;
  absl::StrAppend(&out, "[", index, ",", static_cast<int>(StateOf(cell.machine, cell.node)), ",",
                  flags, ",", pool, ",");
  absl::StrAppend(&out, cell.node.profile);
  if (cell.placed > whole) {
    PoolFacts place{cell.machine.zone, cell.machine.type};
    if (!cell.machine.known && facts != facts_by_pool_.end()) place = facts->second;
    absl::StrAppend(&out, ",", Quoted(cell.id), ",", place.zone, ",", place.type, ",");
    absl::StrAppend(&out, cell.machine.known ? cell.machine.rack : cell.node.rack, ",",
                    cell.machine.slot, ",", cell.machine.fabric);
  }
  out += "]";
}

void Board::AppendDocument(const Document& document, std::string& out) const {
  absl::StrAppend(&out, out.empty() ? "" : ",", "[", Quoted(document.kind), ",",
                  Quoted(document.key), ",");
  absl::StrAppend(&out, document.json.empty() ? "null" : document.json, "]");
}

}  // namespace muster::page
