#pragma once

#include <cstdint>

#include "services/common/author.h"
#include "services/common/current_caller.h"
#include "services/common/trace_context.h"

namespace muster::lifecycle {

// Carries this thread's caller and trace (CurrentCaller, CurrentTrace) over to another thread that
// goes on with the call.
class OnBehalf {
 public:
  // Remembers those of this thread.
  OnBehalf()
      : number_(CurrentCaller::Number()),
        first_(CurrentCaller::GoesFirst()),
        author_(CurrentCaller::GetAuthor()),
        trace_(CurrentTrace::Get()) {}

  template <class F>
  void Do(F f) const {
    const CurrentTrace scope(trace_);
    const auto who = [this] { return author_; };
    const CurrentCaller caller(number_, who, first_);
    f();
  }

 private:
  uint64_t number_;
  bool first_;
  Author author_;
  TraceContext trace_;
};

}  // namespace muster::lifecycle
