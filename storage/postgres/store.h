#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "services/common/state.h"

namespace muster::storage {

// storage/postgres/transaction.h, statement_list.h; only storage/ looks inside.
class Transaction;
class StatementSink;

// A domain's tables, as the commit lane needs them. Implemented in storage/<domain>/; thread-safe,
// stateless.
template <class State>
class Store {
 public:
  using Change = typename State::Change;

  virtual ~Store() = default;

  // The kinds of its rows, internal ones too. The journal may have others, which only a later
  // release knows.
  virtual std::vector<std::string> Kinds() const = 0;
  virtual bool Knows(absl::string_view kind) const = 0;

  // Calls `emit` for every row of every table with its revision, one by one, from threads of its
  // own. Throws what libpqxx throws: the runner catches it.
  virtual void Load(Transaction& tx, absl::FunctionRef<void(Revised<Change>)> emit) const = 0;

  // Writes the rows of `changes` (at most one a key, ordered by kind and key) in a few array
  // statements.
  virtual void Write(StatementSink& out, absl::Span<const Revised<Change>> changes) const = 0;

  // A change as the journal and the watchers have it: the resource's API message, serialized.
  // Must not be called for a deletion.
  virtual std::string Encode(const Revised<Change>& change) const = 0;

  // The way back. `bytes` is null for a deletion. INTERNAL when kind or bytes are not understood.
  virtual absl::StatusOr<Change> Decode(absl::string_view kind, absl::string_view key,
                                        const std::string* bytes) const = 0;

  // What Encode made, as the API's message. Null: not understood.
  virtual std::unique_ptr<google::protobuf::Message> Parse(absl::string_view kind,
                                                           const std::string& bytes) const = 0;
};

}  // namespace muster::storage
