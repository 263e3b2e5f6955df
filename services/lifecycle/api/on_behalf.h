#pragma once

#include <cstdint>

#include "services/common/author.h"
#include "services/common/current_caller.h"
#include "services/common/trace_context.h"

namespace muster::lifecycle {

// For whom a thread works (CurrentCaller, CurrentTrace), for another thread that goes on for him.
class OnBehalf {
 public:
  // Of this thread.
  OnBehalf()
      : turn_(CurrentCaller::Turn()),
        author_(CurrentCaller::GetAuthor()),
        trace_(CurrentTrace::Get()) {}

  template <class F>
  void Do(F f) const {
    const CurrentTrace scope(trace_);
    const auto who = [this] { return author_; };
    const CurrentCaller caller(turn_, who);
    f();
  }

 private:
  uint64_t turn_;
  Author author_;
  TraceContext trace_;
};

}  // namespace muster::lifecycle
