#pragma once

#include <cstddef>
#include <cstdint>

// What an agent may say in ReportNodes: more than this is refused, the whole call with it.
namespace muster {

inline constexpr size_t kMaxReportsACall = 1'000;
// Of one Node.
inline constexpr size_t kMaxActivePods = 10;  // that are named
inline constexpr size_t kMaxPodNameBytes = 253;
inline constexpr int64_t kMaxActivePodCount = 100'000;
inline constexpr size_t kMaxReportMessageBytes = 1'024;
inline constexpr size_t kMaxProfileIdBytes = 64;
inline constexpr size_t kMaxBootIdBytes = 64;

}  // namespace muster
