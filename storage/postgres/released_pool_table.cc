#include "storage/postgres/released_pool_table.h"

#include <muster/type/v1/released_pool.pb.h>

#include "absl/strings/str_cat.h"
#include "storage/postgres/transaction.h"

namespace muster::storage {
namespace {

constexpr char kLoad[] = "SELECT pool_uid, generation, release_time, revision FROM released_pool";
constexpr Statement kPut = {
    "put_released_pools",
    "INSERT INTO released_pool (pool_uid, generation, release_time, revision)"
    " SELECT * FROM unnest($1::text[], $2::bigint[], $3::timestamptz[], $4::bigint[])"
    " ON CONFLICT (pool_uid) DO UPDATE SET generation = excluded.generation, release_time = "
    "excluded.release_time, revision = excluded.revision"};
constexpr Statement kForget = {"forget_released_pools",
                               "DELETE FROM released_pool WHERE pool_uid = ANY ($1::text[])"};

}  // namespace

void LoadReleasedPools(Transaction& tx, absl::FunctionRef<void(ReleasedPool, int64_t)> emit) {
  for (const auto& row : tx.Exec(kLoad)) {
    emit({row[0].c_str(), row[1].as<int64_t>(), FromSqlTime(row[2].c_str())}, row[3].as<int64_t>());
  }
}

void ReleasedPoolColumns::AddRow(const std::string& pool_uid, const ReleasedPool* row, int64_t at) {
  if (row == nullptr) return forgotten_.Add(pool_uid);
  pool_uid_.Add(row->pool_uid);
  generation_.Add(row->generation);
  release_time_.Add(row->release_time);
  revision_.Add(at);
}

void ReleasedPoolColumns::Send(Transaction& tx) const {
  if (!forgotten_.empty()) tx.Queue(kForget, forgotten_.Text());
  if (pool_uid_.empty()) return;
  tx.Queue(kPut, pool_uid_.Text(), generation_.Text(), release_time_.Text(), revision_.Text());
}

std::string EncodeReleasedPool(const ReleasedPool& row) {
  type::v1::ReleasedPool message;
  message.set_pool_uid(row.pool_uid);
  message.set_generation(row.generation);
  const absl::Duration since = row.release_time - absl::UnixEpoch();
  const int64_t seconds = absl::ToInt64Seconds(absl::Floor(since, absl::Seconds(1)));
  message.mutable_release_time()->set_seconds(seconds);
  message.mutable_release_time()->set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(since - absl::Seconds(seconds))));
  return message.SerializeAsString();
}

absl::StatusOr<ReleasedPool> DecodeReleasedPool(absl::string_view key, absl::string_view bytes) {
  type::v1::ReleasedPool message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      message.pool_uid() != key) {
    return absl::InternalError(absl::StrCat("Not a ", ReleasedPool::kKind, ": ", key));
  }
  return ReleasedPool{message.pool_uid(), message.generation(),
                      absl::FromUnixSeconds(message.release_time().seconds()) +
                          absl::Nanoseconds(message.release_time().nanos())};
}

}  // namespace muster::storage
