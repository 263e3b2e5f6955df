#include "services/musterctl/schema/schema.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace muster::musterctl {
namespace {

constexpr size_t kWidth = 80;

struct Root {
  Kind kind;
  const char* message;
  const char* name;
  const char* version;
};
constexpr Root kRoots[] = {
    {Kind::kNodePool, "muster.lifecycle.v1.NodePool", "NodePool", "compute.coreweave.com/v1alpha1"},
    {Kind::kNode, "muster.lifecycle.v1.Node", "Node", "muster/v1"},
    {Kind::kEvent, "muster.lifecycle.v1.Event", "Event", "muster/v1"},
    {Kind::kCluster, "muster.lifecycle.v1.Cluster", "Cluster", "muster/v1"},
    {Kind::kHolding, "muster.quota.v1.Holding", "Holding", "muster/v1"},
    {Kind::kQuota, "muster.quota.v1.Quota", "Quota", "muster/v1"},
    {Kind::kZone, "muster.capacity.v1.Zone", "Zone", "muster/v1"},
    {Kind::kInstanceType, "muster.capacity.v1.InstanceType", "InstanceType", "muster/v1"},
    {Kind::kMachine, "muster.capacity.v1.Machine", "Machine", "muster/v1"},
    {Kind::kClaim, "muster.capacity.v1.Claim", "Claim", "muster/v1"},
    {Kind::kRelease, "muster.configuration.v1.Release", "Release", "muster/v1"},
    {Kind::kConfiguration, "muster.configuration.v1.PoolConfiguration", "PoolConfiguration",
     "muster/v1"},
    {Kind::kNodeProfile, "muster.configuration.v1.NodeProfile", "NodeProfile", "muster/v1"}};

const Root& RootOf(Kind kind) { return kRoots[static_cast<size_t>(kind)]; }

std::vector<const SchemaField*> FieldsOf(absl::string_view message) {
  std::vector<const SchemaField*> fields;
  for (const SchemaField* field = kSchemaFields; field->message != nullptr; ++field) {
    if (message == field->message) fields.push_back(field);
  }
  return fields;
}

std::string CommentOfMessage(absl::string_view name) {
  for (const SchemaMessage* message = kSchemaMessages; message->name != nullptr; ++message) {
    if (name == message->name) return message->comment;
  }
  return "";
}

const SchemaField* FindField(absl::string_view message, absl::string_view name) {
  for (const SchemaField* field : FieldsOf(message)) {
    if (absl::EqualsIgnoreCase(name, field->name)) return field;
  }
  return nullptr;
}

// Lines of at most kWidth, each after `indent`.
std::string Wrapped(absl::string_view text, const std::string& indent) {
  std::string out;
  for (const absl::string_view paragraph : absl::StrSplit(text, '\n')) {
    std::string line = indent;
    for (const absl::string_view word : absl::StrSplit(paragraph, ' ', absl::SkipEmpty())) {
      if (line.size() + 1 + word.size() > kWidth && line.size() > indent.size()) {
        absl::StrAppend(&out, line, "\n");
        line = indent;
      }
      absl::StrAppend(&line, line.size() > indent.size() ? " " : "", word);
    }
    if (line.size() > indent.size()) absl::StrAppend(&out, line, "\n");
  }
  return out;
}

// Comments are broken where the proto's lines end: that is no end of a paragraph, but a list of
// words is.
std::string Joined(absl::string_view comment) {
  std::string text;
  for (const absl::string_view line : absl::StrSplit(comment, '\n'))
    absl::StrAppend(&text, text.empty() ? "" : absl::StartsWith(line, "- ") ? "\n" : " ", line);
  return text;
}

void AppendTree(absl::string_view message, size_t depth, std::set<std::string>& above,
                std::string& out) {
  if (!above.insert(std::string(message)).second) return;
  for (const SchemaField* field : FieldsOf(message)) {
    absl::StrAppend(&out, std::string(2 * depth, ' '), field->name, "\t<", field->type, ">\n");
    if (field->of[0] != '\0') AppendTree(field->of, depth + 1, above, out);
  }
  above.erase(std::string(message));
}

// Where a path leads: the field it ends at, null for the kind itself; and the message whose fields
// are below it.
struct Place {
  const SchemaField* field = nullptr;
  std::string message = {};
};

// Manifests have metadata, spec and status also where the message has its fields side by side.
bool IsWrapper(const std::string& word, const std::string& message) {
  return (word == "spec" || word == "status" || word == "metadata") &&
         FindField(message, word) == nullptr;
}

// Where the API has what -o json shows below a word: in a part of the message, or beside that part.
struct Shown {
  Kind kind;
  const char* below;
  const char* part;  // null: the message itself
};
constexpr Shown kShown[] = {{Kind::kNode, "metadata", "desired"},
                            {Kind::kNode, "spec", "desired"},
                            {Kind::kNode, "status", "observed"},
                            {Kind::kNodePool, "status", nullptr}};

// The field `name` that -o json shows below `below`; null: there is none.
const SchemaField* FindShown(Kind kind, absl::string_view below, absl::string_view name) {
  const absl::string_view root = RootOf(kind).message;
  for (const Shown& shown : kShown) {
    if (shown.kind != kind || below != shown.below) continue;
    return FindField(shown.part == nullptr ? root : FindField(root, shown.part)->of, name);
  }
  return nullptr;
}

absl::StatusOr<Place> Walk(Kind kind, const std::vector<std::string>& path) {
  Place place{.message = RootOf(kind).message};
  for (size_t i = 0; i < path.size(); ++i) {
    if (i == 0 && IsWrapper(path[0], place.message)) continue;
    const SchemaField* field = FindField(place.message, path[i]);
    if (field == nullptr && i == 1) field = FindShown(kind, path[0], path[1]);
    if (field == nullptr) {
      const std::string names = absl::StrJoin(
          FieldsOf(place.message), ", ",
          [](std::string* out, const SchemaField* each) { absl::StrAppend(out, each->name); });
      return absl::NotFoundError(
          absl::StrCat("field \"", path[i], "\" does not exist",
                       names.empty() ? absl::StrCat("; ", path[i - 1], " has no fields")
                                     : absl::StrCat("; there are ", names)));
    }
    place = {field, field->of};
  }
  return place;
}

}  // namespace

std::vector<std::string> FieldsAt(Kind kind, const std::vector<std::string>& path) {
  std::vector<std::string> names;
  const auto place = Walk(kind, path);
  if (!place.ok()) return names;
  for (const SchemaField* field : FieldsOf(place->message)) names.emplace_back(field->name);
  return names;
}

absl::StatusOr<std::string> ExplainFields(Kind kind, const std::vector<std::string>& path,
                                          bool recursive) {
  const auto walked = Walk(kind, path);
  if (!walked.ok()) return walked.status();
  const Place& place = *walked;
  std::string out = absl::StrCat("KIND:       ", RootOf(kind).name,
                                 "\nVERSION:    ", RootOf(kind).version, "\n\n");
  if (place.field != nullptr)
    absl::StrAppend(&out, "FIELD: ", place.field->name, " <", place.field->type, ">\n\n");
  const std::string comment =
      place.field != nullptr ? place.field->comment : CommentOfMessage(place.message);
  absl::StrAppend(&out, "DESCRIPTION:\n", Wrapped(Joined(comment), "    "));
  if (place.field != nullptr && !place.message.empty())
    out += Wrapped(Joined(CommentOfMessage(place.message)), "    ");
  const std::vector<const SchemaField*> fields = FieldsOf(place.message);
  if (fields.empty()) return out;
  absl::StrAppend(&out, "\nFIELDS:\n");
  if (recursive) {
    std::set<std::string> above;
    AppendTree(place.message, 1, above, out);
    return out;
  }
  for (const SchemaField* field : fields) {
    absl::StrAppend(&out, "  ", field->name, "\t<", field->type, ">\n",
                    Wrapped(Joined(field->comment), "    "), "\n");
  }
  return out;
}

}  // namespace muster::musterctl
