#include "services/configuration/core/forget.h"

#include <algorithm>
#include <cstddef>

#include "services/configuration/core/limits.h"

namespace muster::configuration {
namespace {

// Erases the first of `rows` that may go until only `most` are left or none may.
template <class Row, class MayGo>
void Shorten(std::vector<Row>& rows, size_t most, MayGo may_go) {
  size_t excess = rows.size() - std::min(rows.size(), most);
  rows.erase(std::remove_if(rows.begin(), rows.end(),
                            [&](const Row& row) {
                              if (excess == 0 || !may_go(row)) return false;
                              --excess;
                              return true;
                            }),
             rows.end());
}

}  // namespace

void Forget(PoolConfiguration& pool, const std::vector<std::string>& running, int64_t orders_told) {
  Shorten(pool.revisions, kMaxRevisions, [&](const Revision& revision) {
    return !revision.disabled && revision.node_profile != pool.active() &&
           std::find(running.begin(), running.end(), revision.node_profile) == running.end();
  });
  Shorten(pool.orders, kMaxOrders, [&](const Order& order) {
    return order.number <= orders_told && order.outcome != OrderOutcome::kWaiting;
  });
}

}  // namespace muster::configuration
