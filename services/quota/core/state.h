#pragma once

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/state.h"
#include "services/quota/core/names.h"

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

// All quotas and holdings, with what each key's holdings sum up to.
class State : public StateBase<State, Quota, Holding> {
 public:
  void Reindex(const Quota*, const Quota*) {}
  void Reindex(const Holding* before, const Holding* after) {
    if (before != nullptr) Add(before->quota, -before->nodes);
    if (after != nullptr) Add(after->quota, after->nodes);
  }

  // Nodes held under the Quota of this name.
  int64_t Held(absl::string_view quota) const {
    const auto it = held_.find(quota);
    return it == held_.end() ? 0 : it->second;
  }

 private:
  void Add(const std::string& quota, int64_t nodes) {
    if (nodes == 0) return;
    const auto it = held_.try_emplace(quota, 0).first;
    it->second += nodes;
    if (it->second == 0) held_.erase(it);
  }

  absl::flat_hash_map<std::string, int64_t> held_;
};

}  // namespace muster::quota
