#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "services/musterctl/manifest/manifest_reader.h"

namespace muster::musterctl {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Fields that are required if the mapping that contains them is there.
constexpr absl::string_view kRequired[] = {
    "NodePoolSpec.instance_type",
    "NodePoolSpec.target_nodes",
    "Taint.key",
    "Taint.effect",
    "NodeAffinity.terms",
    "NodeAffinityTerm.expressions",
    "NodeAffinityExpression.key",
    "NodeAffinityExpression.operator",
};
constexpr absl::string_view kOperators[] = {"In", "NotIn", "Exists", "DoesNotExist"};

// `Taint.key`.
std::string NameOf(const FieldDescriptor& field) {
  return absl::StrCat(field.containing_type()->name(), ".", field.name());
}

Need NeedOf(const FieldDescriptor& field) {
  const bool required = absl::c_linear_search(kRequired, absl::string_view(NameOf(field)));
  return required ? Need::kRequired : Need::kOptional;
}

void ReadMessage(Fields& fields, Problems& problems, Message& message);

void ReadPart(const Value& value, const std::string& path, Problems& problems, Message& part) {
  Fields fields(&value, path, problems);
  ReadMessage(fields, problems, part);
}

void ReadRepeated(Fields& fields, const FieldDescriptor& field, Problems& problems,
                  Message& message) {
  const auto& reflection = *message.GetReflection();
  const std::string& name = field.json_name();
  if (field.is_map()) {  // of strings
    const FieldDescriptor& key = *field.message_type()->map_key();
    const FieldDescriptor& value = *field.message_type()->map_value();
    for (auto& [map_key, map_value] : fields.StringMap(name)) {
      Message& entry = *reflection.AddMessage(&message, &field);
      entry.GetReflection()->SetString(&entry, &key, std::move(map_key));
      entry.GetReflection()->SetString(&entry, &value, std::move(map_value));
    }
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    const Value* list = fields.List(name, NeedOf(field));
    for (size_t i = 0; list != nullptr && i < list->list.size(); ++i) {
      ReadPart(list->list[i], absl::StrCat(fields.Path(name), "[", i, "]"), problems,
               *reflection.AddMessage(&message, &field));
    }
  } else {
    for (std::string& text : fields.Strings(name))
      reflection.AddString(&message, &field, std::move(text));
  }
}

void ReadText(Fields& fields, const FieldDescriptor& field, Message& message) {
  const bool is_operator = NameOf(field) == "NodeAffinityExpression.operator";
  auto text = is_operator ? fields.Word(field.json_name(), kOperators, NeedOf(field))
                          : fields.String(field.json_name(), NeedOf(field));
  if (text) message.GetReflection()->SetString(&message, &field, *std::move(text));
}

void ReadField(Fields& fields, const FieldDescriptor& field, Problems& problems, Message& message) {
  const auto& reflection = *message.GetReflection();
  const std::string& name = field.json_name();
  if (field.is_repeated()) return ReadRepeated(fields, field, problems, message);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (const Value* map = fields.Map(name, NeedOf(field)))
        ReadPart(*map, fields.Path(name), problems, *reflection.MutableMessage(&message, &field));
      return;
    case FieldDescriptor::CPPTYPE_BOOL:
      if (const auto value = fields.Bool(name)) reflection.SetBool(&message, &field, *value);
      return;
    case FieldDescriptor::CPPTYPE_INT32:
      if (const auto value = fields.Integer32(name, NeedOf(field)))
        reflection.SetInt32(&message, &field, *value);
      return;
    case FieldDescriptor::CPPTYPE_INT64:
      if (const auto value = fields.Integer(name, NeedOf(field)))
        reflection.SetInt64(&message, &field, *value);
      return;
    default:
      return ReadText(fields, field, message);
  }
}

// By the descriptor: a field that the API gains is read without a line here.
void ReadMessage(Fields& fields, Problems& problems, Message& message) {
  const auto& descriptor = *message.GetDescriptor();
  for (int i = 0; i < descriptor.field_count(); ++i)
    ReadField(fields, *descriptor.field(i), problems, message);
}

}  // namespace

Resource ReadNodePool(ManifestReader& in) {
  lifecycle::v1::NodePool pool;
  const std::string name = in.Name();
  pool.set_name(absl::StrCat("organizations/", in.Organization(), "/clusters/",
                             in.metadata.Id("cluster").value_or(in.context.scope.cluster),
                             "/nodePools/", name));
  ReadMessage(in.spec, in.problems, *pool.mutable_spec());
  for (const absl::string_view field : {"labels", "annotations"}) {
    if (in.metadata.Skip(field))
      in.notes.push_back(absl::StrCat("metadata.", field, " is not kept"));
  }
  in.label = absl::StrCat("nodepool/", name);
  return pool;
}

}  // namespace muster::musterctl
