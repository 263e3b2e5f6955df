#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "services/lifecycle/core/spec.h"

// The fields of a spec by their paths in the API, such as `spec.target_nodes`: to write some of
// them, and to say which have changed.
namespace muster::lifecycle {

// Every path that may be written by itself; the parts of a field follow the field.
std::vector<absl::string_view> SpecPaths();

// Whether one of the paths names the field, or a field that it is a part of.
bool NamesField(absl::Span<const std::string> paths, absl::string_view field);

// Copies the fields that the paths name. `spec` and `*` name all; other paths must be of
// SpecPaths().
void CopyFields(absl::Span<const std::string> paths, const Spec& from, Spec& to);

// Paths of the fields that differ, in the order of the API; for a field with parts, its own path
// only.
std::vector<std::string> ChangedFields(const Spec& before, const Spec& after);

}  // namespace muster::lifecycle
