#include "tests/kubernetes/fake_api_server/patches.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/kubernetes/fake_api_server/refusal.h"

namespace muster::testing {
namespace {

using Json = nlohmann::json;

// By what a list's items are told apart; empty: it is replaced whole.
std::string MergeKey(const std::string& field) {
  if (field == "conditions" || field == "addresses") return "type";
  if (field == "containers" || field == "initContainers") return "name";
  if (field == "ownerReferences") return "uid";
  return "";
}

void MergeStrategic(Json& target, const Json& patch);

void MergeItems(Json& list, const Json& patch, const std::string& key) {
  if (!list.is_array()) list = Json::array();
  for (const Json& item : patch) {
    const auto known = std::find_if(list.begin(), list.end(), [&](const Json& candidate) {
      return candidate.value(key, Json()) == item.value(key, Json());
    });
    if (item.value("$patch", "") == "delete") {
      if (known != list.end()) list.erase(known);
    } else if (known != list.end()) {
      MergeStrategic(*known, item);
    } else {
      list.push_back(item);
    }
  }
}

void MergeSet(Json& list, const Json& patch) {
  if (!list.is_array()) list = Json::array();
  for (const Json& item : patch) {
    if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
  }
}

void MergeStrategic(Json& target, const Json& patch) {
  if (!target.is_object() || patch.value("$patch", "") == "replace") target = Json::object();
  for (const auto& [key, value] : patch.items()) {
    if (absl::StartsWith(key, "$")) {
      const std::string list = key.substr(key.find('/') + 1);
      if (!absl::StartsWith(key, "$deleteFromPrimitiveList/") || !target.contains(list)) continue;
      Json& items = target[list];
      for (const Json& gone : value)
        items.erase(std::remove(items.begin(), items.end(), gone), items.end());
    } else if (value.is_null()) {
      target.erase(key);
    } else if (value.is_object()) {
      MergeStrategic(target[key], value);
    } else if (value.is_array() && key == "finalizers") {
      MergeSet(target[key], value);
    } else if (value.is_array() && !MergeKey(key).empty()) {
      MergeItems(target[key], value, MergeKey(key));
    } else {
      target[key] = value;
    }
  }
}

}  // namespace

Json Patched(const Resource& resource, const Call& call, Json document) {
  const Json patch = Json::parse(call.body);
  if (call.content_type == "application/json-patch+json") {
    try {
      return document.patch(patch);
    } catch (const Json::exception& failed) {
      throw Refusal{422, "Invalid",
                    absl::StrCat("the server rejected our request due to an error in our request: ",
                                 failed.what())};
    }
  }
  if (call.content_type == "application/merge-patch+json") {
    document.merge_patch(patch);
  } else if (call.content_type == "application/strategic-merge-patch+json" && !resource.custom) {
    MergeStrategic(document, patch);
  } else {
    throw Refusal{
        415, "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, "
        "application/apply-patch+yaml"};
  }
  return document;
}

}  // namespace muster::testing
