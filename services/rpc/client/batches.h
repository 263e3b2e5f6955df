#pragma once

#include <cstddef>

#include "services/rpc/limits.h"

namespace muster::rpc {

// Most machines that are registered by one call.
inline constexpr size_t kRegisterChunk = 500;

// The end of the batch that begins with `entries[begin]`: at most `most` entries, and
// kMaxBatchBytes; an entry that is larger is a batch of its own.
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
