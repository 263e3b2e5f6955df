#pragma once

#include <cstdint>
#include <random>

namespace muster {

// 64 random bits, for ids. Not a secret. Thread-safe.
inline uint64_t RandomBits() {
  thread_local std::mt19937_64 engine = [] {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device()};
    return std::mt19937_64(seed);
  }();
  return engine();
}

}  // namespace muster
