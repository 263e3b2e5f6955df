#pragma once

#include "absl/types/span.h"
#include "services/common/state.h"
#include "services/configuration/core/state.h"

namespace muster::storage {

class Transaction;

// Stores what became of rows, each at most once, as arrays in a few statements. Throws what libpqxx
// throws.
void WriteColumns(Transaction& tx, absl::Span<const Revised<configuration::State::Change>> changes);

}  // namespace muster::storage
