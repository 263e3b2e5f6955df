#include "storage/postgres/later_fields.h"

#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>
#include <muster/type/v1/kept_request.pb.h>

namespace muster::storage {
namespace {

// Has fields, a message within, and lists.
using google::protobuf::DescriptorProto;

// A field that no message has.
void AddUnknown(google::protobuf::Message& message, const std::string& value) {
  message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(900, value);
}
std::string UnknownIn(const google::protobuf::Message& message) {
  const auto& fields = message.GetReflection()->GetUnknownFields(message);
  return fields.empty() ? "" : fields.field(0).length_delimited();
}

// As a release merges that reads all of a message.
bool MergeAll(absl::string_view later, google::protobuf::Message& message) {
  return MergeLater(later, message, [&] { return message.SerializeAsString(); });
}

DescriptorProto Known() {
  DescriptorProto message;
  message.set_name("n");
  message.mutable_options()->set_deprecated(true);
  message.add_reserved_name("r");
  message.add_field()->set_name("f");
  return message;
}

TEST(LaterFields, WhatIsKnownIsNotAmongThem) {
  EXPECT_EQ(UnknownFieldsOf(DescriptorProto()), "");
  EXPECT_EQ(UnknownFieldsOf(Known()), "");
}

TEST(LaterFields, WithWhatIsKnownTheyMakeUpTheWhole) {
  DescriptorProto message = Known();
  AddUnknown(message, "top");
  AddUnknown(*message.mutable_options(), "within");
  AddUnknown(*message.mutable_field(0), "in a list");
  const std::string unknown = UnknownFieldsOf(message);

  DescriptorProto rebuilt = Known();
  ASSERT_TRUE(MergeAll(unknown, rebuilt));
  EXPECT_EQ(UnknownIn(rebuilt), "top");
  EXPECT_EQ(UnknownIn(rebuilt.options()), "within");
  EXPECT_TRUE(rebuilt.options().deprecated());
  EXPECT_EQ(rebuilt.reserved_name_size(), 1);
  ASSERT_EQ(rebuilt.field_size(), 1) << "lists do not grow";
  EXPECT_EQ(UnknownIn(rebuilt.field(0)), "") << "which is the price";
  EXPECT_FALSE(MergeAll("\xff", rebuilt));
}

TEST(LaterFields, DoNotBringBackAMessageThatIsGone) {
  DescriptorProto message = Known();
  AddUnknown(*message.mutable_options(), "within");
  AddUnknown(message, "top");
  DescriptorProto without = Known();
  without.clear_options();
  ASSERT_TRUE(MergeAll(UnknownFieldsOf(message), without));
  EXPECT_FALSE(without.has_options());
  EXPECT_EQ(UnknownIn(without), "top");
}

// Nor one in which there was nothing unknown.
TEST(LaterFields, AreToldWithoutTheMessagesThatAreKnownWhole) {
  DescriptorProto message = Known();
  AddUnknown(message, "top");
  DescriptorProto told;
  ASSERT_TRUE(told.ParseFromString(UnknownFieldsOf(message)));
  EXPECT_FALSE(told.has_options());
  EXPECT_EQ(UnknownIn(told), "top");
}

// A message that says something that is known now is no leftover: it comes back whole.
TEST(LaterFields, BringBackAMessageOfWhichSomethingIsKnown) {
  DescriptorProto later;
  later.mutable_options()->set_deprecated(true);
  AddUnknown(*later.mutable_options(), "within");
  DescriptorProto message;
  message.set_name("n");
  ASSERT_TRUE(MergeAll(later.SerializeAsString(), message));
  EXPECT_TRUE(message.options().deprecated());
  EXPECT_EQ(UnknownIn(message.options()), "within");
  EXPECT_EQ(message.name(), "n");
}

// Else the journal, which is written with what is there, would lose what the tables keep.
TEST(LaterFields, BringBackAMessageThatSaysNothingByBeingThere) {
  DescriptorProto message = Known();
  AddUnknown(*message.mutable_options(), "within");
  DescriptorProto without = Known();
  without.clear_options();
  ASSERT_TRUE(MergeLater(UnknownFieldsOf(message), without,
                         [&] { return without.options().deprecated() ? "deprecated" : ""; }));
  EXPECT_EQ(UnknownIn(without.options()), "within");
  EXPECT_FALSE(without.options().has_deprecated());
}

// As a release hands on a message that is new to the one that wrote it.
TEST(LaterFields, AMessageThatIsKnownByNowMayBeEmpty) {
  DescriptorProto later;
  later.mutable_options();
  DescriptorProto message;
  ASSERT_TRUE(MergeAll(later.SerializeAsString(), message));
  EXPECT_TRUE(message.has_options());
}

// As a release reads a field that the one before it did not know: in the place of what other
// columns say.
TEST(LaterFields, WhatIsKnownByNowIsNotThereTwice) {
  DescriptorProto later;
  later.mutable_options()->set_map_entry(true);
  later.add_field()->set_name("new");
  DescriptorProto message = Known();
  ASSERT_TRUE(MergeAll(later.SerializeAsString(), message));
  EXPECT_TRUE(message.options().map_entry());
  EXPECT_TRUE(message.options().deprecated()) << "who wrote the other may not have known of it";
  ASSERT_EQ(message.field_size(), 1);
  EXPECT_EQ(message.field(0).name(), "new");
  EXPECT_EQ(message.name(), "n");
}

TEST(LaterFields, ATimeIsOneValue) {
  type::v1::KeptRequest later;
  later.mutable_create_time()->set_seconds(20);
  type::v1::KeptRequest message;
  message.mutable_create_time()->set_seconds(10);
  message.mutable_create_time()->set_nanos(5);
  ASSERT_TRUE(MergeAll(later.SerializeAsString(), message));
  EXPECT_EQ(message.SerializeAsString(), later.SerializeAsString());
}

TEST(LaterFields, FieldsByName) {
  DescriptorProto message = Known();
  AddUnknown(message, "top");
  DescriptorProto some;
  ASSERT_TRUE(some.ParseFromString(FieldsOf(message, {"options", "enum_type"})));
  DescriptorProto expected;
  *expected.mutable_options() = message.options();
  EXPECT_EQ(some.SerializeAsString(), expected.SerializeAsString());
}

}  // namespace
}  // namespace muster::storage
