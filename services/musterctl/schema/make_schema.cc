// make_schema DESCRIPTORS OUT: the messages of the API and what their comments say, as a table in
// C++.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <fstream>
#include <iostream>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::SourceLocation;

constexpr const char* kRoots[] = {"muster.lifecycle.v1.NodePool",
                                  "muster.lifecycle.v1.Node",
                                  "muster.lifecycle.v1.Event",
                                  "muster.lifecycle.v1.Cluster",
                                  "muster.quota.v1.Holding",
                                  "muster.quota.v1.Quota",
                                  "muster.capacity.v1.Zone",
                                  "muster.capacity.v1.InstanceType",
                                  "muster.capacity.v1.Machine",
                                  "muster.capacity.v1.Claim",
                                  "muster.configuration.v1.Release",
                                  "muster.configuration.v1.PoolConfiguration",
                                  "muster.configuration.v1.NodeProfile"};

template <class Element>
std::string CommentOf(const Element& element) {
  SourceLocation location;
  if (!element.GetSourceLocation(&location)) return "";
  std::string text = location.leading_comments;
  absl::StripAsciiWhitespace(&text);
  return absl::StrReplaceAll(text, {{"\n ", "\n"}});
}

bool IsOurs(const Descriptor& message) { return absl::StartsWith(message.full_name(), "muster."); }

std::string ScalarType(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return absl::EndsWith(field.message_type()->full_name(), ".Timestamp") ? "time"
             : absl::EndsWith(field.message_type()->full_name(), ".Duration")
                 ? "duration"
                 : field.message_type()->name();
    case FieldDescriptor::CPPTYPE_ENUM:
    case FieldDescriptor::CPPTYPE_STRING:
      return "string";
    case FieldDescriptor::CPPTYPE_BOOL:
      return "boolean";
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return "number";
    default:
      return "integer";
  }
}

std::string TypeOf(const FieldDescriptor& field) {
  if (field.is_map())
    return absl::StrCat("map[", ScalarType(*field.message_type()->map_key()), "]",
                        ScalarType(*field.message_type()->map_value()));
  return absl::StrCat(field.is_repeated() ? "[]" : "", ScalarType(field));
}

// An enum's words stand below what is said of the field.
std::string MeaningOf(const FieldDescriptor& field) {
  std::string text = CommentOf(field);
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_ENUM) return text;
  for (int i = 0; i < field.enum_type()->value_count(); ++i) {
    const auto& value = *field.enum_type()->value(i);
    if (value.number() != 0) absl::StrAppend(&text, "\n- ", value.name(), ": ", CommentOf(value));
  }
  return text;
}

std::string Quoted(const std::string& text) {
  return absl::StrCat("\"", absl::CEscape(text), "\"");
}

void Write(const Descriptor& message, std::set<std::string>& seen, std::string& fields,
           std::string& messages) {
  if (!IsOurs(message) || !seen.insert(message.full_name()).second) return;
  absl::StrAppend(&messages, "    {", Quoted(message.full_name()), ", ", Quoted(CommentOf(message)),
                  "},\n");
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    const bool is_part = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field.is_map() &&
                         IsOurs(*field.message_type());
    absl::StrAppend(&fields, "    {", Quoted(message.full_name()), ", ", Quoted(field.json_name()),
                    ", ", Quoted(TypeOf(field)), ", ",
                    Quoted(is_part ? field.message_type()->full_name() : ""), ", ",
                    Quoted(MeaningOf(field)), "},\n");
  }
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    // The entries of a map are no message of their own to people.
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field.is_map())
      Write(*field.message_type(), seen, fields, messages);
  }
}

}  // namespace

int main(int argc, char** argv) {
  google::protobuf::FileDescriptorSet set;
  if (argc != 3) return 2;
  std::ifstream in(argv[1], std::ios::binary);
  if (!set.ParseFromIstream(&in)) {
    std::cerr << argv[1] << ": no descriptors\n";
    return 1;
  }
  google::protobuf::DescriptorPool pool;
  for (const auto& file : set.file()) {
    if (pool.BuildFile(file) == nullptr) return 1;
  }
  std::set<std::string> seen;
  std::string fields;
  std::string messages;
  for (const char* root : kRoots) {
    const Descriptor* message = pool.FindMessageTypeByName(root);
    if (message == nullptr) {
      std::cerr << root << ": there is no such message\n";
      return 1;
    }
    Write(*message, seen, fields, messages);
  }
  std::ofstream(argv[2])
      << "#include \"services/musterctl/schema/schema.h\"\n\n"
      << "namespace muster::musterctl {\n\nconst SchemaField kSchemaFields[] = {\n"
      << fields << "    {nullptr, nullptr, nullptr, nullptr, nullptr}};\n\n"
      << "const SchemaMessage kSchemaMessages[] = {\n"
      << messages << "    {nullptr, nullptr}};\n\n}  // namespace muster::musterctl\n";
  return 0;
}
