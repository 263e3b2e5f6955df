#include "services/quota/store/quota_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/common/testing/fake_clock.h"
#include "services/quota/core/decide.h"
#include "storage/postgres/kept_request_table.h"
#include "storage/postgres/lane.h"
#include "storage/postgres/released_pool_table.h"
#include "storage/postgres/testing/plan_test_base.h"
#include "storage/postgres/testing/schema_test_base.h"
#include "storage/postgres/testing/store_test_base.h"
#include "tests/testing/cause_matchers.h"
#include "tests/testing/kept_requests.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"

namespace muster::storage {
namespace {

using ::muster::testing::IsOk;
using ::muster::testing::IsRefusedBy;
using ::muster::testing::StatusIs;
using ::testing::IsEmpty;

const quota::QuotaKey kQuotaKey{"acme", "US-EAST-04A", "gd-8xa100-i128",
                                quota::ComputeClass::kDefault};

class QuotaStoreTest : public StagedStoreTest<quota::State> {
 protected:
  QuotaStoreTest() : StagedStoreTest("quota", NewQuotaStore()) {}

  // Decides on state_, stores what changed, and remembers it.
  template <class Command>
  void Do(const Command& command) {
    const absl::Time now = absl::FromUnixMicros(1'750'000'000'000'001 + revision_);
    ASSERT_THAT(
        Put([&](auto& staged) { ASSERT_THAT(quota::Decide(staged, command, now), IsOk()); }),
        IsOk());
  }
};

TEST_F(QuotaStoreTest, TablesAndJournalGiveBackTheState) {
  Do(quota::UpdateQuota{kQuotaKey, 10, "", true});
  const absl::Time hour = absl::FromUnixSeconds(1'760'000'000);
  quota::UpdateQuota overrides{kQuotaKey, 11};
  overrides.overrides = {{{4, hour, hour + absl::Hours(1), "to go"}}};
  Do(overrides);
  overrides.overrides = {{{5, hour + absl::Microseconds(1), hour + absl::Hours(2), "a \"reason\""},
                          {0, hour + absl::Hours(2), hour + absl::Hours(3), ""}}};
  Do(overrides);
  Do(quota::SyncHolding{QuotaName(kQuotaKey), "a", 3, 1, "pool \"a\", with {odd} \\ letters"});
  Do(quota::SyncHolding{QuotaName(kQuotaKey), "b", 4, 1, ""});
  Do(quota::SyncHolding{QuotaName(kQuotaKey), "a", 5, 2, "a"});
  Do(quota::SyncHolding{QuotaName(kQuotaKey), "b", 0, 2, "", true});
  quota::QuotaKey spot = kQuotaKey;
  spot.compute_class = quota::ComputeClass::kSpot;
  Do(quota::UpdateQuota{spot, 1, "", true, {{{4, hour, hour + absl::Hours(1), ""}}}});
  Do(quota::DeleteQuota{QuotaName(spot)});
  for (const KeptRequest& kept : testing::OddKeptRequests(QuotaName(kQuotaKey))) {
    ASSERT_THAT(Put([&](auto& staged) { staged.Put(kept); }), IsOk());
  }
  ASSERT_THAT(Put([&](auto& staged) { staged.template Delete<KeptRequest>("gone"); }), IsOk());

  const quota::State loaded = Loaded();
  EXPECT_EQ(ContentsOf(loaded), ContentsOf(state_));
  EXPECT_EQ(ContentsOf(Replayed()), ContentsOf(state_));
  EXPECT_EQ(loaded.size(), 3u + 3u);
  EXPECT_EQ(FindReleased(loaded, "b")->generation, 2);
  EXPECT_EQ(*FindReleased(loaded, "b"), *FindReleased(state_, "b"));
  EXPECT_TRUE(loaded.released() == state_.released());
  EXPECT_TRUE(loaded.kept() == state_.kept());
  EXPECT_EQ(loaded.kept().ids().size(), 3u);
  EXPECT_EQ(loaded.Held(QuotaName(kQuotaKey)), 5);
  EXPECT_EQ(loaded.table<quota::Quota>().Find(QuotaName(kQuotaKey))->overrides.size(), 2u);
  EXPECT_EQ(database_.QueryValue("SELECT count(*) FROM quota.quota_override"), "2");
}

TEST_F(QuotaStoreTest, TheTablesAreASecondFence) {
  StagedState<quota::State> staged(state_, 0);
  staged.Put(quota::Holding{QuotaName(kQuotaKey), "a", -1, 1, ""});
  EXPECT_THAT(Write(staged.changes()), IsRefusedBy("holding_nodes_in_range"));
  EXPECT_EQ(database_.QueryValue("SELECT count(*) FROM quota.holding"), "0");
}

// As the journal has it.
template <class Row>
std::string EncodedRow(Row row) {
  std::string key = row.Key();
  return NewQuotaStore()->Encode(
      {{std::move(key), std::make_shared<const Row>(std::move(row))}, 1});
}

TEST_F(QuotaStoreTest, UnknownJournalEntriesAreInternalErrors) {
  const std::string garbage = "\xff\xff";
  EXPECT_THAT(store_->Decode("quota", "x", &garbage), StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(store_->Decode(ReleasedPool::kKind, "x", &garbage),
              StatusIs(absl::StatusCode::kInternal));
  const std::string other = EncodedRow(ReleasedPool{"y", 1});
  EXPECT_THAT(store_->Decode(ReleasedPool::kKind, "x", &other),
              StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(store_->Decode(KeptRequest::kKind, "x", &garbage),
              StatusIs(absl::StatusCode::kInternal));
  const std::string another = EncodedRow(KeptRequest{.request_id = "y"});
  EXPECT_THAT(store_->Decode(KeptRequest::kKind, "x", &another),
              StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(store_->Decode("castle", "x", nullptr), StatusIs(absl::StatusCode::kInternal));
}

TEST(QuotaSchema, IsWhatTheTablesAreDescribedAs) {
  ExpectDescribesSchema(*NewQuotaStore(), "quota");
}

TEST(QuotaSchema, RowsAreWrittenByIndex) { ExpectWritesByIndex(*NewQuotaStore(), "quota"); }

TEST(QuotaSchema, WhoIsReferredToGoesByIndex) {
  EXPECT_THAT(ReferencesWithoutIndex("quota"), IsEmpty());
}

}  // namespace
}  // namespace muster::storage
