#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/fnv.h"

namespace muster {

// A hash over values, each with its length, so that their borders count. The same values have the
// same hash in every process, replica and history: it makes the etags.
class ContentHash {
 public:
  ContentHash& Add(int64_t number) {
    char bytes[8];
    for (int i = 0; i < 8; ++i)
      bytes[i] = static_cast<char>(static_cast<uint64_t>(number) >> (8 * i));
    return AddBytes({bytes, sizeof(bytes)});
  }
  ContentHash& Add(absl::string_view text) {
    Add(static_cast<int64_t>(text.size()));
    return AddBytes(text);
  }
  ContentHash& Add(absl::Time time) {
    using Nanos = std::numeric_limits<int64_t>;
    const int64_t nanos = absl::ToUnixNanos(time);
    Add(nanos);
    // int64 nanoseconds end in 1677 and 2262: beyond these microseconds are added, but not for
    // infinite times.
    const bool beyond = nanos == Nanos::min() || nanos == Nanos::max();
    const bool finite = time != absl::InfinitePast() && time != absl::InfiniteFuture();
    return beyond && finite ? Add(absl::ToUnixMicros(time)) : *this;
  }
  ContentHash& Add(const std::map<std::string, std::string>& map) {
    Add(static_cast<int64_t>(map.size()));
    for (const auto& [key, value] : map) Add(key).Add(value);
    return *this;
  }
  std::string Text() const { return absl::StrCat(absl::Hex(value_, absl::kZeroPad16)); }

 private:
  ContentHash& AddBytes(absl::string_view bytes) {
    value_ = Fnv1a(bytes, value_);
    return *this;
  }
  uint64_t value_ = Fnv1a("");
};

}  // namespace muster
