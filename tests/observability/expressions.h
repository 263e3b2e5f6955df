#pragma once

#include <set>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::testing {

// The names of metrics that a PromQL expression asks for, those of recording rules among them.
// Knows the functions that our rules and dashboards use; another one counts as a metric.
std::set<std::string> MetricsOf(absl::string_view expression);

// Of a histogram's series the family: `a_seconds_bucket` and `_sum`, `_count` to `a_seconds`.
std::string FamilyOf(const std::string& metric);

}  // namespace muster::testing
