#pragma once

#include <cstddef>

#include "absl/time/time.h"

// Every limit of the page's listener.
namespace muster::page {

// Open pages at a time; another one is answered 503.
inline constexpr int kMaxReaders = 16;
// Questions to the services (a pool explained) under way at a time; another one is answered 503.
inline constexpr int kMaxQuestions = 4;
// Of these: how things were; another one is answered 503.
inline constexpr int kMaxPasts = 2;
// Each reader keeps a thread; the others serve files and questions.
inline constexpr int kThreads = kMaxReaders + kMaxQuestions + 4;

// A reader gets at most ten frames a second, each with at most so many rows, so that a frame is
// bounded (about 1 MB) and whoever begins sees something soon.
inline constexpr absl::Duration kFrameInterval = absl::Milliseconds(100);
inline constexpr size_t kMaxRowsAFrame = 10'000;
// How often a reader is told the time and how the services are, also when nothing changes. One who
// hears nothing for four of these takes the connection for lost (static/stream.js).
inline constexpr absl::Duration kBeatInterval = absl::Seconds(2);
// A request is said, and a frame is taken, within this time, or the connection is closed; a reader
// then goes on where he was.
inline constexpr absl::Duration kHttpTimeout = absl::Seconds(5);
// When a reader that lost its connection comes back.
inline constexpr absl::Duration kRetry = absl::Seconds(1);

// For the answer to a question.
inline constexpr absl::Duration kQuestionTimeout = absl::Seconds(5);
// For all of how things were: services read it for nobody else meanwhile.
inline constexpr absl::Duration kPastTimeout = absl::Seconds(20);
// Events of a pool shown, the youngest, at most.
inline constexpr int kMaxEventsShown = 200;

}  // namespace muster::page
