#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "services/common/error.h"

namespace muster::error {

// What is wrong with a request: filled by those who take it apart and by those who check it, told
// all at once. Bounded, because a request of a few megabytes can have millions of faults: at most
// kMaxNamed are named, of the others only the number is kept. Not thread-safe.
//
//   void Validate(const SyncHolding& command, absl::string_view path, error::Faults& faults);
class Faults {
 public:
  static constexpr size_t kMaxNamed = 100;

  // `field`: its path as the caller wrote it; `description`: what is allowed.
  void Add(absl::string_view field, absl::string_view description) {
    if (named_.size() == kMaxNamed) {
      ++others_;
    } else {
      named_.push_back({std::string(field), std::string(description)});
    }
  }
  // The same unless `holds`.
  void Require(bool holds, absl::string_view field, absl::string_view description) {
    if (!holds) Add(field, description);
  }

  bool empty() const { return named_.empty(); }
  // True when further faults are only counted: a loop over a list that may be long should then end,
  // and call StopLooking.
  bool full() const { return others_ > 0; }
  // Notes that the rest was not looked at: status() then says that there are more without a number.
  void StopLooking() { cut_ = true; }

  // Those that are named, in the order in which they were added.
  const std::vector<FieldViolation>& named() const { return named_; }
  auto begin() const { return named_.begin(); }
  auto end() const { return named_.end(); }
  size_t size() const { return named_.size(); }
  size_t others() const { return others_; }

  // Renames a field: what a decision calls `from` is `to` in the caller's request.
  void Rename(absl::string_view from, absl::string_view to);

  // OK when there are none, else INVALID_ARGUMENT, INVALID_FIELD: those that are named, then, when
  // there are others, "and N more" without a field.
  absl::Status status() const;

 private:
  std::vector<FieldViolation> named_;
  size_t others_ = 0;
  bool cut_ = false;
};

// `path.field`; `field` alone at the top of a request.
inline std::string Below(absl::string_view path, absl::string_view field) {
  return path.empty() ? std::string(field) : absl::StrCat(path, ".", field);
}
// `path[index]`.
inline std::string At(absl::string_view path, size_t index) {
  return absl::StrCat(path, "[", index, "]");
}

}  // namespace muster::error
