#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

// Where a program's log lines go, for its main. Until OpenOutput they are written to stderr, each
// at once; from then on by a thread of their own, so that no call waits for a disk or a pipe. Lines
// that come faster than they can be written are left out and counted, and a line says how many.
namespace muster::log {

// How many bytes of lines may wait to be written.
inline constexpr size_t kMaxWaitingBytes = 8 << 20;
// How long the end of a program waits for whoever takes its lines.
inline constexpr absl::Duration kLogFarewell = absl::Seconds(5);

// Appends to `file`, which is made if it is not there (mode 0640); empty: stderr. Again only after
// CloseOutput.
// INVALID_ARGUMENT: it cannot be written.
absl::Status OpenOutput(const std::string& file);
// Opens the file anew by its name, as after a rotation; without effect on stderr. UNAVAILABLE: it
// cannot be written, and lines go where they went.
absl::Status ReopenOutput();
// Returns once all that was logged before is written; what comes later is written at once. Where
// nobody takes it (a pipe whose reader hangs), it returns after `patience`, and what is left and
// what comes later is left out. Called at exit too. Idempotent.
void CloseOutput(absl::Duration patience = kLogFarewell);

struct OutputStats {
  int64_t lines = 0;     // that were to be written
  int64_t left_out = 0;  // of them: too many at once, or refused by the disk
};
OutputStats TheOutputStats();

}  // namespace muster::log
