#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster::testing {

// Rules of Prometheus or routes of Alertmanager (YAML) in which so many times less time has to pass: `for`, intervals of groups, and the windows of queries, which keep at least four
// seconds so that a scrape a second is enough for a rate. What a query compares stays as it is.
std::string FasterRules(absl::string_view rules, int times);

}  // namespace muster::testing
