#include "services/quota/store/quota_store.h"

#include <memory>

#include "services/quota/wire/quota_wire.h"
#include "storage/postgres/kept_request_table.h"
#include "storage/postgres/released_pool_table.h"
#include "storage/postgres/table_store.h"

namespace muster::storage {

using quota::Holding;
using quota::LimitOverride;
using quota::Quota;
using quota::QuotaKey;

template <>
struct SqlValue<quota::ComputeClass>
    : SqlWords<quota::ComputeClass, 2, [](quota::ComputeClass word) { return ToString(word); }> {};

namespace {

SqlTable<Quota> Quotas() {
  auto overrides = std::make_shared<ListTable<&Quota::overrides>>(
      "quota_override", "quota_name",
      std::vector<SqlColumn<LimitOverride>>{Key<&LimitOverride::effective_time>("effective_time"),
                                            Field<&LimitOverride::expire_time>("expire_time"),
                                            Field<&LimitOverride::limit>("limit_nodes"),
                                            Field<&LimitOverride::reason>("reason")});
  return {"quota",
          KeyForm::kName,
          {Key<Quota>("name"), Field<&Quota::key, &QuotaKey::organization>("organization"),
           Field<&Quota::key, &QuotaKey::zone>("zone"),
           Field<&Quota::key, &QuotaKey::instance_type>("instance_type"),
           Field<&Quota::key, &QuotaKey::compute_class>("compute_class"),
           Field<&Quota::limit>("limit_nodes"), Field<&Quota::create_time>("create_time"),
           Field<&Quota::update_time>("update_time")},
          {overrides}};
}

SqlTable<Holding> Holdings() {
  return {"holding",
          KeyForm::kName,
          {Key<Holding>("name"), Field<&Holding::quota>("quota_name"),
           Field<&Holding::pool_uid>("pool_uid"), Field<&Holding::nodes>("nodes"),
           Field<&Holding::generation>("generation"), Field<&Holding::pool>("pool"),
           Field<&Holding::update_time>("update_time")}};
}

}  // namespace

std::unique_ptr<const Store<quota::State>> NewQuotaStore() {
  return std::make_unique<TableStore<quota::State>>(
      // `held` follows from the holdings, which have their own entries.
      StoredAs<quota::v1::Quota>(
          Quotas(), [](const Versioned<Quota>& row) { return ToProto(row, 0); },
          [](const quota::v1::Quota& message) { return quota::FromProto(message); }),
      StoredAs<quota::v1::Holding>(
          Holdings(), [](const Versioned<Holding>& row) { return ToProto(*row.row); },
          [](const quota::v1::Holding& message) { return quota::FromProto(message); }),
      StoredReleasedPools(), StoredKeptRequests());
}

}  // namespace muster::storage
