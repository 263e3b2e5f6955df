#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/faults.h"
#include "services/lifecycle/core/state.h"
#include "services/rpc/page.h"

namespace muster::lifecycle {

// The default order of a list of events: the one seen last comes first. Events that come or are
// seen again while pages are read move in front of all pages, so that none is shown twice; a watch
// from the first page's revision tells of them.
class NewestEvents {
 public:
  // `pool_uid`: only those about this pool and its Nodes; empty: all.
  explicit NewestEvents(std::string pool_uid) : pool_uid_(std::move(pool_uid)) {}

  // Visits events as rpc::ByName does rows. A cursor is `NANOSECONDS NAME`.
  template <class Visit>
  void operator()(const State& state, absl::string_view prefix, const std::string& after,
                  Visit visit) const {
    std::vector<const State::EventsByTime*> orders;
    if (pool_uid_.empty()) {
      orders = state.EventsUnder(prefix);
    } else if (const State::EventsByTime* events = state.EventsOf(pool_uid_)) {
      orders.push_back(events);
    }
    const auto cursor = ParseCursor(after);
    std::vector<Place> places;  // a heap, the one seen last on top
    for (const State::EventsByTime* events : orders) {
      Place place = {events->begin(),
                     cursor ? events->lower_bound(State::Seen(*cursor)) : events->end()};
      if (place.Step()) places.push_back(place);
    }
    std::make_heap(places.begin(), places.end());
    while (!places.empty()) {
      std::pop_heap(places.begin(), places.end());
      const State::Seen& seen = *places.back().at;
      if (absl::StartsWith(seen.name(), prefix) &&
          !visit(absl::StrCat(absl::ToUnixNanos(seen.time()), " ", seen.name()),
                 *state.table<Event>().rows().find(absl::string_view(seen.name())))) {
        return;
      }
      if (places.back().Step()) {
        std::push_heap(places.begin(), places.end());
      } else {
        places.pop_back();
      }
    }
  }

  // Adds a fault when the request's page_token belongs to a list in another order, as servers of an
  // earlier release made them.
  template <class Request>
  static void CheckToken(const Request& request, Faults& faults) {
    if (!request.order_by().empty() || request.page_token().empty()) return;
    const auto after = rpc::ParsePageToken(request, request.page_token());
    if (!after.ok()) return;  // told by who reads the page
    faults.Require(ParseCursor(*after).has_value(), "page_token", "is not one of this list.");
  }

 private:
  // How far one cluster's or pool's events were read, from the newest on.
  struct Place {
    // Moves to the event before; false: there is none.
    bool Step() {
      if (at == begin) return false;
      --at;
      return true;
    }
    bool operator<(const Place& other) const { return *at < *other.at; }

    State::EventsByTime::const_iterator begin = {};
    State::EventsByTime::const_iterator at = {};
  };

  // An event with the cursor's place in the order; nullopt: not a cursor of this order.
  static std::optional<Event> ParseCursor(absl::string_view text) {
    const size_t space = text.find(' ');
    int64_t nanoseconds = 0;
    if (space == absl::string_view::npos || !absl::SimpleAtoi(text.substr(0, space), &nanoseconds))
      return std::nullopt;
    return Event{.name = std::string(text.substr(space + 1)),
                 .last_time = absl::FromUnixNanos(nanoseconds)};
  }

  std::string pool_uid_;
};

}  // namespace muster::lifecycle
