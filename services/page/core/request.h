#pragma once

#include <optional>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/page/core/place.h"

// What the page's listener answers at all. Pure.
namespace muster::page {

// Whether a request with this Host header is meant for us. A page of somebody else's whose name was
// made to resolve to our address (DNS rebinding) says its own name there: so we take addresses,
// `localhost`, and the names that an operator gave. `host` may end with a port.
bool IsOurHost(absl::string_view host, const std::set<std::string>& names);

// Whether only this machine reaches what listens at `address` (`host:port`).
bool IsLoopback(absl::string_view address);

// The value of a field of a query such as `name=a%2Fb&x=1`; empty: not there, or it is not
// printable ASCII of at most 512 bytes.
std::string QueryField(absl::string_view query, absl::string_view field);

// A time as `at` says it, in milliseconds since 1970; nullopt: it is none, or none that services
// know times by (years until 9999).
std::optional<absl::Time> ReadMoment(absl::string_view milliseconds);

// The id of an event, by which a reader resumes. `epoch` has no dot.
std::string EventId(absl::string_view epoch, const Place& place);
// What a reader says as `Last-Event-ID`: his place if it is of this epoch, else the beginning.
Place ResumePlace(absl::string_view event_id, absl::string_view epoch);

}  // namespace muster::page
