#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/common/append_file.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"
#include "services/trace/otlp.h"
#include "services/trace/span.h"

namespace muster::trace {

// Sends spans to a file, or to a collector (OpenTelemetry's, Jaeger, Tempo) over HTTP, or to both.
// Recorded spans wait for a thread of its own, which sends them in batches; those for which there
// is no room, and those that nobody takes, are left out and counted. Thread-safe.
class Exporter final : public Recorder {
 public:
  struct Options {
    Service service = {};
    std::string file = {};      // a request of OTLP/JSON a line; empty: none
    std::string endpoint = {};  // e.g. http://127.0.0.1:4318/v1/traces; empty: none
    size_t max_waiting = 8192;  // spans
    absl::Duration interval = absl::Seconds(1);  // longest that a span waits to be sent
    absl::Duration timeout = absl::Seconds(5);   // of a request to the collector
    absl::Duration pause = absl::Seconds(1);  // before the first repetition; doubled for the next
    absl::Duration farewell = absl::Seconds(3);  // to send what waits when it ends
    const SteadyClock* clock = TheSteadyClock();
  };

  // INVALID_ARGUMENT: the file cannot be written.
  static absl::StatusOr<std::unique_ptr<Exporter>> Create(Options options);
  // Waits for the thread, also for a write that hangs.
  ~Exporter() override;

  // Sends what waits, within Options::farewell; what is recorded later is left out. Where the file
  // hangs, or who tells the collector's address, it returns all the same, soon after; whoever ends
  // then must not destroy this. Idempotent.
  void Stop();

  void Record(Span span) override;
  // Opens the file anew by its name. UNAVAILABLE.
  absl::Status ReopenFile() { return file_.Open(); }

 private:
  explicit Exporter(Options options);

  // A request, and what it is made of.
  struct Batch {
    std::string request = {};
    size_t spans = 0;
    bool in_file = false;
  };

  void Run();
  // Writes the spans that wait to the file, and adds them to those that are to be posted, as far as
  // there is room.
  void TakeWaiting();
  static void Count(const Batch& batch, bool posted);
  // Posts `request`, again and again until the collector takes it or it is given up. Whether it was
  // taken.
  bool Post(const std::string& request);
  // Waits for `pause`. False: there is no time left.
  bool Pause(absl::Duration pause);
  absl::Duration TimeLeft();

  const Options options_;
  AppendFile file_;
  // Of the thread.
  bool failing_ = false;  // so that a failure is told once
  std::deque<Batch> posts_;
  size_t posting_ = 0;  // spans in these, and in the one that is being posted
  Mutex mutex_;
  CondVar wakes_;
  std::vector<Span> waiting_ MUSTER_GUARDED_BY(mutex_);
  bool stopping_ MUSTER_GUARDED_BY(mutex_) = false;
  absl::Duration end_ MUSTER_GUARDED_BY(mutex_) = absl::InfiniteDuration();  // of the clock
  bool ended_ MUSTER_GUARDED_BY(mutex_) = false;                             // the thread has
  CondVar ends_;
  std::thread thread_;
};

}  // namespace muster::trace
