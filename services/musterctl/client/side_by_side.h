#pragma once

#include <future>
#include <type_traits>
#include <utility>
#include <vector>

#include "services/common/trace_context.h"

namespace muster::musterctl {

// Runs `act` on a thread of its own, under the caller's trace.
template <class F>
auto RunAsync(F act) {
  return std::async(std::launch::async, [act = std::move(act), trace = CurrentTrace::Get()] {
    const CurrentTrace scope(trace);
    return act();
  });
}

// Calls `act` with each element, all at the same time, and returns the results in the order of the
// elements once all are done. What `act` shares must be thread-safe.
template <class T, class F>
auto SideBySide(const std::vector<T>& all, const F& act) {
  using Result = std::invoke_result_t<const F&, const T&>;
  std::vector<Result> results;
  if (all.size() == 1) {
    results.push_back(act(all.front()));
    return results;
  }
  std::vector<std::future<Result>> under_way;
  for (const T& one : all) under_way.push_back(RunAsync([&act, &one] { return act(one); }));
  for (std::future<Result>& each : under_way) results.push_back(each.get());
  return results;
}

}  // namespace muster::musterctl
