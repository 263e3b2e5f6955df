#pragma once

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/log.h"
#include "services/common/mutex.h"

namespace muster::testing {

// Counts the log's lines of one `msg`, and keeps all lines off stderr. One at a time. Thread-safe.
class CountedLines {
 public:
  explicit CountedLines(absl::string_view msg) : msg_(absl::StrCat("\"msg\":\"", msg, "\"")) {
    log::SetSink([this](absl::string_view line) {
      if (!absl::StrContains(line, msg_)) return;
      MutexLock lock(mutex_);
      ++count_;
    });
  }
  ~CountedLines() { log::SetSink({}); }
  CountedLines(const CountedLines&) = delete;
  CountedLines& operator=(const CountedLines&) = delete;

  int count() const {
    MutexLock lock(mutex_);
    return count_;
  }

 private:
  const std::string msg_;
  mutable Mutex mutex_;
  int count_ MUSTER_GUARDED_BY(mutex_) = 0;
};

}  // namespace muster::testing
