#pragma once

#include "services/lifecycle/core/state.h"
#include "storage/postgres/store.h"

namespace muster::storage {

// The tables of migrations/lifecycle.
class PostgresLifecycleStore final : public Store<lifecycle::State> {
 public:
  void Load(Transaction& tx, absl::FunctionRef<void(Revised<Change>)> emit) const override;
  void Write(Transaction& tx, absl::Span<const Revised<Change>> changes) const override;
  std::string Encode(const Revised<Change>& change) const override;
  absl::StatusOr<Change> Decode(absl::string_view kind, absl::string_view key,
                                const std::string* bytes) const override;
};

}  // namespace muster::storage
