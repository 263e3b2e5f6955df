#include "services/musterctl/manifest/fields.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::musterctl {

void Problems::Add(int line, absl::string_view path, absl::string_view what) {
  if (lines_.size() == kMaxNamed) {
    ++others_;
    return;
  }
  lines_.push_back(
      absl::StrCat(Place(file_, document_, line), ": ", path, path.empty() ? "" : ": ", what));
}

Fields::Fields(const Value* map, std::string path, Problems& problems)
    : map_(map), path_(std::move(path)), problems_(problems) {
  if (map_ != nullptr && map_->type != Value::Type::kMap) {
    problems_.Add(map_->line, path_, absl::StrCat("must be a mapping, is ", map_->Describe()));
    map_ = nullptr;
  }
}

Fields::~Fields() {
  if (map_ == nullptr) return;
  for (const auto& [name, value] : map_->map) {
    if (known_.contains(name)) continue;
    problems_.Add(value.line, Path(name),
                  absl::StrCat("unknown field; allowed here: ", absl::StrJoin(known_, ", ")));
  }
}

std::string Fields::Path(absl::string_view name) const {
  return path_.empty() ? std::string(name) : absl::StrCat(path_, ".", name);
}

void Fields::Complain(absl::string_view name, absl::string_view what) {
  const Value* value = map_ == nullptr ? nullptr : map_->Find(name);
  problems_.Add(value != nullptr  ? value->line
                : map_ != nullptr ? map_->line
                                  : 0,
                Path(name), what);
}

const Value* Fields::Take(absl::string_view name, Need need, Value::Type type,
                          absl::string_view type_name) {
  known_.insert(std::string(name));
  if (map_ == nullptr) return nullptr;
  const Value* value = map_->Find(name);
  if (value == nullptr || value->type == Value::Type::kNull) {
    if (need == Need::kRequired)
      Complain(name, value == nullptr ? "is missing" : "must not be empty");
    return nullptr;
  }
  if (value->type == type) return value;
  if (type == Value::Type::kInteger && value->type == Value::Type::kHugeInteger) {
    Complain(name, absl::StrCat(value->text, " does not fit a 64-bit integer"));
    return nullptr;
  }
  const bool plain = type == Value::Type::kString && value->type != Value::Type::kList &&
                     value->type != Value::Type::kMap;
  Complain(name,
           absl::StrCat("must be ", type_name, ", is ", value->Describe(),
                        plain ? absl::StrCat("; write it in quotes: \"", value->text, "\"") : ""));
  return nullptr;
}

std::optional<std::string> Fields::String(absl::string_view name, Need need) {
  const Value* value = Take(name, need, Value::Type::kString, "a string");
  if (value == nullptr) return std::nullopt;
  if (need == Need::kRequired && value->text.empty()) {
    Complain(name, "must not be empty");
    return std::nullopt;
  }
  return value->text;
}

std::optional<std::string> Fields::Word(absl::string_view name,
                                        absl::Span<const absl::string_view> words, Need need) {
  std::optional<std::string> word = String(name, need);
  if (!word || std::find(words.begin(), words.end(), *word) != words.end()) return word;
  Complain(name,
           absl::StrCat("must be one of ", absl::StrJoin(words, ", "), ", is \"", *word, "\""));
  return std::nullopt;
}

std::optional<std::string> Fields::Id(absl::string_view name, Need need) {
  std::optional<std::string> id = String(name, need);
  if (!id || (!id->empty() && id->find_first_of("/~ \t\r\n") == std::string::npos)) return id;
  Complain(name, absl::StrCat("must be an id without `/`, `~` or spaces, is \"", *id, "\""));
  return std::nullopt;
}

std::optional<int64_t> Fields::Integer(absl::string_view name, Need need, int64_t least,
                                       int64_t most) {
  const Value* value = Take(name, need, Value::Type::kInteger, "an integer");
  if (value == nullptr) return std::nullopt;
  if (value->integer >= least && value->integer <= most) return value->integer;
  Complain(name, absl::StrCat("must be ", least, " to ", most, ", is ", value->text));
  return std::nullopt;
}

std::optional<int32_t> Fields::Integer32(absl::string_view name, Need need) {
  const std::optional<int64_t> value =
      Integer(name, need, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
  if (!value) return std::nullopt;
  return static_cast<int32_t>(*value);
}

std::optional<bool> Fields::Bool(absl::string_view name) {
  const Value* value = Take(name, Need::kOptional, Value::Type::kBool, "true or false");
  if (value == nullptr) return std::nullopt;
  return value->boolean;
}

std::optional<absl::Time> Fields::Time(absl::string_view name, Need need) {
  const std::optional<std::string> text = String(name, need);
  if (!text) return std::nullopt;
  absl::Time time;
  std::string error;
  if (absl::ParseTime(absl::RFC3339_full, *text, &time, &error) && time != absl::InfiniteFuture() &&
      time != absl::InfinitePast()) {
    return time;
  }
  Complain(name, absl::StrCat("must be a time such as 2026-01-31T12:00:00Z, is \"", *text, "\""));
  return std::nullopt;
}

std::vector<std::string> Fields::Strings(absl::string_view name) {
  std::vector<std::string> strings;
  const Value* list = List(name);
  if (list == nullptr) return strings;
  for (size_t i = 0; i < list->list.size(); ++i) {
    const Value& item = list->list[i];
    if (item.type == Value::Type::kString) {
      strings.push_back(item.text);
    } else {
      problems_.Add(item.line, absl::StrCat(Path(name), "[", i, "]"),
                    absl::StrCat("must be a string, is ", item.Describe()));
    }
  }
  return strings;
}

std::vector<std::pair<std::string, std::string>> Fields::StringMap(absl::string_view name) {
  std::vector<std::pair<std::string, std::string>> entries;
  const Value* map = Map(name);
  if (map == nullptr) return entries;
  for (const auto& [key, value] : map->map) {
    if (value.type == Value::Type::kString) {
      entries.emplace_back(key, value.text);
    } else {
      problems_.Add(
          value.line, absl::StrCat(Path(name), "[", key, "]"),
          absl::StrCat("must be a string, is ", value.Describe(),
                       value.list.empty() && value.map.empty() ? "; write it in quotes" : ""));
    }
  }
  return entries;
}

const Value* Fields::Map(absl::string_view name, Need need) {
  return Take(name, need, Value::Type::kMap, "a mapping");
}

const Value* Fields::List(absl::string_view name, Need need) {
  return Take(name, need, Value::Type::kList, "a list");
}

bool Fields::Skip(absl::string_view name) {
  known_.insert(std::string(name));
  return map_ != nullptr && map_->Find(name) != nullptr;
}

}  // namespace muster::musterctl
