#pragma once

#include <google/protobuf/message.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "storage/postgres/journal_packing.h"
#include "tests/linearizability/rough_database.h"
#include "tests/linearizability/watch_bytes.h"
#include "tests/linearizability/watch_check.h"
#include "tests/linearizability/watchers.h"
#include "tests/testing/test_database.h"

namespace muster::linearizability {

// By kind of resource that a schema's watches tell of: a message of its type.
using Kinds = std::map<std::string, const google::protobuf::Message*>;

// All of a schema's journal, with the bytes that BytesOf makes.
inline std::vector<JournalChange> ReadChanges(const testing::TestDatabase& database,
                                              const std::string& schema, const Kinds& kinds) {
  std::vector<JournalChange> changes;
  for (const auto& row :
       database.Query(absl::StrCat("SELECT revision, kind, key, encode(change, 'hex') FROM ",
                                   WholeJournal(database, schema), " ORDER BY revision"))) {
    JournalChange change{.kind = *row[1], .key = *row[2]};
    if (!absl::SimpleAtoi(*row[0], &change.revision)) throw std::runtime_error(*row[0]);
    if (row[3].has_value())
      change.bytes = storage::Unpack(change.key, absl::HexStringToBytes(*row[3]));
    if (const auto it = kinds.find(change.kind); it != kinds.end() && change.bytes.has_value()) {
      const std::unique_ptr<google::protobuf::Message> message(it->second->New());
      if (!message->ParseFromString(*change.bytes)) throw std::runtime_error(change.key);
      change.bytes = BytesOf(*message);
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

// What watchers saw, in numbers, so that a test can tell that it was not nothing.
struct WatchCount {
  int64_t streams = 0;
  int64_t snapshots = 0;
  int64_t resumed = 0;
  int64_t changes = 0;
  int64_t progress = 0;
  int64_t out_of_range = 0;
};

inline WatchCount CountWatched(const std::vector<Watched>& all) {
  WatchCount count;
  for (const Watched& watched : all) {
    for (const WatchSession& session : watched.sessions) {
      ++count.streams;
      count.resumed += session.after.has_value() && !session.messages.empty() ? 1 : 0;
      count.out_of_range += session.end == absl::StatusCode::kOutOfRange ? 1 : 0;
      for (const WatchMessage& message : session.messages) {
        count.snapshots += message.type == WatchMessage::Type::kSnapshotEnd ? 1 : 0;
        count.progress += message.type == WatchMessage::Type::kProgress ? 1 : 0;
        count.changes += message.type == WatchMessage::Type::kChanged ||
                                 message.type == WatchMessage::Type::kDeleted
                             ? 1
                             : 0;
      }
    }
  }
  std::cout << all.size() << " watchers: " << count.streams << " streams, " << count.resumed
            << " resumed, " << count.snapshots << " snapshots, " << count.changes << " changes, "
            << count.progress << " progress marks, " << count.out_of_range << " out of range\n";
  return count;
}

// The last revision, of changes that match the filter if there is one.
inline int64_t LastRevision(const std::vector<JournalChange>& journal,
                            const WatchFilter* filter = nullptr) {
  int64_t last = 0;
  for (const JournalChange& change : journal) {
    if (filter == nullptr || filter->Matches(change)) last = change.revision;
  }
  return last;
}

// Whether a schema's journal stands still once the clients are done: then watchers must come to its
// last revision, if need be by progress marks. Else to the last change that they are about.
enum class Afterwards { kStill, kMoving };

struct WatchResult {
  std::vector<std::string> violations = {};
  WatchCount count = {};
};

// To be called when the clients are done: waits until the watchers have seen all, and holds what
// they saw against the journal.
inline WatchResult EndWatches(Watchers& watchers, const testing::TestDatabase& database,
                              const std::string& schema, const Kinds& kinds,
                              Afterwards afterwards) {
  const auto until_now = ReadChanges(database, schema, kinds);
  const auto end = [&](const WatchFilter& filter) {
    return LastRevision(until_now, afterwards == Afterwards::kStill ? nullptr : &filter);
  };
  const std::vector<Watched> all = watchers.End(end);
  const auto journal = ReadChanges(database, schema, kinds);
  const bool compacted = database.QueryValue(absl::StrCat("SELECT compacted_revision > 0 FROM ",
                                                          schema, ".journal_head")) == "t";
  WatchResult result{.count = CountWatched(all)};
  for (const Watched& watched : all) {
    WatchCheck check(journal, end(watched.filter), compacted);
    for (std::string& one : check.Run(watched)) result.violations.push_back(std::move(one));
  }
  return result;
}

}  // namespace muster::linearizability
