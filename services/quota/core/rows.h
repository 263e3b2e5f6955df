#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/common/interned.h"
#include "services/quota/core/names.h"

// What quota keeps.
namespace muster::quota {

// Another limit for some time: from `effective_time` on, no longer at `expire_time`.
struct LimitOverride {
  int64_t limit = 0;
  absl::Time effective_time = absl::UnixEpoch();
  absl::Time expire_time = absl::UnixEpoch();
  std::string reason = {};
  bool operator==(const LimitOverride&) const = default;
};

// How many Nodes may be held under one key.
struct Quota {
  static constexpr char kKind[] = "quota";
  QuotaKey key = {};
  int64_t limit = 0;
  absl::Time create_time = absl::UnixEpoch();
  // When the row was written: by an update, or when an override came into force or lapsed.
  absl::Time update_time = absl::UnixEpoch();
  std::vector<LimitOverride> overrides = {};  // by time, none within another
  Word later = {};                            // see services/common/state.h

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
  Word later = {};  // see services/common/state.h

  std::string Key() const { return absl::StrCat(quota, "/holdings/", pool_uid); }
  bool operator==(const Holding&) const = default;
};

}  // namespace muster::quota
