#include "services/quota/core/key_use.h"

namespace muster::quota {

void KeyUse::Replace(const Holding* before, const Holding* after) {
  const int64_t nodes_before = before == nullptr ? 0 : before->nodes;
  const int64_t nodes_after = after == nullptr ? 0 : after->nodes;
  held_ += nodes_after - nodes_before;
  if (nodes_before == nodes_after) {
    // The place stays: most often only the generation changed.
    if (nodes_after > 0) holders_.find({nodes_before, before})->row = after;
    return;
  }
  if (nodes_before > 0) holders_.erase({nodes_before, before});
  if (nodes_after > 0) holders_.insert({nodes_after, after});
}

Holders KeyUse::HoldersBeside(absl::string_view pool_uid, int64_t nodes, size_t most) const {
  Holders result;
  result.others = static_cast<int64_t>(holders_.size()) - (nodes > 0 ? 1 : 0);
  result.other_nodes = held_ - nodes;
  for (const Entry& entry : holders_) {
    if (result.largest.size() == most) break;
    if (entry.row->pool_uid == pool_uid) continue;
    result.largest.push_back({entry.row->pool_uid, entry.row->pool, entry.nodes});
    --result.others;
    result.other_nodes -= entry.nodes;
  }
  return result;
}

}  // namespace muster::quota
