#pragma once

#include <nlohmann/json.hpp>
#include <string>

// For the .cc files of this folder.
namespace muster::tokens {

// The string in that field of an object; empty: it has none there.
inline std::string StringIn(const nlohmann::json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace muster::tokens
