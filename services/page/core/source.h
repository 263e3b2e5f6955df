#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace muster::page {

// The service whose watch it is.
enum class Source : uint8_t { kCapacity, kQuota, kLifecycle, kConfiguration };
inline constexpr size_t kSources = 4;

// The state of a service's watch.
struct WatchHealth {
  std::string service = {};
  bool live = false;       // its snapshot is complete, and the stream stands
  absl::Time since = {};   // when `live` last changed
  std::string error = {};  // why it is not live; may name addresses
  std::string told = {};   // the same without what readers of the page may not see
};

}  // namespace muster::page
