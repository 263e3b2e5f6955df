#pragma once

#include <cstdint>
#include <utility>

#include "absl/functional/function_ref.h"
#include "services/common/author.h"

namespace muster {

// For whom the thread works: what he hands on waits with his number, and takes turns with that of others; what is changed for him
// bears his name. None: the process itself.
class CurrentCaller {
 public:
  // Until the end of the scope; scopes nest. Of one thread. `author`, which must live as long, is asked once for each change.
  CurrentCaller(uint64_t turn, absl::FunctionRef<Author()> author)
      : turn_(turn), author_(author), before_(std::exchange(current_, this)) {}
  ~CurrentCaller() { current_ = before_; }
  CurrentCaller(const CurrentCaller&) = delete;
  CurrentCaller& operator=(const CurrentCaller&) = delete;

  // 0: the process itself.
  static uint64_t Turn() { return current_ == nullptr ? 0 : current_->turn_; }
  static Author GetAuthor() { return current_ == nullptr ? Author() : current_->author_(); }

 private:
  static inline thread_local const CurrentCaller* current_ = nullptr;
  const uint64_t turn_;
  const absl::FunctionRef<Author()> author_;
  const CurrentCaller* const before_;
};

}  // namespace muster
