#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

// Turns of phrase of messages to people.
namespace muster::lifecycle {

// `a, b and 7 more`: at most five are named.
std::string ListText(const std::vector<std::string>& names);

// The end of a sentence that gives its cause: ": the disk is full.", or "." if `why` is empty.
std::string BecauseText(absl::string_view why);

// `2026-11-22T12:00:00Z`: people read no nanoseconds.
std::string TimeText(absl::Time time);

// Why `service`, which has released the pool's uid, does nothing for it, and what helps.
std::string ReleasedText(absl::string_view service);

}  // namespace muster::lifecycle
