#pragma once

#include <cstdint>
#include <utility>

namespace muster {

// For whom the thread works, as a number: what he hands on waits with his, and takes turns with that of others. 0: the process itself.
class CurrentCaller {
 public:
  // Until the end of the scope; scopes nest. Of one thread.
  explicit CurrentCaller(uint64_t caller) : before_(std::exchange(current_, caller)) {}
  ~CurrentCaller() { current_ = before_; }
  CurrentCaller(const CurrentCaller&) = delete;
  CurrentCaller& operator=(const CurrentCaller&) = delete;

  static uint64_t Get() { return current_; }

 private:
  static inline thread_local uint64_t current_ = 0;
  const uint64_t before_;
};

}  // namespace muster
