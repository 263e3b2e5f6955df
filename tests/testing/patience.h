#pragma once

// Ends tests that a fault would make wait for ever.
#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace muster::testing {

// How long a test waits for what comes at once unless something is broken. A last resort: no test
// judges by it how fast anything is.
inline constexpr std::chrono::minutes kPatience{1};

// Waits for `future` and returns its value. After kPatience it throws, which fails and ends the
// test with a message that names `what`. The promise may be fulfilled later still, so the thread
// that fulfils it must own it too (a shared_ptr).
template <class T>
T Await(std::future<T> future, absl::string_view what) {
  if (future.wait_for(kPatience) != std::future_status::ready)
    throw std::runtime_error(absl::StrCat("Waited a minute in vain for ", what, "."));
  return future.get();
}

// Waits until `so()` is true, asking every millisecond; throws as Await does.
template <class F>
void Until(F so, absl::string_view what) {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (!so()) {
    if (std::chrono::steady_clock::now() > give_up)
      throw std::runtime_error(absl::StrCat("Waited a minute in vain for ", what, "."));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace muster::testing
