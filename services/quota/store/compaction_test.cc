// What the journal has forgotten is deleted, also what could not be deleted before.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "services/quota/store/testing/lane_test_base.h"
#include "storage/postgres/journal_gauge.h"

namespace muster::storage {
namespace {

using ::muster::testing::IsOk;
using ::muster::testing::IsOkAndHolds;

class CompactionTest : public QuotaLaneTest {
 protected:
  int64_t MeasuredChanges() {
    const JournalGauge gauge({.conninfo = database_.conninfo("quota"), .schema = "quota"});
    testing::Until([&] { return gauge.last().has_value(); }, "the journal's figures");
    return gauge.last()->changes;
  }
};

TEST_F(CompactionTest, WhatCannotBeDeletedIsMeasuredAndDeletedOnceItCan) {
  LaneOptions options;
  options.journal_keep = 4;
  Lane& lane = NewLane(options);
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 5, "", true}), IsOk());
  for (int i = 1; i <= 9; ++i) ASSERT_THAT(Do(lane, Want("a", i % 2, i)), IsOk());
  database_.Execute("REVOKE DELETE ON quota.journal FROM muster_quota");
  EXPECT_FALSE(lane.CompactSome().ok());
  EXPECT_EQ(database_.QueryValue("SELECT compacted_revision FROM quota.journal_head"), "6");
  EXPECT_EQ(MeasuredChanges(), 10);
  EXPECT_FALSE(lane.CompactSome().ok()) << "rows are left, though there is nothing more to forget";

  database_.Execute("GRANT DELETE ON quota.journal TO muster_quota");
  EXPECT_THAT(lane.CompactSome(), IsOkAndHolds(false));
  EXPECT_EQ(CountOf("journal"), 4);
  EXPECT_EQ(MeasuredChanges(), 4);
}

TEST_F(CompactionTest, HoweverMuchIsLeftIsDeletedInChunks) {
  database_.Execute(
      "INSERT INTO quota.journal (revision, batch, kind, key)"
      " SELECT n, 'b', 'quota', 'k' FROM generate_series(1, 50000) n");
  database_.Execute(
      "INSERT INTO quota.journal_author (last_revision, authors)"
      " SELECT n * 3, '' FROM generate_series(1, 16666) n");
  database_.Execute(
      "UPDATE quota.journal_head SET revision = 50000, compacted_revision = 50000, batch = 'b'");
  const auto statements = std::make_shared<std::atomic<int>>(0);
  LaneOptions options;
  options.runner.fault = [statements](absl::string_view site) -> Fault {
    if (site == "compact/journal_compact") ++*statements;
    return {};
  };
  Lane& lane = NewLane(options);
  EXPECT_THAT(lane.CompactSome(), IsOkAndHolds(false));
  EXPECT_EQ(*statements, 4) << "20,000 each, and one that finds no more";
  EXPECT_EQ(CountOf("journal"), 0);
  EXPECT_EQ(CountOf("journal_author"), 0);
  EXPECT_EQ(MeasuredChanges(), 0);
}

}  // namespace
}  // namespace muster::storage
