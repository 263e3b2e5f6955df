#include "tests/kubernetes/manifests.h"

#include <optional>
#include <stdexcept>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "services/common/read_file.h"
#include "services/musterctl/manifest/document.h"

namespace muster::testing {
namespace {

using Json = nlohmann::json;
using musterctl::Value;

Json ToJson(const Value& value) {
  switch (value.type) {
    case Value::Type::kNull:
      return nullptr;
    case Value::Type::kBool:
      return value.boolean;
    case Value::Type::kInteger:
      return value.integer;
    case Value::Type::kHugeInteger:
    case Value::Type::kNumber: {
      double number = 0;
      if (!absl::SimpleAtod(value.text, &number)) throw std::runtime_error(value.text);
      return number;
    }
    case Value::Type::kString:
      return value.text;
    case Value::Type::kList: {
      Json list = Json::array();
      for (const Value& item : value.list) list.push_back(ToJson(item));
      return list;
    }
    case Value::Type::kMap: {
      Json map = Json::object();
      for (const auto& [key, item] : value.map) map[key] = ToJson(item);
      return map;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<Json> ReadManifests(absl::string_view file) {
  const std::optional<std::string> text = muster::ReadFile(std::string(file));
  if (!text) throw std::runtime_error(absl::StrCat("cannot read ", file));
  const auto documents = musterctl::ParseDocuments(file, *text);
  if (!documents.ok()) throw std::runtime_error(std::string(documents.status().message()));
  std::vector<Json> manifests;
  for (const musterctl::Document& document : *documents)
    manifests.push_back(ToJson(document.value));
  return manifests;
}

std::vector<Json> ReadDeployed(absl::string_view file) {
  return ReadManifests(absl::StrCat(MUSTER_SOURCE_DIR, "/deploy/", file));
}

}  // namespace muster::testing
