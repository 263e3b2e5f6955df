#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "storage/postgres/journal_packing.h"

namespace muster::storage {

class Transaction;
class StatementList;
class StatementSink;

// The one row that every commit of a schema locks.
struct Head {
  int64_t revision = 0;            // of the last change
  std::string batch = {};          // id of the last batch
  int64_t compacted_revision = 0;  // changes up to this one are no longer in the journal
  std::string incarnation = {};    // the history's name: another after every loss or restore
  absl::Time commit_time = absl::UnixEpoch();   // of the last batch
  absl::Time now = absl::UnixEpoch();           // the database's clock as the head was read
  std::optional<std::string> known_batch = {};  // that wrote the revision that was asked for
  bool waits_for_standby = false;  // the server acknowledges a commit when a standby has it
};

// What memory knows of the history that it shows.
struct Position {
  std::string incarnation = {};
  int64_t revision = 0;
  std::string batch = {};  // that wrote the revision

  static Position Of(const Head& head) { return {head.incarnation, head.revision, head.batch}; }
  friend bool operator==(const Position&, const Position&) = default;
};

// One change as the journal has it.
struct JournalRow {
  int64_t revision = 0;
  std::string kind = {};
  std::string key = {};
  std::shared_ptr<const std::string> bytes = {};  // null: the resource is gone
  std::string batch = {};                         // set by Read
  int64_t previous =
      0;  // for Append: the revision of the resource's change before this; 0: there was none
};

// The journal of one schema: tables `journal_head` and `journal` (migrations/<schema>/0001_*.sql).
// Revisions have no gaps. All functions throw what libpqxx throws.
namespace journal {

// Locks the head until the transaction ends, then reads it and the batch of revision `known`: what
// it says, its time too, holds as long as the lock. One round trip, BEGIN included.
Head Lock(Transaction& tx, int64_t known);
// Reads the same without a lock.
Head Peek(Transaction& tx, int64_t known);
// The same, and makes COMMIT wait as for a change, though nothing is changed: where a commit waits
// for a standby, its end proves that no other server took commits when the head was read.
Head Prove(Transaction& tx, int64_t known);
// Changes with after < revision <= upto, at most `limit`, in order.
std::vector<JournalRow> Read(Transaction& tx, int64_t after, int64_t upto, int64_t limit);
// Locks the head until the transaction ends. Is sent with the next statement; if the head is not at
// `at`, fails as Move does.
void Expect(StatementSink& out, const Position& at);
// Hands `statements` over to `tx`; none is left.
void Say(Transaction& tx, StatementList& statements);
// Declares that `tx` locks rows at most: whatever becomes of its COMMIT, nothing is in doubt.
void ChangesNothing(Transaction& tx);
// Moves the head from `from` to `revision`, and locks it until the transaction ends. Is sent with
// the next statement; if the head is not at `from`, or its last commit is later than `commit_time`,
// that statement fails, and the runner returns FAILED_PRECONDITION.
void Move(StatementSink& out, const Position& from, int64_t revision, absl::string_view batch,
          absl::Time commit_time);
// Appends `rows`, at least one, and their authors (CommitAuthors::Encode). The head must have been
// moved to the last of them, with the same `commit_time`: in a history no change is of an earlier
// time than one before it.
void Append(StatementSink& out, absl::Span<const JournalRow> rows, absl::string_view batch,
            absl::string_view authors, absl::Time commit_time,
            JournalPacking packing = JournalPacking::kNone);
// Ends the sessions of our role that hold the head and have waited for their client for longer than
// `age`; returns how many. Each client settles by itself what became of its commit.
int EndStalled(Transaction& tx, absl::Duration age);
// Gives the history a new name (Head::incarnation).
void Rename(Transaction& tx);
// Changes up to `revision` are forgotten: watches can no longer begin before it. Never beyond the
// head.
void MoveCompacted(Transaction& tx, int64_t revision);
// Deletes the rows of the oldest forgotten changes, at most `limit`, and their authors; returns how
// many rows.
int64_t DeleteCompacted(Transaction& tx, int64_t limit);
// Tells the tailers of other processes that the head is at `revision`. To be sent after the commit.
void Notify(Transaction& tx, absl::string_view channel, int64_t revision);
// Sets how long the session may idle within this transaction from now on before Postgres ends it.
void SetIdleTimeout(Transaction& tx, absl::Duration timeout);

}  // namespace journal
}  // namespace muster::storage
