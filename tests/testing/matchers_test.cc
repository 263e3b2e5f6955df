#include <gmock/gmock.h>

#include "muster/quota/v1/quota.pb.h"
#include "tests/testing/proto_matchers.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/wording.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(StatusMatchers, TellOkFromError) {
  const absl::Status gone = absl::AbortedError("the etag is old");
  EXPECT_THAT(absl::OkStatus(), IsOk());
  EXPECT_THAT(gone, Not(IsOk()));
  EXPECT_THAT(gone, StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(gone, Not(StatusIs(absl::StatusCode::kNotFound)));
  EXPECT_THAT(gone, StatusIs(absl::StatusCode::kAborted, HasSubstr("etag")));
  EXPECT_THAT(gone, StatusIs(absl::StatusCode::kAborted, "the etag is old"));
  EXPECT_THAT(gone, Not(StatusIs(absl::StatusCode::kAborted, "the etag")));
}

TEST(StatusMatchers, LookIntoStatusOr) {
  const absl::StatusOr<int> three = 3;
  const absl::StatusOr<int> gone = absl::AbortedError("gone");
  EXPECT_THAT(three, IsOk());
  EXPECT_THAT(three, IsOkAndHolds(3));
  EXPECT_THAT(three, IsOkAndHolds(Gt(2)));
  EXPECT_THAT(three, Not(IsOkAndHolds(4)));
  EXPECT_THAT(gone, Not(IsOkAndHolds(3)));
  EXPECT_THAT(gone, StatusIs(absl::StatusCode::kAborted));
}

TEST(StatusMatchers, LookIntoDetails) {
  const absl::Status status = error::InvalidField("spec.target_nodes", "must not be negative");
  EXPECT_THAT(status, HasReason("INVALID_FIELD"));
  EXPECT_THAT(status, Not(HasReason("NOT_FOUND")));
  EXPECT_THAT(status, HasFieldViolation("spec.target_nodes"));
  EXPECT_THAT(status, HasFieldViolation("spec.target_nodes", HasSubstr("negative")));
  EXPECT_THAT(status, Not(HasFieldViolation("spec.target_nodes", HasSubstr("positive"))));
  EXPECT_THAT(status, Not(HasFieldViolation("spec")));
  EXPECT_THAT(absl::OkStatus(), AllOf(Not(HasReason("X")), Not(HasFieldViolation("x"))));
}

TEST(ProtoMatchers, CompareMessagesAndText) {
  quota::v1::Quota quota;
  quota.set_name("organizations/acme/quotas/x");
  quota.set_limit(4);
  EXPECT_THAT(quota, EqualsProto(quota));
  EXPECT_THAT(quota, EqualsProto(R"pb(name: "organizations/acme/quotas/x" limit: 4)pb"));
  EXPECT_THAT(quota, Not(EqualsProto("limit: 4")));
  EXPECT_THAT(quota, Not(EqualsProto("no such field: 4")));
  quota::v1::Quota other = quota;
  other.set_limit(5);
  EXPECT_THAT(quota, Not(EqualsProto(other)));
}

TEST(Wording, FaultsAreFound) {
  for (const char* well : {"1 of 11 Nodes is queued.", "21 Nodes are queued.", "1 Node is up.",
                           "Until 12:00:00Z.", "Driver 570.1 is released.", "v1.1 machines."})
    EXPECT_EQ(WordingFault(well), "") << well;
  for (const char* badly :
       {"", "1 Node is up", "1 Node is up..", "1 Nodes are up.", "With 1 Node are two.",
        "For 0.5s.", "Until 12:00:00.123Z.", "It failed: .", "Two  spaces."})
    EXPECT_NE(WordingFault(badly), "") << badly;
}

}  // namespace
}  // namespace muster::testing
