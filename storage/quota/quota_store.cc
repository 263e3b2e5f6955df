#include "storage/quota/quota_store.h"

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/status_macros.h"
#include "services/quota/wire/quota_wire.h"
#include "storage/postgres/kept_request_table.h"
#include "storage/postgres/released_pool_table.h"
#include "storage/postgres/sql_types.h"
#include "storage/postgres/transaction.h"

namespace muster::storage {
namespace {

using quota::Holding;
using quota::Quota;

constexpr char kLoadQuotas[] =
    "SELECT organization, zone, instance_type, compute_class, limit_nodes, create_time, "
    "update_time, revision FROM quota";
constexpr char kLoadHoldings[] =
    "SELECT quota_name, pool_uid, nodes, generation, pool, update_time, revision FROM holding";

constexpr Statement kPutQuotas = {
    "put_quotas",
    "INSERT INTO quota (name, organization, zone, instance_type, compute_class, limit_nodes, "
    "create_time, update_time, revision)"
    " SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], "
    "$6::bigint[], $7::timestamptz[],"
    " $8::timestamptz[], $9::bigint[])"
    " ON CONFLICT (name) DO UPDATE SET limit_nodes = excluded.limit_nodes, create_time = "
    "excluded.create_time,"
    " update_time = excluded.update_time, revision = excluded.revision"};
constexpr Statement kDeleteQuotas = {"delete_quotas",
                                     "DELETE FROM quota WHERE name = ANY ($1::text[])"};

constexpr char kLoadOverrides[] =
    "SELECT quota_name, limit_nodes, effective_time, expire_time, reason FROM quota_override "
    "ORDER BY quota_name, effective_time";
constexpr Statement kClearOverrides = {
    "clear_overrides", "DELETE FROM quota_override WHERE quota_name = ANY ($1::text[])"};
constexpr Statement kPutOverrides = {
    "put_overrides",
    "INSERT INTO quota_override (quota_name, limit_nodes, effective_time, expire_time, reason)"
    " SELECT * FROM unnest($1::text[], $2::bigint[], $3::timestamptz[], $4::timestamptz[], "
    "$5::text[])"};

constexpr Statement kPutHoldings = {
    "put_holdings",
    "INSERT INTO holding (name, quota_name, pool_uid, nodes, generation, pool, update_time, "
    "revision)"
    " SELECT h.quota || '/holdings/' || h.pool_uid, h.* FROM unnest($1::text[], $2::text[], "
    "$3::bigint[], $4::bigint[], $5::text[], $6::timestamptz[], $7::bigint[])"
    " AS h (quota, pool_uid, nodes, generation, pool, update_time, revision)"
    " ON CONFLICT (name) DO UPDATE SET nodes = excluded.nodes, generation = excluded.generation, "
    "pool = excluded.pool,"
    " update_time = excluded.update_time, revision = excluded.revision"};
constexpr Statement kDeleteHoldings = {"delete_holdings",
                                       "DELETE FROM holding WHERE name = ANY ($1::text[])"};

// The changes of one kind as columns, and what became of them.
struct QuotaColumns {
  SqlArray deleted, name, organization, zone, instance_type, compute_class, limit, create_time,
      update_time, revision;

  void Add(const std::string& key, const Quota* row, int64_t at) {
    if (row == nullptr) return deleted.Add(key);
    name.Add(key);
    organization.Add(row->key.organization);
    zone.Add(row->key.zone);
    instance_type.Add(row->key.instance_type);
    compute_class.Add(ToString(row->key.compute_class));
    limit.Add(row->limit);
    create_time.Add(row->create_time);
    update_time.Add(row->update_time);
    revision.Add(at);
  }
  void Send(Transaction& tx) const {
    if (!deleted.empty()) tx.Queue(kDeleteQuotas, deleted.Text());
    if (name.empty()) return;
    tx.Queue(kPutQuotas, name.Text(), organization.Text(), zone.Text(), instance_type.Text(),
             compute_class.Text(), limit.Text(), create_time.Text(), update_time.Text(),
             revision.Text());
  }
};

// The overrides of Quotas that are put: all of a Quota's are replaced.
struct OverrideColumns {
  SqlArray replaced, quota, limit, effective_time, expire_time, reason;

  void Add(const std::string& key, const Quota* row) {
    if (row == nullptr) return;  // they go with their Quota
    replaced.Add(key);
    for (const quota::LimitOverride& override : row->overrides) {
      quota.Add(key);
      limit.Add(override.limit);
      effective_time.Add(override.effective_time);
      expire_time.Add(override.expire_time);
      reason.Add(override.reason);
    }
  }
  void Send(Transaction& tx) const {
    if (!replaced.empty()) tx.Queue(kClearOverrides, replaced.Text());
    if (quota.empty()) return;
    tx.Queue(kPutOverrides, quota.Text(), limit.Text(), effective_time.Text(), expire_time.Text(),
             reason.Text());
  }
};

struct HoldingColumns {
  SqlArray deleted, quota, pool_uid, nodes, generation, pool, update_time, revision;

  void Add(const std::string& key, const Holding* row, int64_t at) {
    if (row == nullptr) return deleted.Add(key);
    quota.Add(row->quota);
    pool_uid.Add(row->pool_uid);
    nodes.Add(row->nodes);
    generation.Add(row->generation);
    pool.Add(row->pool);
    update_time.Add(row->update_time);
    revision.Add(at);
  }
  void Send(Transaction& tx) const {
    if (!deleted.empty()) tx.Queue(kDeleteHoldings, deleted.Text());
    if (quota.empty()) return;
    tx.Queue(kPutHoldings, quota.Text(), pool_uid.Text(), nodes.Text(), generation.Text(),
             pool.Text(), update_time.Text(), revision.Text());
  }
};

template <class Row, class Message>
absl::StatusOr<quota::State::Change> DecodeAs(absl::string_view key, const std::string* bytes) {
  if (bytes == nullptr) return quota::State::Change{std::string(key), std::shared_ptr<const Row>()};
  Message message;
  if (!message.ParseFromString(*bytes))
    return absl::InternalError(absl::StrCat("Not a ", Row::kKind, ": ", key));
  ASSIGN_OR_RETURN(Row row, quota::FromProto(message));
  return quota::State::Change{std::string(key), std::make_shared<const Row>(std::move(row))};
}

}  // namespace

void PostgresQuotaStore::Load(Transaction& tx,
                              absl::FunctionRef<void(Revised<Change>)> emit) const {
  std::map<std::string, std::vector<quota::LimitOverride>> overrides;
  for (const auto& row : tx.Exec(kLoadOverrides)) {
    overrides[row[0].c_str()].push_back({row[1].as<int64_t>(), FromSqlTime(row[2].c_str()),
                                         FromSqlTime(row[3].c_str()), row[4].c_str()});
  }
  for (const auto& row : tx.Exec(kLoadQuotas)) {
    Quota loaded{
        {row[0].c_str(), row[1].c_str(), row[2].c_str(), *quota::ParseComputeClass(row[3].c_str())},
        row[4].as<int64_t>(),
        FromSqlTime(row[5].c_str()),
        FromSqlTime(row[6].c_str()),
        {}};
    std::string key = loaded.Key();
    if (const auto it = overrides.find(key); it != overrides.end())
      loaded.overrides = std::move(it->second);
    emit({Change{std::move(key), std::make_shared<const Quota>(std::move(loaded))},
          row[7].as<int64_t>()});
  }
  for (const auto& row : tx.Exec(kLoadHoldings)) {
    Holding loaded{row[0].c_str(),       row[1].c_str(), row[2].as<int64_t>(),
                   row[3].as<int64_t>(), row[4].c_str(), FromSqlTime(row[5].c_str())};
    std::string key = loaded.Key();
    emit({Change{std::move(key), std::make_shared<const Holding>(std::move(loaded))},
          row[6].as<int64_t>()});
  }
  EmitReleasedPools<Change>(tx, emit);
  EmitKeptRequests<Change>(tx, emit);
}

void PostgresQuotaStore::Write(Transaction& tx, absl::Span<const Revised<Change>> changes) const {
  QuotaColumns quotas;
  OverrideColumns overrides;
  HoldingColumns holdings;
  ReleasedPoolColumns released;
  KeptRequestColumns kept;
  for (const Revised<Change>& change : changes) {
    if (const auto* quota = std::get_if<std::shared_ptr<const Quota>>(&change.change.row)) {
      quotas.Add(change.change.key, quota->get(), change.revision);
      overrides.Add(change.change.key, quota->get());
    } else if (const auto* holding =
                   std::get_if<std::shared_ptr<const Holding>>(&change.change.row)) {
      holdings.Add(change.change.key, holding->get(), change.revision);
    } else {
      released.Add(change) || kept.Add(change);
    }
  }
  quotas.Send(tx);
  overrides.Send(tx);
  holdings.Send(tx);
  released.Send(tx);
  kept.Send(tx);
}

std::string PostgresQuotaStore::Encode(const Revised<Change>& change) const {
  if (const auto* quota = std::get_if<std::shared_ptr<const Quota>>(&change.change.row)) {
    // `held` follows from the holdings, which have their own entries.
    return quota::ToProto(Versioned<Quota>{*quota, change.revision}, 0).SerializeAsString();
  }
  if (const auto* holding = std::get_if<std::shared_ptr<const Holding>>(&change.change.row))
    return quota::ToProto(**holding).SerializeAsString();
  if (const auto* kept = std::get_if<std::shared_ptr<const KeptRequest>>(&change.change.row))
    return EncodeKeptRequest(**kept);
  return EncodeReleasedPool(*std::get<std::shared_ptr<const ReleasedPool>>(change.change.row));
}

absl::StatusOr<PostgresQuotaStore::Change> PostgresQuotaStore::Decode(
    absl::string_view kind, absl::string_view key, const std::string* bytes) const {
  if (kind == Quota::kKind) return DecodeAs<Quota, quota::v1::Quota>(key, bytes);
  if (kind == Holding::kKind) return DecodeAs<Holding, quota::v1::Holding>(key, bytes);
  if (kind == ReleasedPool::kKind) return DecodeReleasedPoolChange<Change>(key, bytes);
  if (kind == KeptRequest::kKind) return DecodeKeptRequestChange<Change>(key, bytes);
  return absl::InternalError(
      absl::StrCat("The journal of quota holds a ", kind, ", which is unknown."));
}

}  // namespace muster::storage
