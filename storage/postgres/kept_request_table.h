#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/common/kept_request.h"
#include "services/common/state.h"
#include "services/common/status_macros.h"
#include "storage/postgres/sql_types.h"

// The table `kept_request`, the same in every schema, and its rows in the journal.
namespace muster::storage {

class Transaction;

// Every row of the table with its revision.
void LoadKeptRequests(Transaction& tx, absl::FunctionRef<void(KeptRequest, int64_t)> emit);

// Rows to be written and ids to be forgotten, as columns.
class KeptRequestColumns {
 public:
  // False: the change is of another kind.
  template <class Change>
  bool Add(const Revised<Change>& change) {
    const auto* row = std::get_if<std::shared_ptr<const KeptRequest>>(&change.change.row);
    if (row == nullptr) return false;
    Add(change.change.key, row->get(), change.revision);
    return true;
  }
  // A null row: the id is to be forgotten.
  void Add(const std::string& request_id, const KeptRequest* row, int64_t revision);
  void Send(Transaction& tx) const;

 private:
  SqlArray forgotten_, request_id_, method_, digest_, code_, answer_, create_time_, revision_;
};

// A row as the journal has it: muster.type.v1.KeptRequest.
std::string EncodeKeptRequest(const KeptRequest& row);
// The way back. INTERNAL: not one.
absl::StatusOr<KeptRequest> DecodeKeptRequest(absl::string_view key, absl::string_view bytes);

// As a change of a domain's; `bytes` is null for a deletion.
template <class Change>
absl::StatusOr<Change> DecodeKeptRequestChange(absl::string_view key, const std::string* bytes) {
  if (bytes == nullptr) return Change{std::string(key), std::shared_ptr<const KeptRequest>()};
  ASSIGN_OR_RETURN(KeptRequest row, DecodeKeptRequest(key, *bytes));
  return Change{std::string(key), std::make_shared<const KeptRequest>(std::move(row))};
}

// Loads the table as a domain's store does.
template <class Change>
void EmitKeptRequests(Transaction& tx, absl::FunctionRef<void(Revised<Change>)> emit) {
  LoadKeptRequests(tx, [&](KeptRequest row, int64_t revision) {
    std::string key = row.Key();
    emit({Change{std::move(key), std::make_shared<const KeptRequest>(std::move(row))}, revision});
  });
}

}  // namespace muster::storage
