#pragma once

#include <cstddef>

#include "services/rpc/limits.h"

namespace muster::rpc {

// How many machines are registered by one call.
inline constexpr size_t kRegisterChunk = 500;

// Where the batch ends that begins with `entries[begin]`: so many entries at most, and so many bytes as a server takes in one request;
// one that is larger by itself is a batch of its own.
template <class Entries>
size_t BatchEnd(const Entries& entries, size_t begin, size_t most) {
  constexpr size_t kOverhead = 8;  // of an entry, beside its own bytes
  size_t bytes = 0;
  size_t end = begin;
  while (end < entries.size() && end - begin < most) {
    bytes += entries[end].ByteSizeLong() + kOverhead;
    if (bytes > kMaxBatchBytes && end > begin) break;
    ++end;
  }
  return end;
}

}  // namespace muster::rpc
