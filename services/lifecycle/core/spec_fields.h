#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "services/lifecycle/core/types.h"

// The fields of a spec by their paths in the API, `spec.target_nodes`: to write some and leave others, and to say which changed.
namespace muster::lifecycle {

// Every path that may be written by itself; those of a field's parts follow it.
std::vector<absl::string_view> SpecPaths();

// Whether one of the paths names the field, or something that it is a part of.
bool NamesField(absl::Span<const std::string> paths, absl::string_view field);

// Makes the fields of `to` that the paths name as they are in `from`. `spec` and `*` name all; others must be of SpecPaths().
void CopyFields(absl::Span<const std::string> paths, const Spec& from, Spec& to);

// Paths of the fields that differ, in the order of the API; of one that can be written in parts its own.
std::vector<std::string> ChangedFields(const Spec& before, const Spec& after);

}  // namespace muster::lifecycle
