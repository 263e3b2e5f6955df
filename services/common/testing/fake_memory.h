#pragma once

#include <cstdint>

// For tests of what reads a lane's memory (pieces.h): one that nobody changes meanwhile.
namespace muster {

template <class State>
class FakeMemory {
 public:
  // The state must outlive it.
  explicit FakeMemory(const State& state) : state_(state) {}

  template <class F>
  auto Peek(F f) const {
    return f(state_, int64_t{0});
  }

 private:
  const State& state_;
};

}  // namespace muster
