#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "services/musterctl/manifest/document.h"

namespace muster::musterctl {

// The faults of a document: a line for each, with its place and the field's path. Only the first
// kMaxNamed are kept as lines, the others are counted.
class Problems {
 public:
  static constexpr size_t kMaxNamed = 100;

  Problems(std::string file, int document) : file_(std::move(file)), document_(document) {}

  void Add(int line, absl::string_view path, absl::string_view what);
  const std::vector<std::string>& lines() const { return lines_; }
  size_t others() const { return others_; }

 private:
  std::string file_;
  int document_;
  std::vector<std::string> lines_;
  size_t others_ = 0;
};

enum class Need { kOptional, kRequired };

// Reads the fields of one mapping; what is missing, of the wrong type or unknown goes to
// `problems`. An optional field that is missing or empty reads as nullopt, and so does a wrong one.
class Fields {
 public:
  // `map` null: there is no such mapping. Every field reads as missing, and required ones are not
  // reported: that the mapping is missing was reported already.
  Fields(const Value* map, std::string path, Problems& problems);
  // Reports the fields that were not read as unknown.
  ~Fields();
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  std::optional<std::string> String(absl::string_view name, Need need = Need::kOptional);
  // One of `words`.
  std::optional<std::string> Word(absl::string_view name, absl::Span<const absl::string_view> words,
                                  Need need = Need::kOptional);
  // A non-empty string that can be part of a resource name: no `/`, no `~`, no white space.
  std::optional<std::string> Id(absl::string_view name, Need need = Need::kOptional);
  std::optional<int64_t> Integer(absl::string_view name, Need need = Need::kOptional,
                                 int64_t least = std::numeric_limits<int64_t>::min(),
                                 int64_t most = std::numeric_limits<int64_t>::max());
  std::optional<int32_t> Integer32(absl::string_view name, Need need = Need::kOptional);
  std::optional<bool> Bool(absl::string_view name);
  // RFC 3339, e.g. `2026-01-31T12:00:00Z`.
  std::optional<absl::Time> Time(absl::string_view name, Need need = Need::kOptional);
  std::vector<std::string> Strings(absl::string_view name);
  std::vector<std::pair<std::string, std::string>> StringMap(absl::string_view name);
  // The mapping of that name, or null. To be read with Fields of its own.
  const Value* Map(absl::string_view name, Need need = Need::kOptional);
  // The list of that name, or null.
  const Value* List(absl::string_view name, Need need = Need::kOptional);
  // Accepts a field without reading it. Returns whether it is there.
  bool Skip(absl::string_view name);

  std::string Path(absl::string_view name) const;
  void Complain(absl::string_view name, absl::string_view what);

 private:
  // Null when missing or empty; complains when it is required, or of another type.
  const Value* Take(absl::string_view name, Need need, Value::Type type,
                    absl::string_view type_name);

  const Value* map_;
  std::string path_;
  Problems& problems_;
  std::set<std::string> known_;
};

}  // namespace muster::musterctl
