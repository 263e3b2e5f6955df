#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/string_view.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"
#include "services/musterctl/print/words.h"

// What objects.cc and lifecycle_objects.cc build objects from.
namespace muster::musterctl {

using nlohmann::json;

inline void PutTime(json& object, const char* key, const google::protobuf::Timestamp& time) {
  if (std::string text = FormatTime(time); !text.empty()) object[key] = std::move(text);
}

inline void PutText(json& object, const char* key, const std::string& text) {
  if (!text.empty()) object[key] = text;
}

template <class Map>
json ToJson(const Map& map) {
  json object = json::object();
  for (const auto& [key, value] : map) object[key] = value;
  return object;
}

inline json Strings(const google::protobuf::RepeatedPtrField<std::string>& strings) {
  json list = json::array();
  for (const std::string& text : strings) list.push_back(text);
  return list;
}

inline json Frame(absl::string_view kind, const std::string& id) {
  return {{"apiVersion", "muster/v1"}, {"kind", std::string(kind)}, {"metadata", {{"name", id}}}};
}

// `id`: IdOf the resource.
json Object(const lifecycle::v1::NodePool& pool, const std::string& id);
json Object(const lifecycle::v1::Node& node, const std::string& id);
json Object(const lifecycle::v1::Event& event, const std::string& id);
json Object(const lifecycle::v1::Cluster& cluster, const std::string& id);

}  // namespace muster::musterctl
