#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/author.h"

namespace muster::storage {

class Transaction;

// One change of one resource, as the journal tells it.
struct LoggedChange {
  int64_t revision = 0;
  absl::Time commit_time = absl::UnixEpoch();
  std::shared_ptr<const std::string> bytes = {};   // as Store::Encode gives it; null: it is gone
  std::shared_ptr<const std::string> before = {};  // the same before; null: none, or not known
  // The revision of the resource's change before this one; 0: there was none; nullopt: not known.
  std::optional<int64_t> previous = {};
  Author author = {};
};

// What the changes of one log have together, but for the last two.
inline constexpr int64_t kMaxLogBytes = 4 << 20;

// Changes of one resource, newest first.
struct ChangeLog {
  std::string kind = {};  // of the resource; empty: the journal has nothing of it
  std::vector<LoggedChange> changes = {};
  int64_t next = 0;  // revision of the change after the last of these; 0: the journal has no more
  std::string incarnation = {};  // of the history that it is of
};

// Where a log begins: with the change of that revision. 0: with the last one.
struct LogStart {
  int64_t newest = 0;
  std::string incarnation = {};  // of the history that `newest` is of; empty: of that of now
};

// When: the last change counts that is neither after the revision nor after the time.
struct Moment {
  int64_t revision = std::numeric_limits<int64_t>::max();
  absl::Time time = absl::InfiniteFuture();
  std::string incarnation = {};  // of the history that the revision is of; empty: of that of now
};

// A resource as it was, as the journal or memory has it.
struct PastRow {
  std::string key = {};
  std::string kind = {};
  int64_t revision = 0;
  std::shared_ptr<const std::string> bytes = {};  // as Store::Encode gives it
};

// Resources as they were at one revision, by key.
struct PastPage {
  int64_t revision = 0;
  std::string incarnation = {};  // of the history that the revision is of
  std::vector<PastRow> rows = {};
  bool more = false;
  std::string last = {};  // the key after which the next page begins
};

// The first change of a resource after some revision.
struct FirstChange {
  std::string key = {};
  std::optional<int64_t> previous = {};  // as LoggedChange.previous
};

// The way back through the journal is from change to change: each knows the one before it.
namespace journal {

// Where the past of what memory does not have begins: the last time that a resource of that name went. 0: the journal knows of none.
int64_t FindDeletion(Transaction& tx, absl::string_view key);
// Changes of the resource from the one with the revision `newest` back, at most `limit`, and fewer when they have kMaxLogBytes; past
// its creation those of what bore the name before.
ChangeLog ReadChanges(Transaction& tx, absl::string_view key, int64_t newest, int64_t limit);
// The revision of the resource's change that counted then, from the one with the revision `newest` back; else of the oldest that there
// is, which came later. nullopt: the journal has none.
std::optional<int64_t> FindChangeAt(Transaction& tx, absl::string_view key, int64_t newest,
                                    const Moment& then);
// When the oldest change was committed that the journal has, of whatever resource; when the last was, if it has none.
absl::Time ReachesBackTo(Transaction& tx);
// The last revision that was committed then or before; 0: the journal has none. Costs as much as was committed since.
int64_t RevisionAt(Transaction& tx, absl::Time then);
// Of each resource whose key begins with `prefix` and that changed after `revision`, in order of key. Costs as much as was committed since.
std::vector<FirstChange> FirstChangesAfter(Transaction& tx, int64_t revision,
                                           absl::string_view prefix);
// What the journal has at these revisions; of one that it has forgotten nothing, of what was gone then `bytes` is null.
std::vector<PastRow> ReadRevisions(Transaction& tx, const std::vector<int64_t>& revisions);
// Of the `limit` changes after `after`, the last one that was committed longer ago than `age`, by the database's clock; `after`: none was.
int64_t LastOlderThan(Transaction& tx, int64_t after, int64_t limit, absl::Duration age);

}  // namespace journal

// OUT_OF_RANGE (REVISION_COMPACTED): the journal no longer tells of that moment, but of the resource from that on.
absl::Status Forgotten(int64_t oldest_revision, absl::Time oldest);

}  // namespace muster::storage
