#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "services/common/state.h"
#include "storage/postgres/auditor.h"

namespace muster::storage {

// Appends a sentence, which begins with `where`, for each row of `state` that is different in `other`
// or, only with `missing_too`, not in it. Stops at kMaxViolations.
template <class State>
void AppendDifferences(absl::string_view where, const State& state, const State& other,
                       bool missing_too, std::vector<std::string>& differences) {
  state.ForEach([&](const auto& row) {
    std::visit(
        [&](const auto& pointer) {
          using Row = std::remove_const_t<
              typename std::remove_reference_t<decltype(pointer)>::element_type>;
          const Versioned<Row>* twin = other.template table<Row>().FindVersioned(row.change.key);
          if (twin == nullptr && !missing_too) return;
          if (twin != nullptr && *twin->row == *pointer && twin->revision == row.revision) return;
          if (differences.size() >= kMaxViolations) return;
          differences.push_back(absl::StrCat(
              where, ": ", Row::kKind, " ", row.change.key, " at revision ", row.revision,
              twin == nullptr ? " is missing in the other"
                              : absl::StrCat(" differs from the other at ", twin->revision)));
        },
        row.change.row);
  });
}

}  // namespace muster::storage
