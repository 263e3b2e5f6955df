#pragma once

#include <gmock/gmock.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>

#include <memory>
#include <string>
#include <utility>

// Matchers for protobuf messages: EqualsProto(message) and EqualsProto("text format").
namespace muster::testing {

class EqualsProtoMatcher {
 public:
  using is_gtest_matcher = void;

  explicit EqualsProtoMatcher(std::string text) : text_(std::move(text)) {}
  explicit EqualsProtoMatcher(const google::protobuf::Message& message) : message_(message.New()) {
    message_->CopyFrom(message);
  }

  bool MatchAndExplain(const google::protobuf::Message& actual,
                       ::testing::MatchResultListener* listener) const {
    std::shared_ptr<google::protobuf::Message> expected = message_;
    if (expected == nullptr) {
      expected.reset(actual.New());
      if (!google::protobuf::TextFormat::ParseFromString(text_, expected.get())) {
        *listener << "the expected text is no " << actual.GetTypeName();
        return false;
      }
    }
    if (expected->GetDescriptor() != actual.GetDescriptor()) {
      *listener << "which is a " << actual.GetTypeName();
      return false;
    }
    google::protobuf::util::MessageDifferencer differencer;
    std::string differences;
    differencer.ReportDifferencesToString(&differences);
    if (differencer.Compare(*expected, actual)) return true;
    *listener << "with these differences:\n" << differences;
    return false;
  }
  void DescribeTo(std::ostream* os) const { *os << "equals " << Text(); }
  void DescribeNegationTo(std::ostream* os) const { *os << "does not equal " << Text(); }

 private:
  std::string Text() const { return message_ == nullptr ? text_ : message_->DebugString(); }

  std::string text_ = {};
  std::shared_ptr<google::protobuf::Message> message_ = {};
};

inline EqualsProtoMatcher EqualsProto(std::string text) {
  return EqualsProtoMatcher(std::move(text));
}
inline EqualsProtoMatcher EqualsProto(const google::protobuf::Message& message) {
  return EqualsProtoMatcher(message);
}

}  // namespace muster::testing
