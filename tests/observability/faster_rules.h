#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster::testing {

// Rules of Prometheus or routes of Alertmanager (YAML) with times divided by `times`: `for`,
// group_wait, group_interval, repeat_interval and the windows of queries. Windows stay at least 4 s
// long, so that a scrape a second is enough for a rate; a `for` that would be 2 to 5 s gets 4 s
// more, because a busy machine may stand still for as long, and none is longer than 30 s. What a
// query compares with stays as it is.
std::string FasterRules(absl::string_view rules, int times);

}  // namespace muster::testing
