#pragma once

#include <cstddef>

// Kubernetes' limits for labels, annotations and taints.
namespace muster {

inline constexpr size_t kMaxLabelValueBytes = 63;    // and of a key's name
inline constexpr size_t kMaxLabelPrefixBytes = 253;  // of a key, before the slash
inline constexpr size_t kMaxLabelKeyBytes = kMaxLabelPrefixBytes + 1 + kMaxLabelValueBytes;

}  // namespace muster
