#include "tests/proto/annotations.h"

#include <google/api/annotations.pb.h>
#include <google/api/field_behavior.pb.h>
#include <google/api/http.pb.h>
#include <google/api/resource.pb.h>

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "tests/proto/lint.h"

namespace muster::proto_lint {
namespace {

using google::api::FieldBehavior;
using google::api::HttpRule;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;

// How the sentence of a comment begins that says a behaviour.
struct Saying {
  absl::string_view words;
  FieldBehavior behavior;
};
constexpr Saying kSayings[] = {{"Required", google::api::REQUIRED},
                               {"Output only", google::api::OUTPUT_ONLY},
                               {"Set by the server", google::api::OUTPUT_ONLY},
                               {"Cannot be changed", google::api::IMMUTABLE}};

// The group of the CRD.
constexpr absl::string_view kTypes = "compute.coreweave.com/";

// A field's comment as one line.
std::string CommentOf(const FieldDescriptor& field) {
  google::protobuf::SourceLocation location;
  if (!field.GetSourceLocation(&location)) return "";
  const std::vector<std::string> words =
      absl::StrSplit(location.leading_comments, absl::ByAnyChar(" \n"), absl::SkipWhitespace());
  return absl::StrJoin(words, " ");
}

bool Says(absl::string_view comment, absl::string_view words) {
  return absl::StartsWith(comment, words) || absl::StrContains(comment, absl::StrCat(". ", words));
}

bool Has(const FieldDescriptor& field, FieldBehavior behavior) {
  const auto& options = field.options();
  for (int i = 0; i < options.ExtensionSize(google::api::field_behavior); ++i) {
    if (options.GetExtension(google::api::field_behavior, i) == behavior) return true;
  }
  return false;
}

// An RPC's method of HTTP and its path; empty: it has none.
struct Route {
  std::string verb = {};
  std::string path = {};
};
Route RouteOf(const HttpRule& rule) {
  switch (rule.pattern_case()) {
    case HttpRule::kGet:
      return {"GET", rule.get()};
    case HttpRule::kPut:
      return {"PUT", rule.put()};
    case HttpRule::kPost:
      return {"POST", rule.post()};
    case HttpRule::kDelete:
      return {"DELETE", rule.delete_()};
    case HttpRule::kPatch:
      return {"PATCH", rule.patch()};
    case HttpRule::kCustom:
    case HttpRule::PATTERN_NOT_SET:
      break;
  }
  return {};
}
const HttpRule& RuleOf(const MethodDescriptor& rpc) {
  return rpc.options().GetExtension(google::api::http);
}

// A path without its variables, and their names: `/v1/{name=zones/*}` is `/v1/zones/*` and `name`.
struct Template {
  std::string shape = {};
  std::vector<std::string> variables = {};
};
Template TemplateOf(absl::string_view path) {
  Template out;
  for (size_t open; (open = path.find('{')) != absl::string_view::npos;) {
    const size_t close = std::min(path.find('}', open), path.size() - 1);
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(path.substr(open + 1, close - open - 1), absl::MaxSplits('=', 1));
    absl::StrAppend(&out.shape, path.substr(0, open), parts.second.empty() ? "*" : parts.second);
    out.variables.push_back(parts.first);
    path.remove_prefix(close + 1);
  }
  absl::StrAppend(&out.shape, path);
  return out;
}

// The field that a path such as `node_pool.name` leads to; null: it leads nowhere, or through a
// list.
const FieldDescriptor* FieldAt(const Descriptor& request, absl::string_view path) {
  const Descriptor* message = &request;
  const FieldDescriptor* field = nullptr;
  for (absl::string_view part : absl::StrSplit(path, '.')) {
    field = message == nullptr ? nullptr : message->FindFieldByName(std::string(part));
    if (field == nullptr || field->is_repeated()) return nullptr;
    message = field->message_type();
  }
  return field;
}

class Linter {
 public:
  std::vector<std::string> Run(const std::vector<const FileDescriptor*>& files) {
    for (const FileDescriptor* file : files) {
      for (int i = 0; i < file->message_type_count(); ++i) FindResources(*file->message_type(i));
    }
    for (const FileDescriptor* file : files) {
      for (int i = 0; i < file->message_type_count(); ++i) Check(*file->message_type(i));
      for (int i = 0; i < file->service_count(); ++i) Check(*file->service(i));
    }
    return std::move(faults_);
  }

 private:
  template <class Element>
  void Fault(const Element& element, absl::string_view rule) {
    faults_.push_back(absl::StrCat(element.full_name(), ": ", rule));
  }

  void FindResources(const Descriptor& message) {
    if (!message.options().HasExtension(google::api::resource)) return;
    const auto& resource = message.options().GetExtension(google::api::resource);
    if (resource.type() != absl::StrCat(kTypes, message.name()))
      Fault(message, absl::StrCat("its type is ", kTypes, message.name()));
    if (!types_.insert(resource.type()).second) Fault(message, "its type is another's");
    if (resource.pattern().empty()) Fault(message, "has no pattern");
    for (const std::string& pattern : resource.pattern()) {
      if (!patterns_.insert(pattern).second) Fault(message, "its pattern is another's");
    }
    const FieldDescriptor* name = message.FindFieldByName("name");
    if (name == nullptr || name->type() != FieldDescriptor::TYPE_STRING)
      Fault(message, "a resource has a `string name`");
  }

  void Check(const Descriptor& message) {
    for (int i = 0; i < message.field_count(); ++i) {
      CheckBehavior(*message.field(i));
      CheckReference(*message.field(i));
    }
    for (int i = 0; i < message.nested_type_count(); ++i) {
      if (!message.nested_type(i)->options().map_entry()) Check(*message.nested_type(i));
    }
  }

  void CheckBehavior(const FieldDescriptor& field) {
    const std::string comment = CommentOf(field);
    for (const FieldBehavior behavior :
         {google::api::REQUIRED, google::api::OUTPUT_ONLY, google::api::IMMUTABLE}) {
      std::vector<absl::string_view> words;
      bool said = false;
      for (const Saying& saying : kSayings) {
        if (saying.behavior != behavior) continue;
        words.push_back(saying.words);
        said = said || Says(comment, saying.words);
      }
      const std::string& name = google::api::FieldBehavior_Name(behavior);
      if (said && !Has(field, behavior)) Fault(field, absl::StrCat("its comment says ", name));
      if (!said && Has(field, behavior)) {
        Fault(field, absl::StrCat("is ", name, ": a sentence of its comment begins with `",
                                  absl::StrJoin(words, "` or `"), "`"));
      }
    }
    if (Has(field, google::api::REQUIRED) && Has(field, google::api::OUTPUT_ONLY))
      Fault(field, "is REQUIRED and OUTPUT_ONLY");
  }

  void CheckReference(const FieldDescriptor& field) {
    const bool named = field.name() == "name" || field.name() == "parent";
    const bool refers = field.options().HasExtension(google::api::resource_reference);
    if (named && absl::EndsWith(field.containing_type()->name(), "Request")) {
      if (!refers) Fault(field, "says by resource_reference what it names");
      if (!Has(field, google::api::REQUIRED)) Fault(field, "is REQUIRED");
    }
    if (!refers) return;
    const auto& to = field.options().GetExtension(google::api::resource_reference);
    const std::string& type = to.type().empty() ? to.child_type() : to.type();
    if (type != "*" && types_.count(type) == 0)
      Fault(field, absl::StrCat("refers to `", type, "`, which is no resource"));
  }

  void Check(const ServiceDescriptor& service) {
    for (int i = 0; i < service.method_count(); ++i) {
      CheckAnswer(*service.method(i));
      CheckHttp(*service.method(i));
    }
  }

  void CheckAnswer(const MethodDescriptor& rpc) {
    const Descriptor& answer = *rpc.output_type();
    if (rpc.name() == absl::StrCat("Get", answer.name()) &&
        answer.FindFieldByName("name") != nullptr &&
        !answer.options().HasExtension(google::api::resource)) {
      Fault(answer, "is a resource: has google.api.resource");
    }
  }

  void CheckHttp(const MethodDescriptor& rpc) {
    const Route route = RouteOf(RuleOf(rpc));
    if (route.verb.empty()) return Fault(rpc, "has no google.api.http");
    const Template path = TemplateOf(route.path);
    const std::string& package = rpc.file()->package();
    const std::string version = absl::StrCat("/", package.substr(package.rfind('.') + 1));
    if (!absl::StartsWith(path.shape, version + "/") &&
        !absl::StartsWith(path.shape, version + ":"))
      Fault(rpc, absl::StrCat("its path begins with ", version));
    if (!routes_.insert(absl::StrCat(route.verb, " ", path.shape)).second)
      Fault(rpc, "shares its path with another RPC");
    for (const std::string& variable : path.variables) {
      const FieldDescriptor* field = FieldAt(*rpc.input_type(), variable);
      if (field == nullptr || field->type() != FieldDescriptor::TYPE_STRING)
        Fault(rpc, absl::StrCat("`", variable, "` of its path is no string of the request"));
    }
    CheckBody(rpc, route, path);
    if (rpc.server_streaming() && (route.verb != "GET" || !absl::EndsWith(path.shape, ":watch")))
      Fault(rpc, "a stream is a GET of `:watch`");
  }

  void CheckBody(const MethodDescriptor& rpc, const Route& route, const Template& path) {
    const std::string& body = RuleOf(rpc).body();
    if (route.verb == "GET" || route.verb == "DELETE") {
      if (!body.empty()) Fault(rpc, absl::StrCat(route.verb, " has no body"));
      CheckQuery(rpc, path);
    } else if (body != "*" &&
               (rpc.input_type()->FindFieldByName(body) == nullptr ||
                rpc.input_type()->FindFieldByName(body)->message_type() == nullptr)) {
      Fault(rpc, "its body is `*` or a message of the request");
    }
    if (route.verb == "GET" && Changes(rpc)) Fault(rpc, "changes something: no GET");
  }

  // What is not in the path stands in the query, where there is no way to write a list of messages.
  void CheckQuery(const MethodDescriptor& rpc, const Template& path) {
    for (int i = 0; i < rpc.input_type()->field_count(); ++i) {
      const FieldDescriptor& field = *rpc.input_type()->field(i);
      const bool in_path =
          std::count(path.variables.begin(), path.variables.end(), field.name()) > 0;
      if (!in_path && field.is_repeated() && field.message_type() != nullptr)
        Fault(rpc, absl::StrCat("`", field.name(), "` cannot stand in a query"));
    }
  }

  std::vector<std::string> faults_ = {};
  std::set<std::string> types_ = {};
  std::set<std::string> patterns_ = {};
  std::set<std::string> routes_ = {};
};

}  // namespace

std::vector<std::string> LintAnnotations(const std::vector<const FileDescriptor*>& files) {
  return Linter().Run(files);
}

std::vector<std::string> HttpSurface(const FileDescriptor& file) {
  std::vector<std::string> lines;
  for (int i = 0; i < file.service_count(); ++i) {
    for (int j = 0; j < file.service(i)->method_count(); ++j) {
      const MethodDescriptor& rpc = *file.service(i)->method(j);
      const Route route = RouteOf(RuleOf(rpc));
      lines.push_back(absl::StrCat("http ", rpc.full_name(), " = ", route.verb, " ", route.path));
    }
  }
  return lines;
}

}  // namespace muster::proto_lint
