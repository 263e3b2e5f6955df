#include "services/common/log_output.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/append_file.h"
#include "services/common/coalesced_job.h"
#include "services/common/deadline.h"
#include "services/common/error.h"
#include "services/common/log.h"
#include "services/common/log_writer.h"
#include "services/common/mutex.h"

namespace muster::log {
namespace {

// How much later than the first of several lines the others may be written: not each wakes the
// thread.
constexpr absl::Duration kRest = absl::Milliseconds(5);

int64_t LinesIn(absl::string_view text) { return std::count(text.begin(), text.end(), '\n'); }

// Lines on their way to the file, and who writes them.
class OutputQueue {
 public:
  explicit OutputQueue(const std::string& file) : writer_(file) {}

  absl::Status Open() { return writer_.Open(); }

  void Add(absl::string_view line) {
    lines_.fetch_add(1, std::memory_order_relaxed);
    MutexLock lock(mutex_);
    if (closing_) {
      if (stuck_ || !writer_.Write(absl::StrCat(line, "\n")).empty()) ++left_out_;
      return;
    }
    if (waiting_.size() + line.size() >= kMaxWaitingBytes) {
      ++untold_;
      left_out_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    const bool first = waiting_.empty();
    absl::StrAppend(&waiting_, line, "\n");
    if (first) job_.Request();
  }

  void Close(absl::Duration patience) {
    {
      MutexLock lock(mutex_);
      if (closing_) return;
      const Deadline end(patience);
      while (!IsWritten() && end.WaitFor(written_, mutex_)) {
      }
      if (std::exchange(closing_, true)) return;
      stuck_ = !IsWritten();
      if (stuck_) {
        left_out_ += LinesIn(waiting_);
        waiting_.clear();
        return;  // the thread may never come back
      }
    }
    job_.Stop();
  }

  OutputStats stats() const { return {lines_, left_out_}; }

 private:
  // All that was there to be written.
  bool IsWritten() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return waiting_.empty() && ended_ == begun_;
  }
  void Write() {
    std::string text;
    int64_t untold = 0;
    {
      MutexLock lock(mutex_);
      ++begun_;
      text.swap(waiting_);
      untold = std::exchange(untold_, 0);
    }
    if (untold > 0) {
      const Field field{"lines", untold};
      absl::StrAppend(&text,
                      RenderLine(Level::kWarn, absl::Now(), "log lines were left out", {&field, 1}),
                      "\n");
    }
    left_out_.fetch_add(LinesIn(writer_.Write(text)), std::memory_order_relaxed);
    MutexLock lock(mutex_);
    ++ended_;
    written_.Signal();
  }

  AppendFile writer_;
  std::atomic<int64_t> lines_ = 0;
  std::atomic<int64_t> left_out_ = 0;
  Mutex mutex_;
  std::string waiting_ MUSTER_GUARDED_BY(mutex_);
  int64_t untold_ MUSTER_GUARDED_BY(mutex_) = 0;
  CondVar written_;
  int64_t begun_ MUSTER_GUARDED_BY(mutex_) = 0;  // runs of Write
  int64_t ended_ MUSTER_GUARDED_BY(mutex_) = 0;
  bool closing_ MUSTER_GUARDED_BY(mutex_) = false;
  bool stuck_ MUSTER_GUARDED_BY(mutex_) = false;  // the thread was not waited for
  CoalescedJob job_{kRest, [this] { Write(); }};
};

// Never destroyed: a thread may still log while the process exits.
std::atomic<OutputQueue*> g_queue = nullptr;

}  // namespace

absl::Status OpenOutput(const std::string& file) {
  auto queue = std::make_unique<OutputQueue>(file);
  const absl::Status status = queue->Open();
  if (!status.ok()) return error::InvalidField("--log_file", status.message());
  g_queue = queue.release();
  internal::g_writer = [](absl::string_view line) { g_queue.load()->Add(line); };
  static const int registered = std::atexit([] { CloseOutput(); });
  (void)registered;
  return absl::OkStatus();
}

absl::Status ReopenOutput() {
  OutputQueue* const queue = g_queue;
  return queue == nullptr ? absl::OkStatus() : queue->Open();
}

void CloseOutput(absl::Duration patience) {
  OutputQueue* const queue = g_queue;
  if (queue != nullptr) queue->Close(patience);
}

OutputStats TheOutputStats() {
  const OutputQueue* const queue = g_queue;
  return queue == nullptr ? OutputStats{} : queue->stats();
}

}  // namespace muster::log
