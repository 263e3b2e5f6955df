#include "services/rpc/status.h"

#include <gmock/gmock.h>
#include <google/rpc/error_details.pb.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/rpc/limits.h"

namespace muster::rpc {
namespace {

template <class Detail>
Detail Get(const google::rpc::Status& status) {
  Detail detail;
  for (const auto& any : status.details()) {
    if (any.UnpackTo(&detail)) return detail;
  }
  ADD_FAILURE() << "no " << Detail::descriptor()->full_name() << " in "
                << status.ShortDebugString();
  return detail;
}

void ExpectSame(const absl::Status& a, const absl::Status& b) {
  EXPECT_EQ(a.code(), b.code());
  EXPECT_EQ(a.message(), b.message());
  const auto x = error::DetailOf(a);
  const auto y = error::DetailOf(b);
  ASSERT_EQ(x.has_value(), y.has_value());
  if (!x) return;
  EXPECT_EQ(x->reason, y->reason);
  EXPECT_EQ(x->metadata, y->metadata);
  EXPECT_EQ(x->fields, y->fields);
  EXPECT_EQ(x->resource, y->resource);
  EXPECT_EQ(x->retry_after, y->retry_after);
}

TEST(StatusTest, OkIsOkBothWays) {
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).error_details().empty());
  EXPECT_TRUE(FromGrpcStatus(grpc::Status::OK).ok());
  EXPECT_EQ(ToRpcStatus(absl::OkStatus()).code(), 0);
}

TEST(StatusTest, EveryErrorComesBackAsItWas) {
  const absl::Status errors[] = {
      error::InvalidFields({{"limit", "must not be negative."}, {"name", "is required."}}),
      error::NotFound("organizations/acme"),
      error::AlreadyExists("organizations/acme"),
      error::EtagMismatch("organizations/acme", "1", "2"),
      error::GenerationTooOld("organizations/acme", 1, 2),
      error::FailedPrecondition("POOL_DELETING", "organizations/acme", "It is being deleted."),
      error::Unavailable("Postgres is away.", absl::Milliseconds(1500)),
      error::RevisionCompacted(1, 2),
      error::WatchTooSlow(7),
  };
  for (const absl::Status& error : errors) {
    SCOPED_TRACE(error.ToString());
    ExpectSame(FromGrpcStatus(ToGrpcStatus(error)), error);
    ExpectSame(FromRpcStatus(ToRpcStatus(error)), error);
  }
}

TEST(StatusTest, DetailsAreGooglesTypes) {
  const auto invalid = ToRpcStatus(error::InvalidField("spec.limit", "must not be negative."));
  EXPECT_EQ(invalid.code(), 3);
  EXPECT_EQ(Get<google::rpc::ErrorInfo>(invalid).domain(), "muster");
  EXPECT_EQ(Get<google::rpc::ErrorInfo>(invalid).reason(), "INVALID_FIELD");
  EXPECT_EQ(Get<google::rpc::BadRequest>(invalid).field_violations(0).field(), "spec.limit");
  const auto failed = ToRpcStatus(error::FailedPrecondition("R", "a/b", "m"));
  EXPECT_EQ(Get<google::rpc::PreconditionFailure>(failed).violations(0).type(), "R");
  EXPECT_EQ(Get<google::rpc::PreconditionFailure>(failed).violations(0).subject(), "a/b");
  const auto exhausted = ToRpcStatus(error::Make(absl::StatusCode::kResourceExhausted, "Full.",
                                                 {.reason = "R", .resource = "a/b"}));
  EXPECT_EQ(Get<google::rpc::QuotaFailure>(exhausted).violations(0).subject(), "a/b");
  EXPECT_EQ(Get<google::rpc::QuotaFailure>(exhausted).violations(0).description(), "Full.");
  const auto missing = ToRpcStatus(error::NotFound("a/b"));
  EXPECT_EQ(Get<google::rpc::ResourceInfo>(missing).resource_name(), "a/b");
  const auto away = ToRpcStatus(error::Unavailable("m", absl::Milliseconds(1500)));
  EXPECT_EQ(Get<google::rpc::RetryInfo>(away).retry_delay().seconds(), 1);
  EXPECT_EQ(Get<google::rpc::RetryInfo>(away).retry_delay().nanos(), 500'000'000);
}

TEST(StatusTest, AStatusWithoutDetailGetsItsCodeAsReasonAndKeepsItsPayloadsToItself) {
  absl::Status status = absl::InternalError("It broke.");
  status.SetPayload("secret", absl::Cord("password"));
  const grpc::Status out = ToGrpcStatus(status);
  EXPECT_EQ(out.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(out.error_message(), "It broke.");
  EXPECT_THAT(out.error_details(), ::testing::Not(::testing::HasSubstr("password")));
  EXPECT_EQ(Get<google::rpc::ErrorInfo>(ToRpcStatus(status)).reason(), "INTERNAL");
}

TEST(StatusTest, ForeignStatusesKeepCodeAndMessage) {
  ExpectSame(FromGrpcStatus(grpc::Status(grpc::StatusCode::ABORTED, "m")), absl::AbortedError("m"));
  ExpectSame(FromGrpcStatus(grpc::Status(grpc::StatusCode::ABORTED, "m", "no proto \xff")),
             absl::AbortedError("m"));
  google::rpc::ErrorInfo info;
  info.set_domain("somebody.else");
  info.set_reason("THEIRS");
  google::rpc::Status status;
  status.set_code(10);
  status.set_message("m");
  status.add_details()->PackFrom(info);
  ExpectSame(FromRpcStatus(status), absl::AbortedError("m"));
  status.set_code(4711);
  EXPECT_EQ(FromRpcStatus(status).code(), absl::StatusCode::kUnknown);
}

// Trailers above 8 KiB would turn any error into one about trailers.
TEST(StatusTest, LargeErrorsAreCutToFitTheTrailers) {
  std::vector<error::FieldViolation> fields;
  for (int i = 0; i < 5000; ++i) fields.push_back({absl::StrCat("spec.field_", i), "is bad."});
  const grpc::Status out = ToGrpcStatus(error::InvalidFields(fields));
  EXPECT_LE(out.error_message().size(), kMaxErrorMessageBytes);
  EXPECT_LE(out.error_details().size(), kMaxErrorMessageBytes + kMaxErrorDetailBytes + 1024);
  const auto detail = error::DetailOf(FromGrpcStatus(out));
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->reason, "INVALID_FIELD");
  EXPECT_GT(detail->fields.size(), 10u);
  EXPECT_EQ(detail->fields[0].field, "spec.field_0");
  EXPECT_EQ(detail->fields.back(), (error::FieldViolation{"", "and more."}));
}

// What the trailers of an error count for, with the binary one as base64.
size_t TrailerBytes(const grpc::Status& status) {
  size_t message = 0;
  for (const char c : status.error_message()) message += c >= ' ' && c <= '~' && c != '%' ? 1 : 3;
  const size_t details = (status.error_details().size() + 2) / 3 * 4;
  constexpr size_t kEach = 32;
  return sizeof("grpc-status") + 1 + sizeof("grpc-message") + message +
         sizeof("grpc-status-details-bin") + details + 3 * kEach;
}

TEST(StatusTest, WhateverIsInItAnErrorFitsTheTrailers) {
  for (const char* character : {"x", "\xc3\xa4", "%", "\n", "\xe2\x82\xac"}) {
    for (const size_t size : {10, 300, 1'008, 5'000}) {
      std::string key;
      while (key.size() < size) key += character;
      std::vector<error::FieldViolation> fields;
      for (int i = 0; i < 5; ++i)
        fields.push_back({absl::StrCat("spec.nodeLabels[", key, "]"), "must be a label's key."});
      EXPECT_LT(TrailerBytes(ToGrpcStatus(error::InvalidFields(fields))), 8'192u)
          << character << " " << size;
      const absl::Status full =
          error::Make(absl::StatusCode::kResourceExhausted, key,
                      {.reason = "R", .metadata = {{"a", key}}, .fields = fields, .resource = key});
      EXPECT_LT(TrailerBytes(ToGrpcStatus(full)), 8'192u) << character << " " << size;
    }
  }
}

TEST(StatusTest, MessagesAreCutAsTheyAreSent) {
  std::string message;
  while (message.size() < kMaxErrorMessageBytes) message += "\xc3\xa4";
  const std::string cut = ToGrpcStatus(absl::AbortedError(message)).error_message();
  EXPECT_EQ(cut, message.substr(0, kMaxErrorMessageBytes / 6 * 2)) << "six bytes a letter";
  EXPECT_EQ(ToGrpcStatus(absl::AbortedError("100 %")).error_message(), "100 %");
}

TEST(StatusTest, TheFirstFieldIsNamedHoweverLongItIs) {
  const std::string key(5'000, 'k');
  const absl::Status error = error::InvalidFields(
      {{absl::StrCat("spec.nodeLabels[", key, "]"), key}, {"spec.minNodes", "is bad."}});
  const auto detail = error::DetailOf(FromGrpcStatus(ToGrpcStatus(error)));
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->reason, "INVALID_FIELD");
  ASSERT_EQ(detail->fields.size(), 2u);
  EXPECT_THAT(detail->fields[0].field, ::testing::StartsWith("spec.nodeLabels[kkk"));
  EXPECT_THAT(detail->fields[0].description, ::testing::StartsWith("kkk"));
  EXPECT_EQ(detail->fields[1].field, "spec.minNodes");
}

TEST(StatusTest, FieldsAreCutBetweenCharacters) {
  const std::string longest(kMaxViolationBytes - 1, 'x');
  const absl::Status error = error::InvalidField(longest + "\xc3\xa9", longest + "\xc3\xa9");
  const auto detail = error::DetailOf(FromGrpcStatus(ToGrpcStatus(error)));
  ASSERT_TRUE(detail.has_value());
  EXPECT_THAT(detail->fields, ::testing::ElementsAre(error::FieldViolation{longest, longest}));
}

TEST(StatusTest, LongMessagesAreCutBetweenCharacters) {
  std::string message(kMaxErrorMessageBytes - 1, 'x');
  message += "\xc3\xa4\xc3\xa4";
  EXPECT_EQ(ToGrpcStatus(absl::AbortedError(message)).error_message(),
            std::string(kMaxErrorMessageBytes - 1, 'x'));
}

TEST(StatusTest, CodeNamesAreGos) {
  std::set<std::string> names;
  for (int code = 0; code <= 16; ++code) {
    names.emplace(CodeName(static_cast<grpc::StatusCode>(code)));
  }
  EXPECT_EQ(names.size(), 17u);
  EXPECT_EQ(CodeName(grpc::StatusCode::OK), "OK");
  EXPECT_EQ(CodeName(grpc::StatusCode::CANCELLED), "Canceled");
  EXPECT_EQ(CodeName(grpc::StatusCode::INVALID_ARGUMENT), "InvalidArgument");
}

}  // namespace
}  // namespace muster::rpc
