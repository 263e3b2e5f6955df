#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/common/released_pool.h"
#include "services/common/state.h"
#include "services/common/status_macros.h"
#include "storage/postgres/sql_types.h"

// The table `released_pool`, the same in every schema that has it, and its rows in the journal.
namespace muster::storage {

class Transaction;

// Every row of the table with its revision.
void LoadReleasedPools(Transaction& tx, absl::FunctionRef<void(ReleasedPool, int64_t)> emit);

// Rows to be written and uids to be forgotten, as columns.
class ReleasedPoolColumns {
 public:
  // False: the change is of another kind.
  template <class Change>
  bool Add(const Revised<Change>& change) {
    const auto* row = std::get_if<std::shared_ptr<const ReleasedPool>>(&change.change.row);
    if (row == nullptr) return false;
    AddRow(change.change.key, row->get(), change.revision);
    return true;
  }
  void Send(Transaction& tx) const;

 private:
  void AddRow(const std::string& pool_uid, const ReleasedPool* row, int64_t at);

  SqlArray forgotten_, pool_uid_, generation_, release_time_, revision_;
};

// A row as the journal has it: muster.type.v1.ReleasedPool.
std::string EncodeReleasedPool(const ReleasedPool& row);
// The way back. INTERNAL: not one.
absl::StatusOr<ReleasedPool> DecodeReleasedPool(absl::string_view key, absl::string_view bytes);

// As a change of a domain's; `bytes` is null for a deletion.
template <class Change>
absl::StatusOr<Change> DecodeReleasedPoolChange(absl::string_view key, const std::string* bytes) {
  if (bytes == nullptr) return Change{std::string(key), std::shared_ptr<const ReleasedPool>()};
  ASSIGN_OR_RETURN(ReleasedPool row, DecodeReleasedPool(key, *bytes));
  return Change{std::string(key), std::make_shared<const ReleasedPool>(std::move(row))};
}

// Loads the table as a domain's store does.
template <class Change>
void EmitReleasedPools(Transaction& tx, absl::FunctionRef<void(Revised<Change>)> emit) {
  LoadReleasedPools(tx, [&](ReleasedPool row, int64_t revision) {
    std::string key = row.Key();
    emit({Change{std::move(key), std::make_shared<const ReleasedPool>(std::move(row))}, revision});
  });
}

}  // namespace muster::storage
