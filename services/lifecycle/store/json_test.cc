#include "storage/postgres/json.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <random>
#include <stdexcept>

#include "google/protobuf/wrappers.pb.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"

namespace muster::storage {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Timestamp;

using Random = std::mt19937_64;

std::string RandomText(Random& random) {
  static const char* const kTexts[] = {
      "a", "b \"c\" \\ {d}", "line\nbreak\ttab", "\x01\x1f\x7f", "é 漢 🚀", "</script>", ""};
  return kTexts[random() % std::size(kTexts)];
}

void Fill(Message& message, int depth, Random& random);

void FillField(Message& message, const FieldDescriptor& field, int depth, Random& random) {
  const auto& reflection = *message.GetReflection();
  const bool many = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      many ? reflection.AddString(&message, &field, RandomText(random))
           : reflection.SetString(&message, &field, RandomText(random));
      return;
    case FieldDescriptor::CPPTYPE_INT64: {
      const auto number = static_cast<int64_t>(random() >> (random() % 64));
      many ? reflection.AddInt64(&message, &field, number)
           : reflection.SetInt64(&message, &field, number);
      return;
    }
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.SetInt32(&message, &field, static_cast<int32_t>(random()));
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.SetBool(&message, &field, random() % 2 == 0);
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto& type = *field.enum_type();
      const int value = static_cast<int>(random() % static_cast<uint64_t>(type.value_count()));
      return reflection.SetEnum(&message, &field, type.value(value));
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (depth == 0) return;
      return Fill(many ? *reflection.AddMessage(&message, &field)
                       : *reflection.MutableMessage(&message, &field),
                  depth - 1, random);
    default:
      FAIL() << field.full_name() << " is of a type that is not written";
  }
}

void Fill(Message& message, int depth, Random& random) {
  if (message.GetDescriptor() == Timestamp::descriptor()) {
    auto& time = static_cast<Timestamp&>(message);
    time.set_seconds(static_cast<int64_t>(random() % 4'000'000'000));
    time.set_nanos(static_cast<int32_t>(random() % 3 * 123'456'000));
    return;
  }
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    // A map must not have a key twice: one entry.
    const uint64_t times = field.is_repeated() && !field.is_map() ? random() % 4 : random() % 2;
    for (uint64_t n = 0; n < times; ++n) FillField(message, field, depth, random);
  }
}

// What is written is read back as it was, whatever is in it.
template <class T>
void ExpectComesBack() {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    T message;
    Fill(message, 4, random);
    T back;
    FromJson(ToJson(message), back);
    std::string difference;
    google::protobuf::util::MessageDifferencer differencer;
    differencer.ReportDifferencesToString(&difference);
    ASSERT_TRUE(differencer.Compare(message, back)) << difference << ToJson(message);
  }
}

TEST(JsonTest, EveryMessageThatIsStoredComesBack) {
  ExpectComesBack<lifecycle::v1::Node>();
  ExpectComesBack<lifecycle::v1::NodePool>();
  ExpectComesBack<lifecycle::v1::Event>();
  ExpectComesBack<lifecycle::v1::Cluster>();
}

TEST(JsonTest, WritesAsProtobufDoes) {
  lifecycle::v1::Node node;
  node.set_name("n");
  node.set_state(lifecycle::v1::Node::STATE_BOOTING);
  node.mutable_state_time()->set_seconds(1'750'000'000);
  node.mutable_state_time()->set_nanos(120'000'000);
  (*node.mutable_desired()->mutable_labels())["a/b"] = "\"c\"";
  node.mutable_desired()->add_taints()->set_key("k");
  node.mutable_observed()->set_active(true);
  node.mutable_observed()->set_active_pod_count(12);
  EXPECT_EQ(ToJson(node),
            R"({"name":"n","state":"STATE_BOOTING","stateTime":"2025-06-15T15:06:40.12Z",)"
            R"("desired":{"labels":{"a/b":"\"c\""},"taints":[{"key":"k"}]},)"
            R"("observed":{"active":true,"activePodCount":"12"}})");
  EXPECT_EQ(ToJson(lifecycle::v1::Node()), "{}");
}

TEST(JsonTest, RefusesWhatItCannotWriteAndWhatIsNoSuchMessage) {
  google::protobuf::DoubleValue number;
  number.set_value(1.5);
  EXPECT_THROW(ToJson(number), std::runtime_error);
  for (const char* text : {"",
                           "{",
                           "[]",
                           "null",
                           "1",
                           "{}}",
                           R"({"name": [1]})",
                           R"({"name": ["a"]})",
                           R"({"name": 1})",
                           R"({"name": {}})",
                           R"({"desired": []})",
                           R"({"desired": "a"})",
                           R"({"desired": {"cordoned": "true"}})",
                           R"({"desired": {"taints": {"key": "k"}}})",
                           R"({"desired": {"taints": [[]]}})",
                           R"({"desired": {"labels": [{"key": "k"}]}})",
                           R"({"desired": {"labels": {"k": 1}}})",
                           R"({"state": 12345678901})",
                           R"({"state": 1.5})",
                           R"({"revision": "a"})",
                           R"({"revision": 1e30})",
                           R"({"stateTime": "yesterday"})",
                           R"({"stateTime": {}})"}) {
    lifecycle::v1::Node node;
    EXPECT_THROW(FromJson(text, node), std::runtime_error) << text;
  }
}

// As people may have written it by SQL.
TEST(JsonTest, ReadsWhatIsWrittenOtherwise) {
  lifecycle::v1::Node node;
  FromJson(R"({"state_time": "2025-06-15T17:06:40+02:00", "state": 2, "revision": 7,
               "machine": null, "removalCause": "REMOVAL_CAUSE_OF_TOMORROW",
               "observed": {"activePodCount": 3.0}, "desired": {"labels": {"a": "\u00e9"}}})",
           node);
  EXPECT_EQ(ToJson(node),
            R"({"state":"STATE_BOOTING","stateTime":"2025-06-15T15:06:40Z",)"
            R"("desired":{"labels":{"a":"é"}},"observed":{"activePodCount":"3"},"revision":"7"})");
}

TEST(JsonTest, PassesOverFieldsOfALaterRelease) {
  lifecycle::v1::Node node;
  FromJson(R"({"ofTomorrow": {"a": [1, {"b": [{}]}], "c": 1.5}, "name": "n", "too": [[], "a"],
               "desired": {"ofTomorrow": 18446744073709551615}})",
           node);
  EXPECT_EQ(ToJson(node), R"({"name":"n","desired":{}})");
}

}  // namespace
}  // namespace muster::storage
