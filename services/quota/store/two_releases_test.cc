// The servers of two releases at one database: what the later one writes, and this one does not
// know, stays.
#include <google/protobuf/unknown_field_set.h>
#include <muster/quota/v1/quota.pb.h>

#include <atomic>
#include <thread>

#include "absl/strings/escaping.h"
#include "services/quota/store/testing/lane_test_base.h"

namespace muster::storage {
namespace {

using ::muster::testing::IsOk;

// A field more of a message, under a number that is not known here, as it stands in rows and
// journal.
std::string Note(const std::string& text) {
  google::protobuf::UnknownFieldSet fields;
  fields.AddLengthDelimited(900, text);
  std::string bytes;
  fields.SerializeToString(&bytes);
  return bytes;
}

class TwoReleasesTest : public QuotaLaneTest {
 protected:
  // One whose changes can be looked into.
  Lane& NewPlainLane() { return NewLane({.journal_packing = JournalPacking::kNone}); }
  // What the later release does: its servers differ in nothing else.
  static absl::Status SetNote(Lane& lane, const std::string& text) {
    return DoDecide(lane, [text](StagedState<quota::State>& staged, absl::Time) {
      quota::Quota quota = *staged.state().table<quota::Quota>().Find(QuotaName(kKey));
      quota.later = Note(text);
      staged.Put(std::move(quota));
      return absl::OkStatus();
    });
  }
  // A change of a row of which only the later release has a table.
  void AddLaterKind() {
    database_.Execute(
        "WITH head AS (UPDATE quota.journal_head SET revision = revision + 1, batch = 'later' "
        "RETURNING revision) INSERT INTO quota.journal (revision, batch, kind, key, change) "
        "SELECT revision, 'later', 'later_kind', 'organizations/acme/laterKinds/a', 'x' FROM head");
  }
  static quota::Quota QuotaIn(Lane& lane) {
    std::promise<quota::Quota> quota;
    lane.Read([&](const absl::Status&, const quota::State* state, int64_t) {
      quota.set_value(*state->table<quota::Quota>().Find(QuotaName(kKey)));
    });
    return testing::Await(quota.get_future(), "a read");
  }
};

TEST_F(TwoReleasesTest, WhatTheLaterOneSaidStaysWhoeverWritesTheRow) {
  Lane& later = NewPlainLane();
  Lane& ours = NewLane();
  ASSERT_THAT(Do(later, quota::UpdateQuota{kKey, 5, "", true}), IsOk());
  ASSERT_THAT(SetNote(later, "first"), IsOk());
  // A row that is made anew of a request.
  ASSERT_THAT(Do(ours, quota::UpdateQuota{kKey, 7}), IsOk());
  EXPECT_EQ(QuotaIn(later).limit, 7);
  EXPECT_EQ(QuotaIn(later).later, Note("first")) << "by the journal";
  EXPECT_EQ(QuotaIn(NewLane()).later, Note("first")) << "from the tables";
  ASSERT_THAT(SetNote(later, "second"), IsOk());
  EXPECT_EQ(QuotaIn(ours).later, Note("second"));
  EXPECT_EQ(QuotaIn(ours).limit, 7);
  EXPECT_EQ(database_.QueryValue("SELECT count(*) FROM quota.quota WHERE later IS NOT NULL"), "1");
  EXPECT_EQ(database_.QueryValue("SELECT count(*) FROM quota.journal WHERE "
                                 "position('second'::bytea IN change) > 0"),
            "1");
}

TEST_F(TwoReleasesTest, AlsoWhenBothWriteAtOnce) {
  Lane& later = NewLane();
  Lane& ours = NewLane();
  ASSERT_THAT(Do(later, quota::UpdateQuota{kKey, 1, "", true}), IsOk());
  constexpr int kRounds = 100;
  std::thread writes([&] {
    for (int i = 1; i <= kRounds; ++i) EXPECT_THAT(SetNote(later, std::to_string(i)), IsOk());
  });
  for (int i = 1; i <= kRounds; ++i) EXPECT_THAT(Do(ours, quota::UpdateQuota{kKey, i + 1}), IsOk());
  writes.join();
  for (Lane* lane : {&later, &ours, &NewLane()}) {
    EXPECT_EQ(QuotaIn(*lane).limit, kRounds + 1);
    EXPECT_EQ(QuotaIn(*lane).later, Note(std::to_string(kRounds)));
  }
}

TEST_F(TwoReleasesTest, WhatOnlyTheLaterOneKeepsHoldsNothingUp) {
  Lane& lane = NewLane();
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 9, "", true}), IsOk());
  const auto watcher = lane.Watch({});
  EXPECT_EQ(MarkOf(*watcher).revision, 1);
  const auto reloads = std::make_shared<std::atomic<int>>(0);
  lane.Subscribe([reloads](const auto& changes) { *reloads += changes.empty() ? 1 : 0; });
  AddLaterKind();
  EXPECT_EQ(ReadHeld(lane).value_or(-1), 0);
  AddLaterKind();
  ASSERT_THAT(Do(lane, Want("a", 2)), IsOk());
  EXPECT_EQ(*reloads, 0) << "nothing that is known may have changed";
  AddLaterKind();
  EXPECT_EQ(ReadHeld(NewLane()).value_or(-1), 2);
  ASSERT_THAT(Do(lane, Want("b", 3)), IsOk());

  const auto resumed = lane.Watch({.after_revision = 1});
  for (Watcher* each : {watcher.get(), resumed.get()}) {
    std::vector<std::string> kinds;
    std::vector<int64_t> revisions;
    while (revisions.size() < 2) {
      const auto item = NextOf(*each, revisions);
      ASSERT_TRUE(item.has_value());
      if (item->type == WatchItem::Type::kProgress) continue;
      kinds.push_back(item->kind);
      revisions.push_back(item->revision);
    }
    EXPECT_THAT(kinds, ::testing::Each("holding"));
    EXPECT_THAT(revisions, ::testing::ElementsAre(4, 6));
  }
  const auto audit = lane.Audit({});
  ASSERT_THAT(audit, IsOk());
  EXPECT_THAT(audit->violations, ::testing::IsEmpty());
}

// Back to an older release and up again: what was not known then is known.
TEST_F(TwoReleasesTest, WhatBecomesKnownIsRead) {
  ASSERT_THAT(Do(NewPlainLane(), quota::UpdateQuota{kKey, 5, "", true}), IsOk());
  ASSERT_THAT(Do(*lanes_.back(), Want("a", 3)), IsOk());
  quota::v1::Holding known;
  known.set_pool("organizations/acme/clusters/c/nodePools/p");
  lanes_.clear();
  const std::string bytes =
      absl::StrCat("decode('", absl::BytesToHexString(known.SerializeAsString()), "', 'hex')");
  database_.Query(absl::StrCat("UPDATE quota.holding SET pool = '', later = ", bytes));
  database_.Query(absl::StrCat("UPDATE quota.journal SET change = change || ", bytes,
                               " WHERE key LIKE '%/holdings/a'"));
  std::promise<quota::Holding> loaded;
  NewLane().Read([&](const absl::Status&, const quota::State* state, int64_t) {
    const std::string key = absl::StrCat(QuotaName(kKey), "/holdings/a");
    loaded.set_value(*state->table<quota::Holding>().Find(key));
  });
  const quota::Holding holding = testing::Await(loaded.get_future(), "a read");
  EXPECT_EQ(holding.pool, known.pool());
  EXPECT_EQ(holding.nodes, 3) << "the columns hold the rest";
  EXPECT_EQ(holding.later, "");
}

}  // namespace
}  // namespace muster::storage
