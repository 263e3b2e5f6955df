#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "services/common/read_file.h"
#include "services/musterctl/manifest/document.h"
#include "tests/testing/status_matchers.h"

// The files of deploy/ as their YAML says.
namespace muster::deploy {

using musterctl::Value;

inline std::string PathOf(absl::string_view file) {
  return absl::StrCat(MUSTER_SOURCE_DIR, "/deploy/", file);
}

inline std::string TextOf(absl::string_view file) {
  const std::optional<std::string> text = ReadFile(PathOf(file));
  EXPECT_TRUE(text) << file;
  return text.value_or("");
}

// The documents of a file; the test fails when they cannot be read or there are none.
inline std::vector<Value> Load(absl::string_view file) {
  const auto documents = musterctl::ParseDocuments(file, TextOf(file));
  EXPECT_THAT(documents, testing::IsOk());
  std::vector<Value> values;
  if (!documents.ok()) return values;
  for (const musterctl::Document& document : *documents) values.push_back(document.value);
  EXPECT_FALSE(values.empty()) << file;
  return values;
}

// The YAML files of a folder, sorted.
inline std::vector<std::string> YamlFilesOf(absl::string_view folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(PathOf(folder))) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// What is at a path such as `spec.names.plural` or `spec.versions.0`; a null value when there is
// nothing.
inline const Value& At(const Value& value, absl::string_view path) {
  static const Value& none = *new Value;
  const Value* at = &value;
  for (const absl::string_view step : absl::StrSplit(path, '.')) {
    size_t index = 0;
    if (at->type == Value::Type::kList && absl::SimpleAtoi(step, &index)) {
      at = index < at->list.size() ? &at->list[index] : nullptr;
    } else {
      at = at->Find(step);
    }
    if (at == nullptr) return none;
  }
  return *at;
}

inline std::vector<std::string> Strings(const Value& list) {
  std::vector<std::string> strings;
  for (const Value& item : list.list) strings.push_back(item.text);
  return strings;
}

}  // namespace muster::deploy
