#include "services/lifecycle/store/lease_store.h"

#include <optional>
#include <utility>

#include "services/lifecycle/core/lease.h"
#include "storage/postgres/sql_types.h"
#include "storage/postgres/transaction.h"

namespace muster::storage {
namespace {

using lifecycle::Heartbeat;

constexpr Statement kReadBeat = {
    "read_beat",
    "SELECT holder, epoch, write_time, expire_time FROM lease_heartbeat WHERE name = 'reconciler' "
    "FOR UPDATE"};
// Read only once the row is locked: a replica that had to wait for it must not decide by an earlier
// time.
constexpr Statement kReadNow = {"read_beat_time",
                                "SELECT clock_timestamp(), coalesce(max(epoch), 0) FROM lease"};
constexpr Statement kUpdateBeat = {
    "update_beat",
    "UPDATE lease_heartbeat SET holder = $1::text, epoch = $2::bigint, write_time = "
    "$3::timestamptz, expire_time = $4::timestamptz WHERE name = 'reconciler' RETURNING epoch"};
constexpr Statement kLook = {"look_at_beat",
                             "SELECT holder, epoch, write_time, expire_time, clock_timestamp()"
                             " FROM lease_heartbeat WHERE name = 'reconciler'"};
// If another replica has inserted it first, that row stays.
constexpr Statement kInsertBeat = {
    "insert_beat",
    "INSERT INTO lease_heartbeat (name, holder, epoch, write_time, expire_time) VALUES "
    "('reconciler', $1::text, $2::bigint, $3::timestamptz, $4::timestamptz) ON CONFLICT DO NOTHING "
    "RETURNING epoch"};

Heartbeat ToHeartbeat(const pqxx::row& row) {
  return {row[0].c_str(), row[1].as<int64_t>(), FromSqlTime(row[2].c_str()),
          FromSqlTime(row[3].c_str())};
}

std::optional<Heartbeat> Read(Transaction& tx) {
  const pqxx::result rows = tx.Exec(kReadBeat);
  if (rows.empty()) return std::nullopt;
  return ToHeartbeat(rows[0]);
}

// False: another replica was first.
bool Write(Transaction& tx, bool is_there, const Heartbeat& row) {
  return !tx.Exec(is_there ? kUpdateBeat : kInsertBeat, row.holder, row.epoch,
                  ToSqlTime(row.write_time), ToSqlTime(row.expire_time))
              .empty();
}

}  // namespace

LeaseStore::LeaseStore(ConnectOptions connect)
    : pool_(std::move(connect), 1),
      runner_(&pool_, RunnerOptions{.retry_budget = absl::Milliseconds(500)}) {}

absl::StatusOr<int64_t> LeaseStore::RenewLease(const std::string& holder, absl::Duration ttl) {
  int64_t epoch = 0;
  const absl::Status status = runner_.Run([&](Transaction& tx) {
    const std::optional<Heartbeat> row = Read(tx);
    const pqxx::result now = tx.Exec(kReadNow);
    const std::optional<Heartbeat> next = lifecycle::RenewLease(
        row, now[0][1].as<int64_t>(), holder, ttl, FromSqlTime(now[0][0].c_str()));
    epoch = next && Write(tx, row.has_value(), *next) ? next->epoch : 0;
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return epoch;
}

absl::StatusOr<bool> LeaseStore::IsHeld() {
  bool is_held = false;
  const absl::Status status = runner_.RunStatement([&](Transaction& tx) {
    const pqxx::result rows = tx.Exec(kLook);
    is_held =
        !rows.empty() && !lifecycle::IsOver(ToHeartbeat(rows[0]), FromSqlTime(rows[0][4].c_str()));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return is_held;
}

absl::Status LeaseStore::Release(const std::string& holder) {
  return runner_.Run([&](Transaction& tx) {
    const std::optional<Heartbeat> row = Read(tx);
    const pqxx::result now = tx.Exec(kReadNow);
    const std::optional<Heartbeat> next =
        lifecycle::Release(row, holder, FromSqlTime(now[0][0].c_str()));
    if (next) Write(tx, true, *next);
    return absl::OkStatus();
  });
}

}  // namespace muster::storage
