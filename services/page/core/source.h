#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace muster::page {

// Whose watch it is.
enum class Source : uint8_t { kCapacity, kQuota, kLifecycle, kConfiguration };
inline constexpr size_t kSources = 4;

// How the watch of a service is.
struct WatchHealth {
  std::string service = {};
  bool live = false;       // its snapshot is complete, and the stream stands
  absl::Time since = {};   // of `live`
  std::string error = {};  // why it is not; may name addresses
  std::string told = {};   // likewise, as readers of the page may hear it
};

}  // namespace muster::page
