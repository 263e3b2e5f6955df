// The check of watches on histories that are known to be right or wrong.
#include "tests/linearizability/watch_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::linearizability {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Type = WatchMessage::Type;

// Pools a and b come, change and go; 2 and 5 are another kind's.
const std::vector<JournalChange>& TheJournal() {
  static const std::vector<JournalChange> journal = {
      {1, "pool", "pools/a", "a1"}, {2, "node", "nodes/a", "n2"},
      {3, "pool", "pools/b", "b3"}, {4, "pool", "pools/a", "a4"},
      {5, "node", "nodes/a", "n5"}, {6, "pool", "pools/b", std::nullopt},
      {7, "pool", "pools/a", "a7"}, {8, "node", "nodes/a", "n8"}};
  return journal;
}

WatchMessage Item(int64_t revision, const std::string& key, const std::string& bytes) {
  return {Type::kSnapshot, revision, key, bytes};
}
WatchMessage SnapshotEnd(int64_t revision) { return {Type::kSnapshotEnd, revision}; }
WatchMessage Changed(int64_t revision, const std::string& key, const std::string& bytes) {
  return {Type::kChanged, revision, key, bytes};
}
WatchMessage Deleted(int64_t revision, const std::string& key) {
  return {Type::kDeleted, revision, key};
}
WatchMessage Progress(int64_t revision) { return {Type::kProgress, revision}; }

const WatchMessage kA4 = Changed(4, "pools/a", "a4");
const WatchMessage kB3 = Changed(3, "pools/b", "b3");
const WatchMessage kB6 = Deleted(6, "pools/b");
const WatchMessage kA7 = Changed(7, "pools/a", "a7");

WatchSession FromSnapshot(std::vector<WatchMessage> messages) {
  return {.messages = std::move(messages)};
}
WatchSession From(int64_t after, std::vector<WatchMessage> messages) {
  return {.after = after, .messages = std::move(messages)};
}
WatchSession Ended(WatchSession session, absl::StatusCode end) {
  session.end = end;
  return session;
}
// A right beginning: all up to revision 4.
WatchSession UpTo4() {
  return FromSnapshot({Item(1, "pools/a", "a1"), Item(3, "pools/b", "b3"), SnapshotEnd(3), kA4});
}

// A watcher of pools that must have come to the end.
std::vector<std::string> Check(std::vector<WatchSession> sessions, bool compacted = false,
                               int64_t end = 8) {
  return WatchCheck(TheJournal(), end, compacted)
      .Run({"w", {.kinds = {"pool"}}, std::move(sessions)});
}

TEST(WatchCheckTest, RightHistories) {
  EXPECT_THAT(Check({UpTo4(), From(4, {kB6, kA7, Progress(8)})}), IsEmpty());
  EXPECT_THAT(Check({UpTo4(), From(4, {kB6, kA7})}, false, 7), IsEmpty()) << "no mark needed";
  EXPECT_THAT(Check({UpTo4(), From(4, {Progress(5), kB6, kA7, Progress(8)})}), IsEmpty());
  EXPECT_THAT(Check({UpTo4(), From(4, {Progress(5)}), From(5, {kB6, kA7, Progress(8)})}), IsEmpty())
      << "resumed from a progress mark";
  EXPECT_THAT(Check({UpTo4(), From(1, {kB3, kA4, kB6}), From(6, {kA7, Progress(8)})}), IsEmpty())
      << "resumed from before what it had";
  EXPECT_THAT(Check({UpTo4(), From(1, {kB3}), From(4, {kB6, kA7, Progress(8)})}), IsEmpty());
  EXPECT_THAT(Check({From(0, {Changed(1, "pools/a", "a1"), kB3, kA4, kB6, kA7, Progress(8)})}),
              IsEmpty());
  EXPECT_THAT(Check({FromSnapshot({Item(1, "pools/a", "a1")}),  // left in the midst
                     FromSnapshot({Item(7, "pools/a", "a7"), SnapshotEnd(8)})}),
              IsEmpty());
  EXPECT_THAT(Check({FromSnapshot({Item(7, "pools/a", "a7"), SnapshotEnd(7)}), UpTo4(),
                     From(4, {kB6, kA7, Progress(8)})}),
              IsEmpty())
      << "a replica that is behind";
  EXPECT_THAT(WatchCheck(TheJournal(), 8, false)
                  .Run({"w",
                        {.kinds = {"pool", "node"}, .prefix = "nodes/"},
                        {From(0, {Changed(2, "nodes/a", "n2"), Changed(5, "nodes/a", "n5"),
                                  Changed(8, "nodes/a", "n8")})}}),
              IsEmpty())
      << "by prefix";
}

TEST(WatchCheckTest, DocumentedEnds) {
  const WatchSession rest = From(4, {kB6, kA7, Progress(8)});
  for (const auto end : {absl::StatusCode::kUnavailable, absl::StatusCode::kResourceExhausted,
                         absl::StatusCode::kDeadlineExceeded})
    EXPECT_THAT(Check({UpTo4(), Ended(From(4, {}), end), rest}), IsEmpty());
  const std::vector<WatchSession> lost = {UpTo4(),
                                          Ended(From(4, {}), absl::StatusCode::kOutOfRange),
                                          FromSnapshot({Item(7, "pools/a", "a7"), SnapshotEnd(8)})};
  EXPECT_THAT(Check(lost, true), IsEmpty());
  EXPECT_THAT(Check(lost, false), ElementsAre(HasSubstr("ended with OUT_OF_RANGE")));
  EXPECT_THAT(Check({UpTo4(), Ended(From(4, {}), absl::StatusCode::kInternal), rest}),
              ElementsAre(HasSubstr("ended with INTERNAL")));
  EXPECT_THAT(Check({UpTo4(), Ended(From(4, {}), absl::StatusCode::kOk), rest}),
              ElementsAre(HasSubstr("ended with OK")));
}

TEST(WatchCheckTest, WrongSnapshots) {
  const WatchSession rest = From(4, {kB6, kA7, Progress(8)});
  const auto with = [&](std::vector<WatchMessage> messages) {
    messages.push_back(SnapshotEnd(4));
    return Check({FromSnapshot(std::move(messages)), rest});
  };
  const WatchMessage a = Item(4, "pools/a", "a4");
  const WatchMessage b = Item(3, "pools/b", "b3");
  EXPECT_THAT(with({a, b}), IsEmpty());
  EXPECT_THAT(with({a}), ElementsAre(HasSubstr("lacks pools/b")));
  EXPECT_THAT(with({Item(1, "pools/a", "a1"), b}), ElementsAre(HasSubstr("as of 1, not as of 4")));
  EXPECT_THAT(with({Item(4, "pools/a", "a1"), b}), ElementsAre(HasSubstr("not its bytes")));
  EXPECT_THAT(with({a, b, Item(2, "nodes/a", "n2")}),
              Contains(HasSubstr("has nodes/a, which was not there")));
  EXPECT_THAT(with({a, b, b}), ElementsAre(HasSubstr("pools/b twice")));
  EXPECT_THAT(Check({FromSnapshot({Item(7, "pools/a", "a7"), SnapshotEnd(9)})}),
              Contains(HasSubstr("which never was")));
  EXPECT_THAT(Check({UpTo4(), From(4, {a, kB6, kA7, Progress(8)})}),
              ElementsAre(HasSubstr("where none was asked for")));
  EXPECT_THAT(Check({UpTo4(), From(4, {SnapshotEnd(4), kB6, kA7, Progress(8)})}),
              ElementsAre(HasSubstr("end without a snapshot")));
  EXPECT_THAT(Check({FromSnapshot({a, kB6, b, SnapshotEnd(4)}), rest}),
              ElementsAre(HasSubstr("before the snapshot's end")));
  EXPECT_THAT(Check({FromSnapshot({Progress(4), a, b, SnapshotEnd(4)}), rest}),
              ElementsAre(HasSubstr("before the snapshot's end")));
}

TEST(WatchCheckTest, WhatFollowsASnapshotBeginsRightAfterIt) {
  const std::vector<WatchMessage> snapshot = {Item(1, "pools/a", "a1"), Item(3, "pools/b", "b3"),
                                              SnapshotEnd(3)};
  const auto followed_by = [&](std::vector<WatchMessage> messages) {
    messages.insert(messages.begin(), snapshot.begin(), snapshot.end());
    return Check({FromSnapshot(std::move(messages))});
  };
  EXPECT_THAT(followed_by({kA4, kB6, kA7, Progress(8)}), IsEmpty());
  EXPECT_THAT(followed_by({kB6, kA7, Progress(8)}),
              ElementsAre(HasSubstr("change 4 of pools/a was left out")));
  EXPECT_THAT(followed_by({kB3, kA4, kB6, kA7, Progress(8)}),
              ElementsAre(HasSubstr("change 3 came after 3")));
}

TEST(WatchCheckTest, WrongChanges) {
  const auto after4 = [](std::vector<WatchMessage> messages) {
    return Check({UpTo4(), From(4, std::move(messages))});
  };
  EXPECT_THAT(after4({kB6, kB6, kA7, Progress(8)}),
              ElementsAre(HasSubstr("change 6 came after 6")));
  EXPECT_THAT(after4({kA4, kB6, kA7, Progress(8)}),
              ElementsAre(HasSubstr("change 4 came after 4")));
  EXPECT_THAT(after4({kA7, kB6, Progress(8)}),
              ElementsAre(HasSubstr("change 6 of pools/b was left out"),
                          HasSubstr("change 6 came after 7"), HasSubstr("not the last state")));
  EXPECT_THAT(after4({Changed(5, "nodes/a", "n5"), kB6, kA7, Progress(8)}),
              Contains(HasSubstr("change 5 is none that it is about")));
  EXPECT_THAT(after4({kB6, Changed(7, "pools/a", "a4"), Progress(8)}),
              Contains(HasSubstr("not what the journal has")));
  EXPECT_THAT(after4({Changed(6, "pools/b", "b3"), kA7, Progress(8)}),
              Contains(HasSubstr("not what the journal has")));
  EXPECT_THAT(after4({Deleted(6, "pools/c"), kA7, Progress(8)}),
              Contains(HasSubstr("not what the journal has")));
  EXPECT_THAT(after4({kB6, kA7, Changed(9, "pools/a", "a9")}),
              Contains(HasSubstr("change 9 is none")));
}

TEST(WatchCheckTest, WrongProgress) {
  const auto after4 = [](std::vector<WatchMessage> messages) {
    return Check({UpTo4(), From(4, std::move(messages))});
  };
  EXPECT_THAT(after4({Progress(6), kA7, Progress(8)}),
              Contains(HasSubstr("progress 6 came after 4: change 6 of pools/b was left out")));
  EXPECT_THAT(after4({kB6, kA7, Progress(5), Progress(8)}),
              ElementsAre(HasSubstr("progress 5 came after 7")));
  EXPECT_THAT(after4({kB6, kA7, Progress(9)}), ElementsAre(HasSubstr("ahead of the journal")));
}

TEST(WatchCheckTest, ResumingIsExact) {
  EXPECT_THAT(Check({UpTo4(), From(4, {kB6}), From(6, {Progress(8)})}),
              Contains(HasSubstr("change 7 of pools/a was left out")));
  EXPECT_THAT(Check({UpTo4(), From(4, {kB6}), From(6, {kB6, kA7, Progress(8)})}),
              ElementsAre(HasSubstr("change 6 came after 6")));
  EXPECT_THAT(Check({UpTo4(), From(6, {kA7, Progress(8)})}),
              Contains(HasSubstr("resumed from 6 and had only 4")));
}

TEST(WatchCheckTest, AWatcherThatStopsShortIsFound) {
  EXPECT_THAT(Check({UpTo4(), From(4, {kB6})}),
              ElementsAre(HasSubstr("it came to revision 6, the journal to 8")));
  EXPECT_THAT(Check({}), ElementsAre(HasSubstr("it came to revision 0")));
}

}  // namespace
}  // namespace muster::linearizability
