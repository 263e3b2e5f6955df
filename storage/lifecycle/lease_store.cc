#include "storage/lifecycle/lease_store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/postgres/transaction.h"

namespace muster::storage {
namespace {

// Who still has it keeps its epoch, unless the time was over: somebody may have reconciled
// meanwhile.
constexpr Statement kBeat = {
    "beat_lease",
    "INSERT INTO lease_heartbeat AS old (name, holder, epoch, expire_time)"
    " SELECT 'reconciler', $1::text, 1 + coalesce((SELECT max(epoch) FROM lease), 0), "
    "clock_timestamp() + $2::interval"
    " ON CONFLICT (name) DO UPDATE SET holder = excluded.holder,"
    " epoch = old.epoch + CASE WHEN old.holder = excluded.holder AND old.expire_time > "
    "clock_timestamp() THEN 0 ELSE 1 END,"
    " expire_time = excluded.expire_time"
    " WHERE old.holder = excluded.holder OR old.expire_time <= clock_timestamp()"
    " RETURNING epoch"};
constexpr Statement kRelease = {
    "release_lease",
    "UPDATE lease_heartbeat SET expire_time = clock_timestamp() WHERE name = 'reconciler' AND "
    "holder = $1::text"};

}  // namespace

LeaseStore::LeaseStore(ConnectOptions connect)
    : pool_(std::move(connect), 1),
      runner_(&pool_, RunnerOptions{.retry_budget = absl::Milliseconds(500)}) {}

absl::StatusOr<int64_t> LeaseStore::Beat(const std::string& holder, absl::Duration ttl) {
  int64_t epoch = 0;
  const std::string interval = absl::StrCat(absl::ToInt64Milliseconds(ttl), " milliseconds");
  const absl::Status status = runner_.RunStatement([&](Transaction& tx) {
    const pqxx::result rows = tx.Exec(kBeat, holder, interval);
    epoch = rows.empty() ? 0 : rows[0][0].as<int64_t>();
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return epoch;
}

absl::Status LeaseStore::Release(const std::string& holder) {
  return runner_.RunStatement([&](Transaction& tx) {
    tx.Exec(kRelease, holder);
    return absl::OkStatus();
  });
}

}  // namespace muster::storage
