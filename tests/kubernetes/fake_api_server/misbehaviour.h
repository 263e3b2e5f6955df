#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace muster::testing {

// How the fake server departs from a healthy one. All of it happens in real clusters, and a client
// can cope with it: whoever goes on listing or watching after the last change learns the last
// state.
struct Misbehaviour {
  // Lists show the state of so many changes ago, with its resourceVersion.
  int64_t stale_lists = 0;
  // Share (0 to 1) of watch events after which an older event, of an object that still exists, is
  // sent once more.
  double repeat_events = 0;
  // Share of watch events that swap places with the next one of the same object, if that comes
  // within 20 ms. Never a DELETED.
  double reorder_events = 0;
  // Every watch is cut, without a proper end, after so long. Zero: none.
  absl::Duration cut_streams = absl::ZeroDuration();
  // Between two bookmarks of a watch. The real server sends one about every minute.
  absl::Duration bookmark_interval = absl::Seconds(1);
  // By how much writes (all but GET, LIST and WATCH) to paths that contain `slow_part` are delayed.
  absl::Duration slow_writes = absl::ZeroDuration();
  std::string slow_part = {};  // e.g. `/status`
};

// Requests that are answered with an error.
struct Failure {
  // GET, LIST, WATCH, POST, PUT, PATCH, DELETE; empty: any.
  std::string verb = {};
  std::string path_prefix = {};  // e.g. `/api/v1/nodes`
  int code = 500;
  int count = 1;                   // of requests
  int retry_after = 0;             // seconds; 0: not said
  bool is_carried_out = false;     // before the error is answered
  std::string body_contains = {};  // empty: any
  std::string message = {};        // empty: as usual with that code
};

// A request that was answered. Watches are told of when they begin.
struct RecordedRequest {
  std::string verb = {};
  std::string path = {};
  int code = 0;
  std::string user_agent = {};
};

}  // namespace muster::testing
