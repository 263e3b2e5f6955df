#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/page/core/place.h"

// What requests to the page's listener say. Pure.
namespace muster::page {

// The value of a field of a query such as `name=a%2Fb&x=1`; empty: not there, or it is not
// printable ASCII of at most 512 bytes.
std::string QueryField(absl::string_view query, absl::string_view field);

// A time given as milliseconds since 1970; nullopt: it is no number, or beyond the times that
// services know (until the year 9999).
std::optional<absl::Time> ReadMoment(absl::string_view milliseconds);

// The id of an event, by which a reader resumes. `epoch` has no dot.
std::string EventId(absl::string_view epoch, const Place& place);
// The place that a reader's `Last-Event-ID` names, if it is of this epoch, else Place().
Place ResumePlace(absl::string_view event_id, absl::string_view epoch);

}  // namespace muster::page
