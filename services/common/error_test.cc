#include "services/common/error.h"

#include <gtest/gtest.h>

#include <string>

namespace muster::error {
namespace {

void ExpectSame(const Detail& a, const Detail& b) {
  EXPECT_EQ(a.reason, b.reason);
  EXPECT_EQ(a.metadata, b.metadata);
  EXPECT_EQ(a.fields, b.fields);
  EXPECT_EQ(a.resource, b.resource);
  EXPECT_EQ(a.retry_after, b.retry_after);
}

TEST(ErrorTest, DetailComesBackAsItWasGiven) {
  const Detail given = {.reason = "SOME_REASON",
                        .metadata = {{"a", "1:2"}, {"", ""}, {"binary", std::string("\0\xff", 2)}},
                        .fields = {{"spec.image.kernel", "must be \"x\""}, {"", ""}},
                        .resource = "organizations/acme",
                        .retry_after = absl::Milliseconds(1500)};
  const absl::Status status = Make(absl::StatusCode::kAborted, "Lost.", given);
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(status.message(), "Lost.");
  const auto detail = DetailOf(status);
  ASSERT_TRUE(detail.has_value());
  ExpectSame(*detail, given);
}

TEST(ErrorTest, EmptyDetailComesBackEmpty) {
  const auto detail = DetailOf(Make(absl::StatusCode::kInternal, "x", {}));
  ASSERT_TRUE(detail.has_value());
  ExpectSame(*detail, {});
}

TEST(ErrorTest, OtherStatusesHaveNoDetail) {
  EXPECT_FALSE(DetailOf(absl::InternalError("x")).has_value());
  EXPECT_EQ(ReasonOf(absl::InternalError("x")), "");
  EXPECT_FALSE(DetailOf(absl::OkStatus()).has_value());
}

TEST(ErrorTest, InvalidFieldsListsThemAll) {
  const absl::Status status =
      InvalidFields({{"limit", "must not be negative."}, {"name", "is required."}});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "limit: must not be negative. name: is required.");
  const auto detail = DetailOf(status);
  EXPECT_EQ(detail->reason, "INVALID_FIELD");
  EXPECT_EQ(detail->fields.size(), 2u);
  EXPECT_EQ(DetailOf(InvalidField("a", "b"))->fields, (std::vector<FieldViolation>{{"a", "b"}}));
}

TEST(ErrorTest, FactoriesHaveTheirCodesAndReasons) {
  const struct {
    absl::Status status = {};
    absl::StatusCode code = absl::StatusCode::kUnknown;
    std::string reason = {};
  } cases[] = {
      {NotFound("a/b"), absl::StatusCode::kNotFound, "NOT_FOUND"},
      {EtagMismatch("a/b", "1", "2"), absl::StatusCode::kAborted, "ETAG_MISMATCH"},
      {GenerationTooOld("a/b", 1, 2), absl::StatusCode::kAborted, "GENERATION_TOO_OLD"},
      {FailedPrecondition("R", "a/b", "m"), absl::StatusCode::kFailedPrecondition, "R"},
      {Unavailable("m"), absl::StatusCode::kUnavailable, "UNAVAILABLE"},
      {RevisionCompacted(1, 2), absl::StatusCode::kOutOfRange, "REVISION_COMPACTED"},
      {RevisionInFuture(2, 1), absl::StatusCode::kOutOfRange, "REVISION_IN_FUTURE"},
      {WatchTooSlow(7), absl::StatusCode::kResourceExhausted, "WATCH_TOO_SLOW"},
  };
  for (const auto& [status, code, reason] : cases) {
    SCOPED_TRACE(reason);
    EXPECT_EQ(status.code(), code);
    ASSERT_TRUE(DetailOf(status).has_value());
    EXPECT_EQ(ReasonOf(status), reason);
  }
  EXPECT_EQ(NotFound("a/b").message(), "a/b does not exist.");
  EXPECT_EQ(DetailOf(Unavailable("m"))->retry_after, absl::Seconds(1));
  EXPECT_EQ(DetailOf(WatchTooSlow(7))->metadata.at("resume_revision"), "7");
  EXPECT_EQ(DetailOf(GenerationTooOld("a/b", 1, 2))->metadata.at("last_generation"), "2");
}

}  // namespace
}  // namespace muster::error
