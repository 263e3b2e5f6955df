#include "tests/simulation/ledger.h"

#include <vector>

#include "absl/strings/str_split.h"
#include "services/capacity/core/decide.h"
#include "services/configuration/core/decide.h"
#include "services/quota/core/decide.h"

namespace muster::simulation {
namespace {

constexpr const char* kClasses[] = {"default", "spot"};

lifecycle::HoldingEntry EntryOf(const quota::Holding& holding) {
  lifecycle::HoldingEntry entry{.pool_uid = holding.pool_uid, .name = holding.Key()};
  const std::vector<std::string> parts = absl::StrSplit(holding.quota, '/');
  const std::vector<std::string> key = absl::StrSplit(parts.back(), '~');
  entry.organization = parts[1];
  entry.zone = key[0];
  entry.instance_type = key[1];
  entry.compute_class = key[2];
  entry.nodes = holding.nodes;
  entry.generation = holding.generation;
  entry.pool = holding.pool;
  return entry;
}

lifecycle::ClaimEntry EntryOf(const capacity::State& state, const capacity::ClaimRow& claim) {
  lifecycle::ClaimEntry entry{.pool_uid = claim.pool_uid,
                              .zone = claim.zone,
                              .instance_type = claim.instance_type,
                              .compute_class = kClasses[static_cast<size_t>(claim.compute_class)],
                              .generation = claim.generation,
                              .pool = claim.pool,
                              .organization = claim.organization};
  for (const capacity::MachineRow* machine : state.FootprintOf(claim.pool_uid).machines)
    entry.machines.push_back(machine->id);
  return entry;
}

}  // namespace

lifecycle::Books BooksOf(const Cloud& cloud) {
  lifecycle::Books books;
  const lifecycle::State& pools = cloud.lifecycle.state();
  for (const auto& [name, pool] : pools.table<lifecycle::Pool>().rows()) {
    books.pools.push_back(lifecycle::EntryOf(*pool.row, pools.NodesOf(name)));
  }
  if (const auto* lease = pools.table<lifecycle::Lease>().Find(lifecycle::Lease::kName))
    books.history_floor = lease->generation_floor;
  for (const auto& [key, row] : cloud.quota.state().table<quota::Holding>().rows()) {
    books.holdings.push_back(EntryOf(*row.row));
  }
  const capacity::State& capacity = cloud.capacity.state();
  for (const auto& [key, row] : capacity.table<capacity::ClaimRow>().rows()) {
    books.claims.push_back(EntryOf(capacity, *row.row));
  }
  for (const auto& [key, row] :
       cloud.configuration.state().table<configuration::PoolConfiguration>().rows()) {
    books.configurations.push_back({row.row->pool_uid, row.row->generation});
  }
  return books;
}

}  // namespace muster::simulation
