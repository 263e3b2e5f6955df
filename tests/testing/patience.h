#pragma once

// The end of a test that a fault makes wait for ever.
#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace muster::testing {

// How long tests wait for what comes at once where nothing is broken. A last resort: no test says
// how fast anything is.
inline constexpr std::chrono::minutes kPatience{1};

// What `future` comes to hold. Throws, which fails and ends the test, where it waits in vain for
// `what`; whoever is to fulfil it may come later still, so the promise must be shared with him.
template <class T>
T Await(std::future<T> future, absl::string_view what) {
  if (future.wait_for(kPatience) != std::future_status::ready)
    throw std::runtime_error(absl::StrCat("Waited a minute in vain for ", what, "."));
  return future.get();
}

// Waits until `so` holds, likewise.
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
