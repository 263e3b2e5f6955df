#pragma once

#include <cstdint>
#include <utility>

#include "absl/functional/function_ref.h"
#include "services/common/author.h"

namespace muster {

// The caller that the thread works for. Work that the thread hands on waits under the caller's
// number, and takes turns with that of other callers; changes bear the caller's name. Without one,
// the thread works for the process itself.
class CurrentCaller {
 public:
  // Holds for this thread until the end of the scope; scopes nest. `author`, which must live as
  // long, is asked once for each command. `first`: its commands go before those of others
  // (storage::CommitQueue).
  CurrentCaller(uint64_t number, absl::FunctionRef<Author()> author, bool first = false)
      : number_(number), first_(first), author_(author), before_(std::exchange(current_, this)) {}
  // The process itself, before all callers: for the lease and the plans of who holds it, or whoever
  // floods the lane has the lease change hands. A new lead's commands do not overtake plans of the
  // last one, and no leader keeps the lease whose plans do not get through.
  static CurrentCaller AheadOfCallers() {
    static constexpr auto kNobody = [] { return Author(); };
    return CurrentCaller(0, kNobody, true);
  }
  ~CurrentCaller() { current_ = before_; }
  CurrentCaller(const CurrentCaller&) = delete;
  CurrentCaller& operator=(const CurrentCaller&) = delete;

  // 0: the process itself.
  static uint64_t Number() { return current_ == nullptr ? 0 : current_->number_; }
  static bool GoesFirst() { return current_ != nullptr && current_->first_; }
  static Author GetAuthor() { return current_ == nullptr ? Author() : current_->author_(); }

 private:
  static inline thread_local const CurrentCaller* current_ = nullptr;
  const uint64_t number_;
  const bool first_;
  const absl::FunctionRef<Author()> author_;
  const CurrentCaller* const before_;
};

}  // namespace muster
