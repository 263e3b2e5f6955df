#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/quota/core/names.h"

// What quota keeps.
namespace muster::quota {

// How many Nodes may be held under one key.
struct Quota {
  static constexpr char kKind[] = "quota";
  QuotaKey key = {};
  int64_t limit = 0;
  absl::Time create_time = absl::UnixEpoch();
  absl::Time update_time = absl::UnixEpoch();

  std::string Key() const { return QuotaName(key); }
  bool operator==(const Quota&) const = default;
};

// What one pool is charged for under one key.
struct Holding {
  static constexpr char kKind[] = "holding";
  std::string quota = {};  // name of the Quota, which need not exist
  std::string pool_uid = {};
  int64_t nodes = 0;
  int64_t generation = 0;
  std::string pool = {};
  absl::Time update_time = absl::UnixEpoch();

  std::string Key() const { return absl::StrCat(quota, "/holdings/", pool_uid); }
  bool operator==(const Holding&) const = default;
};

}  // namespace muster::quota
