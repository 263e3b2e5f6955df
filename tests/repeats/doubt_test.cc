// What was done and not told, because nobody could say what became of its COMMIT.
#include <atomic>

#include "absl/strings/match.h"
#include "services/common/testing/fake_clock.h"
#include "tests/repeats/replica.h"

namespace muster::testing {
namespace {

class DoubtTest : public ::testing::Test {
 protected:
  using Stub = quota::v1::QuotaService::Stub;

  // The next commit of quota is lost, before or after it was done; and before anybody asks what
  // became of it, another replica commits and the journal is compacted.
  std::unique_ptr<Replica> Doubting() {
    return std::make_unique<Replica>(
        database_, &clock_, [this](absl::string_view site) -> storage::Fault {
          if (site == "write/commit" && lose_.exchange(false)) {
            return is_done_ ? storage::Fault{.after = kLoseConnection}
                            : storage::Fault{.before = kLoseConnection};
          }
          if (absl::StartsWith(site, "settle/") && !hidden_.exchange(true)) Hide();
          return {};
        });
  }
  void Hide() {
    EXPECT_THAT(Create(*other_, "other", "organizations/other"), IsOk());
    database_.Execute(
        "UPDATE quota.journal_head SET compacted_revision = revision; DELETE FROM quota.journal");
  }
  static quota::v1::CreateQuotaRequest Asked(const std::string& id, const std::string& parent) {
    quota::v1::CreateQuotaRequest request;
    request.set_parent(parent);
    request.set_quota_id("RNO2A~gd-8xa100-i128~default");
    request.mutable_quota()->set_limit(3);
    request.set_request_id(id);
    return request;
  }
  static absl::StatusOr<quota::v1::Quota> Create(Replica& replica, const std::string& id,
                                                 const std::string& parent) {
    return Create(replica, Asked(id, parent));
  }
  static absl::StatusOr<quota::v1::Quota> Create(Replica& replica,
                                                 const quota::v1::CreateQuotaRequest& request) {
    grpc::ClientContext context;
    quota::v1::Quota answer;
    const auto stub = quota::v1::QuotaService::NewStub(replica.channel());
    const absl::Status status = rpc::FromGrpcStatus(stub->CreateQuota(&context, request, &answer));
    if (!status.ok()) return status;
    return answer;
  }
  // Told UNKNOWN; then told what was answered, by whichever replica is asked, and done once.
  void ExpectOnce() {
    const auto one = Doubting();
    lose_ = true;
    EXPECT_THAT(Create(*one, "r", "organizations/acme"), StatusIs(absl::StatusCode::kUnknown));
    EXPECT_EQ(Created(), is_done_ ? "1" : "0");
    const auto again = Create(*one, "r", "organizations/acme");
    ASSERT_THAT(again, IsOk());
    const auto elsewhere = Create(*other_, "r", "organizations/acme");
    ASSERT_THAT(elsewhere, IsOk());
    EXPECT_EQ(elsewhere->SerializeAsString(), again->SerializeAsString());
    EXPECT_EQ(Created(), "1");
    EXPECT_EQ(database_.QueryValue("SELECT count(*) FROM quota.kept_request"), "2");
  }
  std::string Created() {
    return database_.QueryValue("SELECT count(*) FROM quota.quota WHERE organization = 'acme'");
  }

  FakeClock clock_;
  TestDatabase database_;
  std::atomic<bool> lose_ = false;
  std::atomic<bool> hidden_ = false;
  std::atomic<bool> is_done_ = true;
  const std::unique_ptr<Replica> other_ = std::make_unique<Replica>(database_, &clock_);
};

// Nothing of it can have been done: it is asked again, and nobody waits to learn what became of it.
TEST_F(DoubtTest, WhatWouldChangeNothingIsNotInDoubt) {
  const auto one = Doubting();
  lose_ = true;
  quota::v1::CreateQuotaRequest request = Asked("r", "organizations/acme");
  request.set_validate_only(true);
  EXPECT_THAT(Create(*one, request), IsOk());
  EXPECT_FALSE(lose_);
  EXPECT_FALSE(hidden_) << "somebody asked what became of it";
  EXPECT_EQ(Created(), "0");
}

TEST_F(DoubtTest, WhatWasDoneIsTold) { ExpectOnce(); }

TEST_F(DoubtTest, WhatWasNotDoneIsDone) {
  is_done_ = false;
  ExpectOnce();
}

}  // namespace
}  // namespace muster::testing
