#pragma once

#include <cstddef>

#include "absl/time/time.h"

// Every limit of the page's listener.
namespace muster::page {

// Open pages (event streams) at a time; one more is answered 503.
inline constexpr int kMaxReaders = 16;
// Questions to the services (e.g. why a pool waits) under way at a time; one more is answered 503.
inline constexpr int kMaxQuestions = 4;
// How many of these may be about the past; one more is answered 503.
inline constexpr int kMaxPasts = 2;
// Each reader occupies a thread; the other threads serve files and questions.
inline constexpr int kThreads = kMaxReaders + kMaxQuestions + 4;

// A reader gets at most ten frames a second, each with at most so many rows, so that a frame is
// bounded (about 1 MB) and whoever begins sees something soon.
inline constexpr absl::Duration kFrameInterval = absl::Milliseconds(100);
inline constexpr size_t kMaxRowsAFrame = 10'000;
// How often a reader gets the time and the services' health, also when nothing changes. A browser
// that gets nothing for four of these intervals takes the connection as lost (static/stream.js).
inline constexpr absl::Duration kBeatInterval = absl::Seconds(2);
// A client must send its request, and take each frame, within this time, or the connection is
// closed; a reader then reconnects and goes on where it was.
inline constexpr absl::Duration kHttpTimeout = absl::Seconds(5);
// After how long a reader that lost its connection reconnects.
inline constexpr absl::Duration kRetry = absl::Seconds(1);

// Timeout of each call that a question makes.
inline constexpr absl::Duration kQuestionTimeout = absl::Seconds(5);
// Timeout of a whole question about the past: meanwhile the services may read the past for nobody
// else.
inline constexpr absl::Duration kPastTimeout = absl::Seconds(20);
// Most events of a pool that are shown, the youngest.
inline constexpr int kMaxEventsShown = 200;

}  // namespace muster::page
