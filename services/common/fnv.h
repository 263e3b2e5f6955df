#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace muster {

// 64-bit FNV-1a: the same in every process, replica and release, which absl::Hash is not. `hash`:
// that of the bytes before these.
inline uint64_t Fnv1a(absl::string_view bytes, uint64_t hash = 0xcbf29ce484222325) {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace muster
