#include "tests/proto/lint.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace muster::proto_lint {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::MethodDescriptor;
using google::protobuf::OneofDescriptor;
using google::protobuf::ServiceDescriptor;
using google::protobuf::SourceLocation;

bool IsUpper(char c) { return absl::ascii_isupper(static_cast<unsigned char>(c)); }
bool IsLower(char c) { return absl::ascii_islower(static_cast<unsigned char>(c)); }
bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

bool IsLowerSnake(absl::string_view name) {
  return !name.empty() && IsLower(name[0]) && !absl::EndsWith(name, "_") &&
         !absl::StrContains(name, "__") && std::all_of(name.begin(), name.end(), [](char c) {
           return IsLower(c) || IsDigit(c) || c == '_';
         });
}
bool IsUpperSnake(absl::string_view name) {
  return !name.empty() && IsUpper(name[0]) && std::all_of(name.begin(), name.end(), [](char c) {
    return IsUpper(c) || IsDigit(c) || c == '_';
  });
}
bool IsUpperCamel(absl::string_view name) {
  return !name.empty() && IsUpper(name[0]) && std::all_of(name.begin(), name.end(), [](char c) {
    return IsUpper(c) || IsLower(c) || IsDigit(c);
  });
}

// `NodePoolState` → `NODE_POOL_STATE`.
std::string ToUpperSnake(absl::string_view camel) {
  std::string snake;
  for (size_t i = 0; i < camel.size(); ++i) {
    if (i > 0 && IsUpper(camel[i]) && !IsUpper(camel[i - 1])) snake += '_';
    snake += absl::ascii_toupper(static_cast<unsigned char>(camel[i]));
  }
  return snake;
}

// RPCs that change something and cannot be tried first, and why they need not be.
struct Untried {
  absl::string_view rpc;
  absl::string_view why;
};
constexpr absl::string_view kChecked = "a Check RPC takes the same request and changes nothing";
constexpr Untried kUntried[] = {
    {"SyncClaim", kChecked},
    {"BatchSyncClaims", kChecked},
    {"SyncHolding", kChecked},
    {"BatchSyncHoldings", kChecked},
    {"ReportNodes", "it tells what an agent saw, which is so whatever becomes of the report"},
    {"SetLogLevel", "it is one replica's, and is taken back by the same RPC"},
};

class Linter {
 public:
  explicit Linter(const FileDescriptor& file) : file_(file) {}

  std::vector<std::string> Run() {
    CheckFile();
    for (int i = 0; i < file_.message_type_count(); ++i) Check(*file_.message_type(i));
    for (int i = 0; i < file_.enum_type_count(); ++i) Check(*file_.enum_type(i));
    for (int i = 0; i < file_.service_count(); ++i) Check(*file_.service(i));
    return std::move(faults_);
  }

 private:
  template <class Element>
  void Fault(const Element& element, absl::string_view rule) {
    SourceLocation location;
    const bool known = element.GetSourceLocation(&location);
    faults_.push_back(absl::StrCat(file_.name(), ":", known ? location.start_line + 1 : 0, ": ",
                                   element.full_name(), ": ", rule));
  }
  void FileFault(absl::string_view rule) {
    faults_.push_back(absl::StrCat(file_.name(), ": ", rule));
  }

  template <class Element>
  void WantComment(const Element& element) {
    SourceLocation location;
    const bool known = element.GetSourceLocation(&location);
    if (!known || absl::StripAsciiWhitespace(
                      absl::StrCat(location.leading_comments, location.trailing_comments))
                      .empty()) {
      Fault(element, "has no comment");
    }
  }

  void CheckFile() {
    const std::string folder = file_.name().substr(0, file_.name().rfind('/'));
    if (absl::StrReplaceAll(file_.package(), {{".", "/"}}) != folder)
      FileFault("the package is not the folder");
    const std::vector<std::string> parts = absl::StrSplit(file_.package(), '.');
    absl::string_view version = parts.back();
    if (!absl::ConsumePrefix(&version, "v") || version.empty() ||
        !std::all_of(version.begin(), version.end(), IsDigit)) {
      FileFault("the package does not end with a version");
    }
    if (!std::all_of(parts.begin(), parts.end(), IsLowerSnake))
      FileFault("the package is not lower_snake");
    absl::string_view base = file_.name();
    base.remove_prefix(base.rfind('/') + 1);
    if (!absl::ConsumeSuffix(&base, ".proto") || !IsLowerSnake(base))
      FileFault("the file name is not lower_snake");
    if (file_.syntax() != FileDescriptor::SYNTAX_PROTO3) FileFault("the syntax is not proto3");
    if (file_.public_dependency_count() > 0 || file_.weak_dependency_count() > 0)
      FileFault("a public or weak import");
  }

  void Check(const Descriptor& message) {
    if (message.options().map_entry()) return;
    WantComment(message);
    if (!IsUpperCamel(message.name())) Fault(message, "a message is UpperCamel");
    for (int i = 0; i < message.field_count(); ++i) {
      WantComment(*message.field(i));
      if (!IsLowerSnake(message.field(i)->name()))
        Fault(*message.field(i), "a field is lower_snake");
    }
    for (int i = 0; i < message.real_oneof_decl_count(); ++i) {
      WantComment(*message.oneof_decl(i));
      if (!IsLowerSnake(message.oneof_decl(i)->name()))
        Fault(*message.oneof_decl(i), "a oneof is lower_snake");
    }
    for (int i = 0; i < message.nested_type_count(); ++i) Check(*message.nested_type(i));
    for (int i = 0; i < message.enum_type_count(); ++i) Check(*message.enum_type(i));
  }

  void Check(const EnumDescriptor& type) {
    WantComment(type);
    if (!IsUpperCamel(type.name())) Fault(type, "an enum is UpperCamel");
    if (type.options().allow_alias()) Fault(type, "an enum has no aliases");
    const std::string prefix = absl::StrCat(ToUpperSnake(type.name()), "_");
    for (int i = 0; i < type.value_count(); ++i) {
      const EnumValueDescriptor& value = *type.value(i);
      WantComment(value);
      if (!IsUpperSnake(value.name())) Fault(value, "an enum value is UPPER_SNAKE");
      if (!absl::StartsWith(value.name(), prefix))
        Fault(value, absl::StrCat("an enum value begins with ", prefix));
      if (value.number() == 0 && value.name() != prefix + "UNSPECIFIED") {
        Fault(value, absl::StrCat("the zero value is ", prefix, "UNSPECIFIED"));
      }
    }
  }

  void Check(const ServiceDescriptor& service) {
    WantComment(service);
    if (!IsUpperCamel(service.name()) || !absl::EndsWith(service.name(), "Service")) {
      Fault(service, "a service is UpperCamel and ends with Service");
    }
    for (int i = 0; i < service.method_count(); ++i) Check(*service.method(i));
  }

  void Check(const MethodDescriptor& rpc) {
    WantComment(rpc);
    if (!IsUpperCamel(rpc.name())) Fault(rpc, "an RPC is UpperCamel");
    if (rpc.input_type()->name() != rpc.name() + "Request" ||
        rpc.input_type()->file()->package() != file_.package()) {
      Fault(rpc, absl::StrCat("takes ", rpc.name(), "Request of its package"));
    }
    const Descriptor& output = *rpc.output_type();
    const bool own = output.file()->package() == file_.package();
    const bool standard = own && output.name() == rpc.name() + "Response";
    const bool resource = own && !rpc.server_streaming() && output.field_count() > 0 &&
                          output.field(0)->name() == "name";
    if (!standard && !resource && output.full_name() != "google.protobuf.Empty") {
      Fault(rpc, absl::StrCat("answers with ", rpc.name(),
                              "Response, a resource or google.protobuf.Empty"));
    }
    if (!requests_.insert({rpc.input_type(), &rpc}).second)
      Fault(rpc, "shares its request with another RPC");
    if (Changes(rpc)) CheckTrial(rpc);
  }

  void CheckTrial(const MethodDescriptor& rpc) {
    const auto* untried =
        std::find_if(std::begin(kUntried), std::end(kUntried),
                     [&](const Untried& known) { return known.rpc == rpc.name(); });
    const bool listed = untried != std::end(kUntried);
    const FieldDescriptor* field = rpc.input_type()->FindFieldByName("validate_only");
    const bool tried =
        field != nullptr && field->type() == FieldDescriptor::TYPE_BOOL && !field->is_repeated();
    if (!tried && !listed) Fault(rpc, "changes something: takes `bool validate_only`");
    if (tried && listed)
      Fault(rpc, absl::StrCat("takes validate_only: not listed with \"", untried->why, "\""));
  }

  const FileDescriptor& file_;
  std::vector<std::string> faults_ = {};
  std::map<const Descriptor*, const MethodDescriptor*> requests_ = {};
};

std::string TypeOf(const FieldDescriptor& field) {
  if (field.is_map()) {
    const Descriptor& entry = *field.message_type();
    return absl::StrCat("map<", TypeOf(*entry.map_key()), ", ", TypeOf(*entry.map_value()), ">");
  }
  std::string type = field.type_name();
  if (field.message_type() != nullptr) type = field.message_type()->full_name();
  if (field.enum_type() != nullptr) type = field.enum_type()->full_name();
  if (field.is_repeated()) return absl::StrCat("repeated ", type);
  if (field.real_containing_oneof() != nullptr) {
    return absl::StrCat(type, " in oneof ", field.real_containing_oneof()->name());
  }
  return field.has_optional_keyword() ? absl::StrCat("optional ", type) : type;
}

void AddSurface(const EnumDescriptor& type, std::vector<std::string>& lines) {
  for (int i = 0; i < type.value_count(); ++i) {
    lines.push_back(
        absl::StrCat(type.full_name(), ".", type.value(i)->name(), " = ", type.value(i)->number()));
  }
}

void AddSurface(const Descriptor& message, std::vector<std::string>& lines) {
  if (message.options().map_entry()) return;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    lines.push_back(absl::StrCat(field.full_name(), " = ", field.number(), " ", TypeOf(field)));
  }
  for (int i = 0; i < message.nested_type_count(); ++i) AddSurface(*message.nested_type(i), lines);
  for (int i = 0; i < message.enum_type_count(); ++i) AddSurface(*message.enum_type(i), lines);
}

void AddSurface(const ServiceDescriptor& service, std::vector<std::string>& lines) {
  for (int i = 0; i < service.method_count(); ++i) {
    const MethodDescriptor& rpc = *service.method(i);
    lines.push_back(
        absl::StrCat("rpc ", rpc.full_name(), "(", rpc.client_streaming() ? "stream " : "",
                     rpc.input_type()->full_name(), ") returns (",
                     rpc.server_streaming() ? "stream " : "", rpc.output_type()->full_name(), ")"));
  }
}

// Keeps the first error of a build.
class FirstError : public DescriptorPool::ErrorCollector {
 public:
  explicit FirstError(std::string* error) : error_(error) {}
  void AddError(const std::string& file, const std::string& element,
                const google::protobuf::Message*, ErrorLocation,
                const std::string& message) override {
    if (error_->empty()) *error_ = absl::StrCat(file, ": ", element, ": ", message);
  }

 private:
  std::string* const error_;
};

}  // namespace

std::unique_ptr<DescriptorPool> Link(const google::protobuf::FileDescriptorSet& set,
                                     std::string* error) {
  auto pool = std::make_unique<DescriptorPool>();
  FirstError collector(error);
  for (const auto& file : set.file()) {
    if (pool->BuildFileCollectingErrors(file, &collector) == nullptr) return nullptr;
  }
  return pool;
}

BuiltApi LoadApi(const std::string& path) {
  google::protobuf::FileDescriptorSet set;
  std::ifstream in(path, std::ios::binary);
  if (!set.ParseFromIstream(&in)) throw std::runtime_error(path + " is no set of descriptors");
  std::string error;
  BuiltApi api = {.pool = Link(set, &error)};
  if (api.pool == nullptr) throw std::runtime_error(error);
  for (const auto& file : set.file()) api.files.push_back(api.pool->FindFileByName(file.name()));
  return api;
}

bool Changes(const MethodDescriptor& rpc) {
  constexpr absl::string_view kReads[] = {"Get",     "List", "Check", "Find",
                                          "Explain", "Ping", "Audit", "Compare"};
  return !rpc.server_streaming() &&
         std::none_of(std::begin(kReads), std::end(kReads),
                      [&](absl::string_view verb) { return absl::StartsWith(rpc.name(), verb); });
}

std::vector<std::string> Lint(const FileDescriptor& file) { return Linter(file).Run(); }

std::vector<std::string> Surface(const FileDescriptor& file) {
  std::vector<std::string> lines;
  for (int i = 0; i < file.message_type_count(); ++i) AddSurface(*file.message_type(i), lines);
  for (int i = 0; i < file.enum_type_count(); ++i) AddSurface(*file.enum_type(i), lines);
  for (int i = 0; i < file.service_count(); ++i) AddSurface(*file.service(i), lines);
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::vector<std::string> Broken(const std::vector<std::string>& golden,
                                const std::vector<std::string>& now) {
  std::vector<std::string> broken;
  std::set_difference(golden.begin(), golden.end(), now.begin(), now.end(),
                      std::back_inserter(broken));
  return broken;
}

}  // namespace muster::proto_lint
