// Who is told of a change, and who is woken for it.
#include "storage/postgres/watch_hub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/latch.h"
#include "services/common/mutex.h"
#include "storage/postgres/watch_index.h"

namespace muster::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class WatchHubTest : public ::testing::Test {
 protected:
  std::shared_ptr<Watcher> Join(std::vector<std::string> kinds, std::string key_prefix,
                                size_t limit = 10) {
    auto watcher = std::make_shared<Watcher>(
        WatchOptions{.kinds = std::move(kinds), .key_prefix = std::move(key_prefix)}, limit);
    MutexLock lock(hub_.mutex());
    hub_.Join(watcher);
    return watcher;
  }

  // One change, of the next revision.
  void Send(const std::string& kind, const std::string& key) {
    MutexLock lock(hub_.mutex());
    hub_.Send({{++revision_, kind, key, std::make_shared<const std::string>("bytes")}});
  }

  // The keys of what waits, or what else it is.
  static std::vector<std::string> TakeAll(Watcher& watcher) {
    std::vector<std::string> taken;
    while (auto item = watcher.Next())
      taken.push_back(item->type == WatchItem::Type::kProgress ? "progress" : item->key);
    return taken;
  }

  // Where the client of a watch that ended as too slow goes on; empty: it did not end so.
  static std::string ResumeRevision(Watcher& watcher) {
    const std::optional<absl::Status> ended = watcher.Ended();
    const auto detail = ended.has_value() ? error::DetailOf(*ended) : std::nullopt;
    if (!detail.has_value() || detail->reason != "WATCH_TOO_SLOW") return "";
    return detail->metadata.at("resume_revision");
  }

  static constexpr absl::Duration kBegan = absl::Hours(1);
  static constexpr absl::Duration kLate = absl::Seconds(10);
  static constexpr size_t kMostWaiting = 3 * kFewChanges;

  int64_t revision_ = 0;
  WatchHub hub_;
};

TEST_F(WatchHubTest, AChangeReachesThoseThatWantItsKindOrItsKeysBeginning) {
  const auto all = Join({}, "");
  const auto nodes = Join({"node"}, "");
  const auto pool = Join({}, "pools/a/");
  const auto nodes_of_pool = Join({"node", "node_pool"}, "pools/a/");
  const auto longer = Join({}, "pools/a/nodes/n1/and/more");
  Send("node", "pools/a/nodes/n1");
  Send("node_pool", "pools/a");
  Send("node", "pools/ab/nodes/n2");
  Send("claim", "claims/c");
  EXPECT_THAT(TakeAll(*all),
              ElementsAre("pools/a/nodes/n1", "pools/a", "pools/ab/nodes/n2", "claims/c"));
  EXPECT_THAT(TakeAll(*nodes), ElementsAre("pools/a/nodes/n1", "pools/ab/nodes/n2"));
  EXPECT_THAT(TakeAll(*pool), ElementsAre("pools/a/nodes/n1"));
  EXPECT_THAT(TakeAll(*nodes_of_pool), ElementsAre("pools/a/nodes/n1"));
  EXPECT_THAT(TakeAll(*longer), IsEmpty());
}

TEST_F(WatchHubTest, APrefixEndsWhereAPartOfANameEnds) {
  const auto pool = Join({}, "pools/a");
  const auto part = Join({}, "pools/");
  const auto none = Join({}, "pools/a/nod");
  Send("node_pool", "pools/a");
  Send("node_pool", "pools/ab");
  Send("node", "pools/a/nodes/n1");
  EXPECT_THAT(TakeAll(*pool), ElementsAre("pools/a", "pools/a/nodes/n1"));
  EXPECT_THAT(TakeAll(*part), ElementsAre("pools/a", "pools/ab", "pools/a/nodes/n1"));
  EXPECT_THAT(TakeAll(*none), IsEmpty());
}

TEST_F(WatchHubTest, WhatIsOursAloneReachesNobody) {
  const auto all = Join({}, "");
  Send("_kept_request", "kept_requests/1");
  EXPECT_THAT(TakeAll(*all), IsEmpty());
}

// He heard of another replica, before which this one's memory is behind. When it is where he is, he
// hears so once, or a watch of a service in which nothing happens would seem dead.
TEST_F(WatchHubTest, WhoResumesIsToldWhenMemoryIsWhereHeIs) {
  const auto watcher = std::make_shared<Watcher>(WatchOptions{.after_revision = 7}, 10);
  watcher->SkipThrough(7);
  {
    MutexLock lock(hub_.mutex());
    hub_.Join(watcher);
  }
  for (const int64_t behind : {5, 6}) {
    hub_.Tend({.revision = behind});
    EXPECT_THAT(TakeAll(*watcher), IsEmpty());
  }
  for (const int64_t there : {7, 8}) {
    hub_.Tend({.revision = there});
    EXPECT_THAT(TakeAll(*watcher), ElementsAre("progress"));
    hub_.Tend({.revision = there});
    EXPECT_THAT(TakeAll(*watcher), IsEmpty());
  }
}

TEST_F(WatchHubTest, WhatIsNotKeptIsNotToldButThatItWentBy) {
  const auto watcher = std::make_shared<Watcher>(
      WatchOptions{.keeps = [](const WatchItem& item) { return item.key == "b"; }}, 10);
  {
    MutexLock lock(hub_.mutex());
    hub_.Join(watcher);
  }
  Send("machine", "a");
  Send("machine", "b");
  Send("machine", "c");
  EXPECT_THAT(TakeAll(*watcher), ElementsAre("b"));
  hub_.Tend({.revision = revision_});
  EXPECT_THAT(TakeAll(*watcher), ElementsAre("progress"));
  hub_.Tend({.revision = revision_});
  EXPECT_THAT(TakeAll(*watcher), IsEmpty());
  {
    MutexLock lock(hub_.mutex());
    hub_.Send({{++revision_, "machine", "c", nullptr}});
  }
  EXPECT_THAT(TakeAll(*watcher), ElementsAre("c")) << "of what is gone there is nothing to look at";
}

TEST_F(WatchHubTest, WhatIsNotKeptOfASnapshotIsLeftOut) {
  const auto watcher = std::make_shared<Watcher>(
      WatchOptions{.keeps = [](const WatchItem& item) { return item.key == "b"; }}, 10);
  watcher->StartSnapshot([next = 0]() mutable -> std::optional<WatchItem> {
    if (next == 3) return WatchItem{.type = WatchItem::Type::kSnapshotEnd, .revision = 7};
    const std::string key(1, static_cast<char>('a' + next++));
    return WatchItem{WatchItem::Type::kSnapshot, 1, "machine", key,
                     std::make_shared<const std::string>("bytes")};
  });
  EXPECT_THAT(TakeAll(*watcher), ElementsAre("b", ""));
}

// The index finds whom a look at every watcher finds.
TEST_F(WatchHubTest, NobodyIsForgottenAmongMany) {
  const std::vector<std::string> kinds = {"node", "node_pool", "claim"};
  const std::vector<std::string> keys = {"", "a", "ab", "abc", "b", "ba", "bab", "c"};
  std::vector<std::shared_ptr<Watcher>> watchers;
  for (const std::string& key : keys) {
    watchers.push_back(Join({}, key, 100));
    for (size_t i = 0; i < kinds.size(); ++i)
      watchers.push_back(Join({kinds.begin(), kinds.begin() + static_cast<long>(i) + 1}, key, 100));
  }
  // Some go meanwhile.
  for (size_t i = 0; i < watchers.size(); i += 5) watchers[i]->Cancel();
  hub_.Tend({});
  std::erase_if(watchers, [](const auto& watcher) { return watcher->cancelled(); });
  std::vector<std::vector<std::string>> expected(watchers.size());
  for (const std::string& kind : kinds) {
    for (const std::string& key : keys) {
      Send(kind, key);
      for (size_t i = 0; i < watchers.size(); ++i) {
        if (watchers[i]->Matches({.kind = kind, .key = key})) expected[i].push_back(key);
      }
    }
  }
  for (size_t i = 0; i < watchers.size(); ++i) EXPECT_EQ(TakeAll(*watchers[i]), expected[i]);
  EXPECT_EQ(hub_.Count(), static_cast<int64_t>(watchers.size()));
}

// Of many thousand, some end each second.
TEST(WatchIndex, WhoGoesTakesOnlyThoseWithTheSameWishesWithHim) {
  WatchIndex index;
  std::vector<std::shared_ptr<Watcher>> watchers;
  const auto add = [&](const std::string& prefix) {
    watchers.push_back(std::make_shared<Watcher>(
        WatchOptions{.kinds = {"node", "node_pool"}, .key_prefix = prefix}, 10));
    index.Add(watchers.back());
  };
  constexpr size_t kWatchers = 1'000;
  for (size_t i = 0; i < kWatchers; ++i) add(absl::StrCat("pools/", i));
  add("pools/7");
  add("pools/8");
  const auto gone = [](const Watcher& watcher) { return watcher.gone(); };
  EXPECT_EQ(index.RemoveIf(gone), 0u);
  watchers[7]->Cancel();
  watchers[9]->Cancel();
  EXPECT_EQ(index.RemoveIf(gone), 2 * 3u) << "two kinds of pools/7, and of pools/9";
  EXPECT_THAT(index.all(), ::testing::SizeIs(kWatchers));
  const auto of = [&](const std::string& key) {
    std::vector<const Watcher*> found;
    index.ForEachOf("node", key, [&](const auto& watcher) { found.push_back(watcher.get()); });
    return found;
  };
  EXPECT_THAT(of("pools/7"), ElementsAre(watchers[kWatchers].get()));
  EXPECT_THAT(of("pools/8"), ElementsAre(watchers[8].get(), watchers[kWatchers + 1].get()));
  EXPECT_THAT(of("pools/9"), IsEmpty());
}

TEST_F(WatchHubTest, OnlyWhoeverIsToldSomethingIsWoken) {
  const auto told = Join({}, "a/");
  const auto other = Join({}, "b/");
  Awaited<bool> woken;
  told->NotifyWhenReady([&] { woken.Set(true); });
  std::atomic<bool> other_woken = false;
  other->NotifyWhenReady([&] { other_woken = true; });
  for (int i = 0; i < 100; ++i) Send("node", absl::StrCat("a/", i));
  woken.Wait();
  hub_.Stop();  // all that were to be woken are
  EXPECT_FALSE(other_woken);
}

TEST_F(WatchHubTest, WhoeverWaitsIsWokenForProgressAndForTheEndOfASlowWatch) {
  const auto slow = Join({}, "", 1);
  const auto waits = Join({}, "elsewhere");
  Awaited<bool> woken;
  waits->NotifyWhenReady([&] { woken.Set(true); });
  Send("node", "a");
  Send("node", "b");
  EXPECT_THAT(TakeAll(*slow), IsEmpty());
  ASSERT_TRUE(slow->Ended().has_value());
  EXPECT_EQ(slow->Ended()->code(), absl::StatusCode::kResourceExhausted);
  hub_.Tend({.revision = 2});
  woken.Wait();
  EXPECT_THAT(TakeAll(*waits), ElementsAre("progress"));
  EXPECT_EQ(hub_.Count(), 1) << "the slow one is forgotten";
}

// Nobody may ever come for it: a reader that hangs keeps its stream for half an hour.
TEST_F(WatchHubTest, WhatWaitsIsDroppedOnceTheWatchCanOnlyEnd) {
  const auto slow = Join({}, "", 2);
  Send("node", "a");
  EXPECT_THAT(TakeAll(*slow), ElementsAre("a"));
  for (const char* key : {"b", "c", "d", "e"}) Send("node", key);
  EXPECT_EQ(slow->waiting(), 0u);
  EXPECT_EQ(ResumeRevision(*slow), "1");
}

TEST_F(WatchHubTest, ASnapshotUnderWayIsGivenBeforeTheWatchEndsAsTooSlow) {
  const auto slow = std::make_shared<Watcher>(WatchOptions{}, 1);
  slow->SkipThrough(7);
  slow->StartSnapshot([given = false]() mutable -> std::optional<WatchItem> {
    if (std::exchange(given, true))
      return WatchItem{.type = WatchItem::Type::kSnapshotEnd, .revision = 7};
    return WatchItem{WatchItem::Type::kSnapshot, 5, "machine", "m",
                     std::make_shared<const std::string>("bytes")};
  });
  {
    MutexLock lock(hub_.mutex());
    hub_.Join(slow);
  }
  revision_ = 7;
  for (const char* key : {"a", "b"}) Send("machine", key);
  EXPECT_FALSE(slow->Ended().has_value());
  EXPECT_THAT(TakeAll(*slow), ElementsAre("m", ""));
  EXPECT_EQ(ResumeRevision(*slow), "7");
}

TEST_F(WatchHubTest, WhoResumedAndTookNothingResumesThereAgain) {
  const auto slow = std::make_shared<Watcher>(WatchOptions{.after_revision = 7}, 1);
  slow->SkipThrough(7);
  {
    MutexLock lock(hub_.mutex());
    hub_.Join(slow);
  }
  revision_ = 7;
  for (const char* key : {"a", "b"}) Send("machine", key);
  EXPECT_EQ(ResumeRevision(*slow), "7");
}

TEST_F(WatchHubTest, ASnapshotThatNobodyTakesIsDropped) {
  const auto unread = std::make_shared<Watcher>(WatchOptions{}, 10);
  auto rows = std::make_shared<int>(0);
  const std::weak_ptr<int> kept = rows;
  unread->SkipThrough(7);
  unread->StartSnapshot([rows = std::move(rows)]() -> std::optional<WatchItem> {
    return WatchItem{WatchItem::Type::kSnapshot, 5, "machine", "m",
                     std::make_shared<const std::string>("bytes")};
  });
  {
    MutexLock lock(hub_.mutex());
    hub_.Join(unread);
  }
  hub_.EndLate(kBegan, kLate, kMostWaiting);
  hub_.EndLate(kBegan + kLate / 2, kLate, kMostWaiting);
  EXPECT_TRUE(unread->Next().has_value());
  hub_.EndLate(kBegan + kLate, kLate, kMostWaiting);
  hub_.EndLate(kBegan + 2 * kLate - kLate / 2, kLate, kMostWaiting);
  EXPECT_FALSE(kept.expired()) << "its reader came meanwhile";
  hub_.EndLate(kBegan + 2 * kLate, kLate, kMostWaiting);
  EXPECT_TRUE(kept.expired());
  EXPECT_FALSE(unread->Next().has_value());
  ASSERT_TRUE(unread->Ended().has_value());
  const auto detail = error::DetailOf(*unread->Ended());
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->reason, "WATCH_TOO_SLOW");
  EXPECT_THAT(detail->metadata, IsEmpty()) << "there is nothing to go on from";
}

// All else of it is over, but its reader may take the snapshot.
TEST_F(WatchHubTest, ASnapshotOfAWatchThatEndedIsDroppedLikewise) {
  const auto unread = std::make_shared<Watcher>(WatchOptions{}, 10);
  auto rows = std::make_shared<int>(0);
  const std::weak_ptr<int> kept = rows;
  unread->StartSnapshot([rows = std::move(rows)]() -> std::optional<WatchItem> {
    return WatchItem{.type = WatchItem::Type::kSnapshotEnd};
  });
  {
    MutexLock lock(hub_.mutex());
    hub_.Join(unread);
    hub_.EndAll(absl::UnavailableError("The database is away."));
  }
  hub_.Tend({});
  hub_.EndLate(kBegan, kLate, kMostWaiting);
  EXPECT_FALSE(kept.expired());
  hub_.EndLate(kBegan + kLate, kLate, kMostWaiting);
  EXPECT_TRUE(kept.expired());
}

TEST_F(WatchHubTest, ManyChangesThatNobodyTakesAreDroppedButFewAreNot) {
  const auto many = Join({"node"}, "", 2 * kFewChanges);
  const auto few = Join({"claim"}, "", 2 * kFewChanges);
  for (size_t i = 0; i < kFewChanges; ++i) {
    Send("node", absl::StrCat(i));
    Send("claim", absl::StrCat(i));
  }
  Send("node", "one more");
  hub_.EndLate(kBegan, kLate, kMostWaiting);
  EXPECT_EQ(many->waiting(), kFewChanges + 1);
  hub_.EndLate(kBegan + kLate, kLate, kMostWaiting);
  EXPECT_EQ(many->waiting(), 0u);
  EXPECT_EQ(ResumeRevision(*many), "0");
  EXPECT_EQ(few->waiting(), kFewChanges);
  EXPECT_FALSE(few->ended());
}

TEST_F(WatchHubTest, OfOneCallersWatchesTheNewestEndWhereTooMuchWaitsForAll) {
  std::vector<std::shared_ptr<Watcher>> watchers;
  const auto join = [&](uint64_t turn, std::string kind) {
    watchers.push_back(std::make_shared<Watcher>(
        WatchOptions{.kinds = {std::move(kind)}, .turn = turn}, 2 * kFewChanges));
    MutexLock lock(hub_.mutex());
    hub_.Join(watchers.back());
  };
  for (int i = 0; i < 3; ++i) join(1, "node");
  join(1, "claim");
  join(2, "node");
  for (size_t i = 0; i <= kFewChanges; ++i) Send("node", absl::StrCat(i));
  Send("claim", "one");
  hub_.EndLate(kBegan, kLate, kMostWaiting);
  std::vector<size_t> waiting;
  for (const auto& watcher : watchers) waiting.push_back(watcher->waiting());
  EXPECT_THAT(waiting, ElementsAre(kFewChanges + 1, kFewChanges + 1, 0u, 1u, kFewChanges + 1));
  EXPECT_EQ(ResumeRevision(*watchers[2]), "0");
}

TEST_F(WatchHubTest, ManyAreToldOfProgressInTurns) {
  std::vector<std::shared_ptr<Watcher>> watchers;
  for (int i = 0; i < 10'000; ++i) watchers.push_back(Join({}, absl::StrCat(i)));
  std::vector<int> told(watchers.size());
  for (int64_t turn = 1; turn <= 5; ++turn) {
    hub_.Tend({.revision = turn});
    size_t now = 0;
    for (size_t i = 0; i < watchers.size(); ++i) {
      if (TakeAll(*watchers[i]).empty()) continue;
      ++told[i];
      ++now;
    }
    EXPECT_EQ(now, watchers.size() / 5);
  }
  EXPECT_THAT(told, ::testing::Each(1));
}

TEST_F(WatchHubTest, WhoHoldsItAgainAndAgainLetsAPublisherGoFirst) {
  Awaited<bool> waits;
  std::atomic<bool> published = false;
  std::thread publisher;
  {
    MutexLock lock(hub_.mutex());
    publisher = std::thread([&] {
      MutexLock turn(hub_.publishing());
      waits.Set(true);
      MutexLock publishes(hub_.mutex());
      published = true;
    });
    waits.Wait();
  }
  hub_.LetPublish();
  EXPECT_TRUE(published);
  publisher.join();
}

TEST_F(WatchHubTest, AllEndTogether) {
  const auto one = Join({}, "");
  const auto two = Join({"node"}, "x");
  MutexLock lock(hub_.mutex());
  hub_.EndAll(absl::UnavailableError("The server stops."));
  EXPECT_EQ(one->Ended()->code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(two->Ended()->code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace muster::storage
