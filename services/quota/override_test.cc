#include <google/protobuf/util/time_util.h>

#include <functional>
#include <string>
#include <vector>

#include "services/quota/testing/service_test_base.h"
#include "tests/testing/proto_matchers.h"

// Overrides on the real service: they come into force and lapse without anybody asking.
namespace muster::quota {
namespace {

using ::google::protobuf::util::TimeUtil;
using ::muster::testing::EqualsProto;
using ::muster::testing::IsOk;

class QuotaOverrideTest : public QuotaServiceTest {
 protected:
  // Limit 2, and 5 from one hour from now on for an hour.
  v1::UpdateQuotaRequest Launch() {
    v1::UpdateQuotaRequest request;
    request.mutable_quota()->set_name(kName);
    request.mutable_quota()->set_limit(2);
    request.set_allow_missing(true);
    v1::LimitOverride* launch = request.mutable_quota()->add_overrides();
    launch->set_limit(5);
    launch->mutable_effective_time()->set_seconds(absl::ToUnixSeconds(clock_.Now()) + 3'600);
    launch->mutable_expire_time()->set_seconds(absl::ToUnixSeconds(clock_.Now()) + 7'200);
    launch->set_reason("product launch");
    return request;
  }
  // Follows the watch until the Quota is so.
  void Await(const std::function<bool(const v1::Quota&)>& so) {
    grpc::ClientContext context;
    const auto stream = stub_->WatchQuotas(&context, {});
    v1::WatchQuotasResponse message;
    while (stream->Read(&message)) {
      if (message.has_quota() && so(message.quota())) return context.TryCancel();
    }
    ADD_FAILURE() << "the watch ended: " << stream->Finish().error_message();
  }
  void AwaitLimitInForce(int64_t limit) {
    Await([&](const v1::Quota& quota) { return quota.limit_in_force() == limit; });
  }
  v1::HoldingAnswer::Verdict Want(int64_t nodes) {
    const auto answer = Sync(Holding("p", nodes, ++generation_));
    EXPECT_THAT(answer, IsOk());
    return answer.ok() ? answer->answer().verdict() : v1::HoldingAnswer::VERDICT_UNSPECIFIED;
  }

  int64_t generation_ = 0;
};

TEST_F(QuotaOverrideTest, AnOverrideComesIntoForceAndLapsesByItself) {
  const auto quota = Call(&Stub::UpdateQuota, Launch());
  ASSERT_THAT(quota, IsOk());
  EXPECT_EQ(quota->limit_in_force(), 2);
  EXPECT_EQ(quota->overrides(0).reason(), "product launch");
  EXPECT_EQ(Want(5), v1::HoldingAnswer::VERDICT_OVER);

  clock_.Advance(absl::Hours(1));
  EXPECT_EQ(Want(5), v1::HoldingAnswer::VERDICT_UNDER);
  AwaitLimitInForce(5);

  clock_.Advance(absl::Hours(1));
  EXPECT_EQ(Want(6), v1::HoldingAnswer::VERDICT_OVER);
  Await([](const v1::Quota& now) { return now.limit_in_force() == 2 && now.overrides().empty(); });
  const auto after = Sync(Holding("p", 5, ++generation_));
  ASSERT_THAT(after, IsOk());
  EXPECT_EQ(after->answer().nodes(), 5) << "nothing is taken away";
}

TEST_F(QuotaOverrideTest, WhatCameDueWhileNobodyRanIsSettledAtTheStart) {
  ASSERT_THAT(Call(&Stub::UpdateQuota, Launch()), IsOk());
  Stop();
  clock_.Advance(absl::Hours(1));
  Start();
  AwaitLimitInForce(5);
  Stop();
  clock_.Advance(absl::Hours(1));
  Start();
  AwaitLimitInForce(2);
}

// "A Quota that is created gets both": a mask says what is changed of one that is there.
TEST_F(QuotaOverrideTest, OneThatIsCreatedHasBothWhateverTheMaskNames) {
  for (const char* path : {"limit", "overrides"}) {
    v1::UpdateQuotaRequest request = Launch();
    request.mutable_quota()->set_name(
        absl::StrCat("organizations/", path, "/quotas/US-EAST-04A~gd-8xa100-i128~default"));
    request.mutable_update_mask()->add_paths(path);
    const auto made = Call(&Stub::UpdateQuota, request);
    ASSERT_THAT(made, IsOk());
    EXPECT_EQ(made->limit(), 2) << path;
    EXPECT_EQ(made->overrides_size(), 1) << path;
    request.mutable_quota()->set_limit(3);
    request.mutable_quota()->clear_overrides();
    const auto changed = Call(&Stub::UpdateQuota, request);
    ASSERT_THAT(changed, IsOk());
    const bool limit = absl::string_view(path) == "limit";
    EXPECT_EQ(changed->limit(), limit ? 3 : 2);
    EXPECT_EQ(changed->overrides_size(), limit ? 1 : 0);
  }
}

// Go's zero time.Time is the year 1: whatever the API takes, memory, tables and journal tell the
// same of it (the fixture compares), and so does who starts anew.
TEST_F(QuotaOverrideTest, EveryTimeThatIsTakenComesBackAsItWas) {
  const std::vector<std::string> begins = {
      "0001-01-01T00:00:00Z",        "0001-01-01T00:00:00.000001Z", "0049-12-31T23:59:59.999999Z",
      "0050-06-15T12:00:00.500000Z", "0069-01-01T00:00:00Z",        "0099-12-31T23:59:59.999999Z",
      "0100-01-01T00:00:00Z",        "0999-12-31T23:59:59.100000Z", "1969-12-31T23:59:59.999999Z",
      "9998-02-28T23:59:59Z",        "9999-12-31T23:59:59.999998Z"};
  std::vector<v1::Quota> given;
  for (const std::string& begin : begins) {
    v1::UpdateQuotaRequest request;
    request.set_allow_missing(true);
    request.mutable_quota()->set_name(absl::StrCat("organizations/o", given.size(),
                                                   "/quotas/US-EAST-04A~gd-8xa100-i128~default"));
    request.mutable_quota()->set_limit(2);
    v1::LimitOverride* override = request.mutable_quota()->add_overrides();
    override->set_limit(5);
    ASSERT_TRUE(TimeUtil::FromString(begin, override->mutable_effective_time()));
    ASSERT_TRUE(
        TimeUtil::FromString("9999-12-31T23:59:59.999999Z", override->mutable_expire_time()));
    const auto answer = Call(&Stub::UpdateQuota, request);
    ASSERT_THAT(answer, IsOk()) << begin;
    ASSERT_EQ(answer->overrides_size(), 1) << begin;
    EXPECT_EQ(TimeUtil::ToString(answer->overrides(0).effective_time()),
              TimeUtil::ToString(override->effective_time()));
    given.push_back(*answer);
  }
  const auto expect_all = [&] {
    for (const v1::Quota& quota : given) {
      v1::GetQuotaRequest request;
      request.set_name(quota.name());
      const auto got = Call(&Stub::GetQuota, request);
      ASSERT_THAT(got, IsOk());
      v1::Quota shown = *got;
      shown.set_revision(quota.revision());  // of the answer, not of the Quota
      EXPECT_THAT(shown, EqualsProto(quota));
    }
  };
  expect_all();
  const auto comparison = service_->lane().Compare();
  ASSERT_THAT(comparison, IsOk());
  EXPECT_THAT(comparison->differences, ::testing::IsEmpty());
  Stop();
  Start();
  expect_all();
}

TEST_F(QuotaOverrideTest, TwoReplicasSettleOnce) {
  ASSERT_THAT(Call(&Stub::UpdateQuota, Launch()), IsOk());
  auto second = NewReplica();
  clock_.Advance(absl::Hours(1));
  AwaitLimitInForce(5);
  clock_.Advance(absl::Hours(1));
  AwaitLimitInForce(2);
  // The second one has caught up once it has decided something itself.
  EXPECT_EQ(Want(1), v1::HoldingAnswer::VERDICT_UNDER);
  const auto comparison = second->lane().Compare();
  ASSERT_THAT(comparison, IsOk());
  EXPECT_THAT(comparison->differences, ::testing::IsEmpty());
  // Whoever was slower has then written what he had begun.
  second.reset();
  Stop();
  EXPECT_EQ(database_.QueryValue("SELECT count(*) FROM quota.journal WHERE kind = 'quota'"), "3");
  Start();
}

TEST_F(QuotaOverrideTest, AnUpdateThatDoesNotSpeakOfOverridesLeavesThem) {
  v1::UpdateQuotaRequest request = Launch();
  ASSERT_THAT(Call(&Stub::UpdateQuota, request), IsOk());
  const auto raised = SetLimit(3);
  ASSERT_THAT(raised, IsOk());
  EXPECT_EQ(raised->overrides_size(), 1);
  request.mutable_quota()->clear_overrides();
  request.mutable_quota()->set_limit(9);
  request.mutable_update_mask()->add_paths("overrides");
  const auto cleared = Call(&Stub::UpdateQuota, request);
  ASSERT_THAT(cleared, IsOk());
  EXPECT_EQ(cleared->overrides_size(), 0);
  EXPECT_EQ(cleared->limit(), 3);
}

TEST_F(QuotaOverrideTest, ACheckLooksAtTheClockToo) {
  ASSERT_THAT(Call(&Stub::UpdateQuota, Launch()), IsOk());
  v1::CheckQuotaRequest check;
  *check.add_holdings() = Holding("p", 5, 0);
  clock_.Advance(absl::Hours(1));
  const auto results = Call(&Stub::CheckQuota, check);
  ASSERT_THAT(results, IsOk());
  EXPECT_EQ(results->results(0).answer().verdict(), v1::HoldingAnswer::VERDICT_UNDER);
  EXPECT_EQ(results->results(0).answer().limit(), 5);
}

}  // namespace
}  // namespace muster::quota
