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

// No further change is read for a log once those that were read have so many bytes together. It has
// at least one all the same.
inline constexpr int64_t kMaxLogBytes = 4 << 20;

// Changes of one resource, newest first.
struct ChangeLog {
  std::string kind = {};  // of the resource; empty: the journal has nothing of it
  std::vector<LoggedChange> changes = {};
  int64_t next = 0;              // revision of the next older change; 0: the journal has none
  std::string incarnation = {};  // name of the history that the changes are of
};

// The change that a log begins with.
struct LogStart {
  int64_t newest = 0;            // its revision; 0: the resource's last change
  std::string incarnation = {};  // of the history that `newest` is of; empty: the present one
};

// A moment of the past. What was true then is what the last change made that is neither after
// `revision` nor after `time`.
struct Moment {
  int64_t revision = std::numeric_limits<int64_t>::max();
  absl::Time time = absl::InfiniteFuture();
  std::string incarnation = {};  // of the history that `revision` is of; empty: the present one
};

// How far a log goes back, where a resource of the name was deleted and another one made.
enum class Lives {
  kAll,   // on to the one that had the name before
  kLast,  // to the creation of the last, as if there had been none before
};

// A resource as it was, as the journal or memory has it.
struct PastRow {
  std::string key = {};
  std::string kind = {};
  int64_t revision = 0;
  std::shared_ptr<const std::string> bytes = {};  // as Store::Encode gives it; null: it was gone
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
  int64_t revision = 0;
  absl::Time commit_time = absl::UnixEpoch();
  std::optional<int64_t> previous = {};  // as LoggedChange.previous
};

// Reads the past from the journal, where each change names the resource's change before it. All
// throw what libpqxx throws.
namespace journal {

// The revision at which a resource of this name was last deleted: where the log of a resource that
// is gone begins. 0: the journal has none.
int64_t FindDeletion(Transaction& tx, absl::string_view key);
// The changes of the resource from revision `newest` back, at most `limit`, or fewer
// (kMaxLogBytes). Beyond its creation they go on with those of the resource that had the name
// before.
ChangeLog ReadChanges(Transaction& tx, absl::string_view key, int64_t newest, int64_t limit);
// The revision of the change that had made the resource what it was at `then`, searched from
// revision `newest` back. If the journal does not reach so far, or the lives that are asked for do
// not: of the oldest change that it has of them, which came later. nullopt: it has none.
std::optional<int64_t> FindChangeAt(Transaction& tx, absl::string_view key, int64_t newest,
                                    const Moment& then, Lives lives);
// The commit time of the oldest change that the journal has not forgotten, whatever its resource;
// if there is none, of the last commit.
absl::Time ReachesBackTo(Transaction& tx);
// The last revision that was committed at `then` or before, of those that the journal has not
// forgotten; 0: it has none.
int64_t RevisionAt(Transaction& tx, absl::Time then);
// For each resource whose key begins with `prefix` and that changed after `revision`: the first
// such change, in order of key. Takes longer the more was committed since.
std::vector<FirstChange> FirstChangesAfter(Transaction& tx, int64_t revision,
                                           absl::string_view prefix);
// The journal's rows with these revisions, in no order; those that it has forgotten are missing.
// `bytes` is null for a deletion.
std::vector<PastRow> ReadRevisions(Transaction& tx, const std::vector<int64_t>& revisions);

}  // namespace journal

// OUT_OF_RANGE (REVISION_COMPACTED): the journal does not reach back to the moment that was asked
// for. Of `whom` (`this resource`) it tells what was from `oldest_revision` on, and from the time
// `oldest` on: metadata `oldest_revision` and `oldest_time` (RFC 3339).
absl::Status Forgotten(absl::string_view whom, int64_t oldest_revision, absl::Time oldest);

}  // namespace muster::storage
