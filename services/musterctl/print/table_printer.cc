#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/condition_names.h"
#include "services/musterctl/print/printable.h"
#include "services/musterctl/print/table.h"
#include "services/musterctl/print/text_width.h"

namespace muster::musterctl {
namespace {

constexpr size_t kGap = 3;
constexpr size_t kNarrowest = 8;  // of a column that is shortened, if its header is not longer
constexpr absl::string_view kCut = "..";

constexpr absl::string_view kRed = "\x1b[31m";
constexpr absl::string_view kGreen = "\x1b[32m";
constexpr absl::string_view kYellow = "\x1b[33m";
constexpr absl::string_view kBold = "\x1b[1m";
constexpr absl::string_view kPlain = "\x1b[0m";

// Reasons of conditions, then other words: states, reasons of claims, types of events.
constexpr absl::string_view kTrouble[] = {reason::kInvalid,
                                          reason::kOver,
                                          reason::kNotSet,
                                          reason::kInternalError,
                                          reason::kNoneAvailable,
                                          reason::kNoneAvailableNodeAffinity,
                                          "NONE_AVAILABLE",
                                          "NONE_AVAILABLE_NODE_AFFINITY",
                                          "UNKNOWN_INSTANCE_TYPE",
                                          "NOT_IN_ZONE",
                                          "Warning",
                                          "TRIAGE",
                                          "BOOT_FAILED",
                                          "IN_REPAIR",
                                          "HALTED"};
constexpr absl::string_view kWaiting[] = {reason::kQueuedAwaitingCapacity,
                                          reason::kPartial,
                                          reason::kPartialNodeAffinity,
                                          reason::kUnderTarget,
                                          reason::kOverTarget,
                                          reason::kPendingDelete,
                                          reason::kStagedNodeConfig,
                                          "QUEUED",
                                          "PARTIAL",
                                          "PARTIAL_NODE_AFFINITY",
                                          "BOOTING",
                                          "ASSIGNED",
                                          "REGISTERED",
                                          "RECLAIMING",
                                          "DRAINING",
                                          "PAUSED",
                                          "RUNNING"};
constexpr absl::string_view kHealth[] = {reason::kValid,
                                         reason::kSufficient,
                                         reason::kUnder,
                                         reason::kTargetMet,
                                         reason::kAllNodesUpToDate,
                                         "SUFFICIENT",
                                         "PRODUCTION",
                                         "FREE",
                                         "DONE"};

template <size_t N>
bool IsOneOf(absl::string_view cell, const absl::string_view (&words)[N]) {
  return std::find(std::begin(words), std::end(words), cell) != std::end(words);
}

absl::string_view ColourOf(absl::string_view cell) {
  if (IsOneOf(cell, kTrouble)) return kRed;
  if (IsOneOf(cell, kWaiting)) return kYellow;
  return IsOneOf(cell, kHealth) ? kGreen : "";
}

}  // namespace

// Takes from the widest columns what is too much.
void TablePrinter::FitWidth() {
  if (style_.width == 0) return;
  const auto total = [&] {
    size_t sum = kGap * (widths_.size() - 1);
    for (const size_t width : widths_) sum += width;
    return sum;
  };
  for (size_t all = total(); all > style_.width; all = total()) {
    size_t widest = 0;
    size_t spare = 0;
    for (size_t i = 1; i < widths_.size(); ++i) {
      const size_t least = std::max(kNarrowest, WidthOf(headers_[i]));
      if (widths_[i] > least && widths_[i] > spare) {
        widest = i;
        spare = widths_[i];
      }
    }
    if (widest == 0) return;
    const size_t least = std::max(kNarrowest, WidthOf(headers_[widest]));
    widths_[widest] -=
        std::min(all - style_.width, std::max<size_t>(1, (widths_[widest] - least) / 2));
  }
}

std::string TablePrinter::Line(const std::vector<std::string>& cells, bool is_header) const {
  std::string line;
  size_t spaces = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    std::string cell = cells[i];
    if (style_.width > 0 && i > 0 && WidthOf(cell) > widths_[i])
      cell = absl::StrCat(FirstOf(cell, widths_[i] - kCut.size()), kCut);
    if (cell.empty()) {
      spaces += widths_[i] + kGap;
      continue;
    }
    line.append(std::exchange(spaces, 0), ' ');
    const absl::string_view colour = !style_.colour ? "" : is_header ? kBold : ColourOf(cells[i]);
    absl::StrAppend(&line, colour, cell, colour.empty() ? "" : kPlain);
    const size_t width = WidthOf(cell);
    spaces = std::max(widths_[i], width) - width + kGap;
  }
  return absl::StrCat(line, "\n");
}

std::string TablePrinter::Print(const std::vector<std::vector<std::string>>& rows) {
  const bool first = widths_.empty();
  widths_.resize(headers_.size());
  const auto measure = [&](const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], WidthOf(cells[i]));
  };
  if (style_.headers) measure(headers_);
  std::vector<std::vector<std::string>> shown = rows;
  for (std::vector<std::string>& row : shown) {
    for (std::string& cell : row) cell = Printable(cell);
    measure(row);
  }
  FitWidth();
  std::string out;
  if (first && style_.headers) out = Line(headers_, true);
  for (const std::vector<std::string>& row : shown) absl::StrAppend(&out, Line(row, false));
  return out;
}

}  // namespace muster::musterctl
