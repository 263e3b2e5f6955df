#pragma once

#include <muster/quota/v1/quota.pb.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/common/current_caller.h"
#include "services/quota/store/testing/lane_test_base.h"

// For tests of what the journal tells of the past: a Quota of four commits by several authors.
namespace muster::storage {

inline auto IsOfAnotherHistory() {
  return ::testing::AllOf(testing::StatusIs(absl::StatusCode::kOutOfRange),
                          testing::HasReason("HISTORY_REPLACED"));
}

class QuotaChangesTest : public QuotaLaneTest {
 protected:
  void SetUp() override {
    lane_ = &NewLane();
    ASSERT_THAT(DoAs({.principal = "ann", .reason = "new customer"}, 10, true),
                testing::IsOk());  // 1
    clock_.Advance(absl::Seconds(10));
    ASSERT_THAT(DoAs({.principal = "bob", .request_id = "r2"}, 20), testing::IsOk());  // 2
    clock_.Advance(absl::Seconds(10));
    ASSERT_THAT(Do(*lane_, Want("p1", 4)), testing::IsOk());  // 3: a holding
    clock_.Advance(absl::Seconds(10));
    ASSERT_THAT(DoAs({.principal = "ann"}, 30), testing::IsOk());  // 4
  }

  absl::Status DoAs(const Author& who, int64_t limit, bool create = false) {
    const auto author = [&] { return who; };
    const CurrentCaller caller(1, author);
    return Do(*lane_, quota::UpdateQuota{kKey, limit, "", create});
  }
  absl::StatusOr<ChangeLog> List(int64_t newest = 0, int64_t limit = 10,
                                 const std::string& incarnation = "") {
    return lane_->ListChanges(QuotaName(kKey), {newest, incarnation}, limit,
                              absl::InfiniteFuture());
  }
  absl::StatusOr<ChangeLog> Past(const Moment& then, Lives lives = Lives::kAll) {
    return lane_->GetPast(QuotaName(kKey), then, lives, absl::InfiniteFuture());
  }
  int64_t LimitOf(const std::shared_ptr<const std::string>& bytes) const {
    if (bytes == nullptr) return -1;
    const auto message = store_->Parse("quota", *bytes);
    return dynamic_cast<const quota::v1::Quota&>(*message).limit();
  }
  static std::string HoldingOf(const std::string& pool) {
    return absl::StrCat(QuotaName(kKey), "/holdings/", pool);
  }
  static std::vector<int64_t> RevisionsOf(const ChangeLog& log) {
    std::vector<int64_t> revisions;
    for (const LoggedChange& change : log.changes) revisions.push_back(change.revision);
    return revisions;
  }

  Lane* lane_ = nullptr;
};

}  // namespace muster::storage
