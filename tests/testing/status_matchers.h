#pragma once

#include <gmock/gmock.h>

#include <ostream>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/common/error.h"
#include "services/common/faults.h"

// Matchers for absl::Status and absl::StatusOr<T>:
//   EXPECT_THAT(result, IsOk());
//   EXPECT_THAT(result, IsOkAndHolds(Eq(3)));
//   EXPECT_THAT(result, StatusIs(absl::StatusCode::kAborted, HasSubstr("etag")));
//   EXPECT_THAT(result, HasReason("ETAG_MISMATCH"));
//   EXPECT_THAT(result, HasFieldViolation("spec.image.kernel"));
namespace muster::testing {

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <class T>
const absl::Status& StatusOf(const absl::StatusOr<T>& status_or) {
  return status_or.status();
}

MATCHER(IsOk, negation ? "is not OK" : "is OK") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).ok();
}

// `value`: a value or a matcher of what the StatusOr holds.
MATCHER_P(IsOkAndHolds, value,
          (negation ? "is not OK or does not hold " : "is OK and holds ") +
              ::testing::PrintToString(value)) {
  if (!arg.ok()) {
    *result_listener << arg.status().ToString();
    return false;
  }
  using Value = typename std::decay_t<decltype(arg)>::value_type;
  return ::testing::ExplainMatchResult(::testing::SafeMatcherCast<const Value&>(value), *arg,
                                       result_listener);
}

// StatusIs(code) and StatusIs(code, message): `message` is a string or a matcher of one.
template <class Message>
class StatusIsMatcher {
 public:
  StatusIsMatcher(absl::StatusCode code, Message message)
      : code_(code), message_(std::move(message)) {}

  template <class Arg>
  operator ::testing::Matcher<Arg>() const {  // NOLINT: how polymorphic matchers convert
    return ::testing::MakeMatcher(
        new Impl<Arg>(code_, ::testing::SafeMatcherCast<const std::string&>(message_)));
  }

 private:
  template <class Arg>
  class Impl : public ::testing::MatcherInterface<Arg> {
   public:
    Impl(absl::StatusCode code, ::testing::Matcher<const std::string&> message)
        : code_(code), message_(std::move(message)) {}
    void DescribeTo(std::ostream* os) const override {
      *os << "is " << absl::StatusCodeToString(code_) << " and its message ";
      message_.DescribeTo(os);
    }
    bool MatchAndExplain(Arg arg, ::testing::MatchResultListener* listener) const override {
      const absl::Status& status = StatusOf(arg);
      *listener << status.ToString();
      return status.code() == code_ && message_.Matches(std::string(status.message()));
    }

   private:
    const absl::StatusCode code_;
    const ::testing::Matcher<const std::string&> message_;
  };

  const absl::StatusCode code_;
  const Message message_;
};

template <class Message>
StatusIsMatcher<Message> StatusIs(absl::StatusCode code, Message message) {
  return StatusIsMatcher<Message>(code, std::move(message));
}
inline StatusIsMatcher<::testing::Matcher<const std::string&>> StatusIs(absl::StatusCode code) {
  return {code, ::testing::A<const std::string&>()};
}

// The UPPER_SNAKE reason of an error made with services/common/error.h.
MATCHER_P(HasReason, reason, "has reason " + ::testing::PrintToString(reason)) {
  const auto detail = error::DetailOf(StatusOf(arg));
  *result_listener << StatusOf(arg).ToString()
                   << (detail ? ", reason " + detail->reason : ", without detail");
  return detail && detail->reason == reason;
}

// One of its field violations names `field`, and its description matches when one is given.
MATCHER_P2(HasFieldViolation, field, description,
           "has a violation of field " + ::testing::PrintToString(field)) {
  const auto detail = error::DetailOf(StatusOf(arg));
  *result_listener << StatusOf(arg).ToString();
  if (!detail) return false;
  const auto matcher = ::testing::SafeMatcherCast<const std::string&>(description);
  for (const error::FieldViolation& violation : detail->fields) {
    *result_listener << "; " << violation.field << ": " << violation.description;
    if (violation.field == field && matcher.Matches(violation.description)) return true;
  }
  return false;
}
template <class Field>
auto HasFieldViolation(Field field) {
  return HasFieldViolation(field, ::testing::A<const std::string&>());
}

// The fields of faults that are named, in their order.
inline std::vector<std::string> FieldsOf(const error::Faults& faults) {
  std::vector<std::string> fields;
  for (const error::FieldViolation& fault : faults) fields.push_back(fault.field);
  return fields;
}

}  // namespace muster::testing
