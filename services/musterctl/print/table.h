#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/musterctl/manifest/kinds.h"

namespace muster::musterctl {

struct TableStyle {
  bool headers = true;
  // Width of lines, in columns, as far as possible: long cells are shortened (`abc..`), except
  // those of the first column. 0: no limit.
  size_t width = 0;
  // With escape codes: headers bold, words of trouble red, of waiting yellow, of health green.
  bool colour = false;
};

// Prints rows below headers, with columns three spaces apart, as kubectl does. Later rows use the
// column widths of the earlier ones as far as they fit.
class TablePrinter {
 public:
  explicit TablePrinter(std::vector<std::string> headers, TableStyle style = {})
      : headers_(std::move(headers)), style_(style) {}
  // The lines of these rows, with the headers the first time. Each row has as many cells as there
  // are headers.
  std::string Print(const std::vector<std::vector<std::string>>& rows);

 private:
  void FitWidth();
  std::string Line(const std::vector<std::string>& cells, bool is_header) const;

  std::vector<std::string> headers_;
  TableStyle style_;
  std::vector<size_t> widths_;
};

// The columns of `get`, and one resource's cells. `now` is for ages.
std::vector<std::string> Headers(Kind kind, bool wide);
std::vector<std::string> Row(const Item& item, bool wide, absl::Time now);

// Time passed as kubectl writes it: `5s`, `2m30s`, `3h`, `4d5h`; `<unknown>` for no time.
std::string HumanDuration(absl::Duration duration);
std::string Age(const google::protobuf::Timestamp& since, absl::Time now);

// Whether event `a` is printed before `b`: by time; events of the same time in the order of a
// Node's life.
bool Earlier(const lifecycle::v1::Event& a, const lifecycle::v1::Event& b);

// `nodepool/train` or `node/g123abc` for a resource name of either; others stay as they are.
std::string ShortObject(const std::string& name);

// The condition of that type, null when there is none.
const lifecycle::v1::Condition* FindCondition(const lifecycle::v1::NodePool& pool,
                                              absl::string_view type);

}  // namespace muster::musterctl
