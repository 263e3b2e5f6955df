#include <yaml-cpp/yaml.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "services/musterctl/manifest/document.h"
#include "services/musterctl/print/objects.h"

namespace muster::musterctl {
namespace {

using nlohmann::json;

void Emit(YAML::Emitter& out, const json& value) {
  switch (value.type()) {
    case json::value_t::object:
      if (value.empty()) out << YAML::Flow;
      out << YAML::BeginMap;
      for (const auto& [key, member] : value.items()) {
        out << YAML::Key;
        Emit(out, key);
        out << YAML::Value;
        Emit(out, member);
      }
      out << YAML::EndMap;
      return;
    case json::value_t::array:
      if (value.empty()) out << YAML::Flow;
      out << YAML::BeginSeq;
      for (const json& item : value) Emit(out, item);
      out << YAML::EndSeq;
      return;
    case json::value_t::string: {
      const std::string& text = value.get_ref<const std::string&>();
      if (ReadsAsString(text)) {
        out << text;
      } else {
        out << YAML::DoubleQuoted << text;
      }
      return;
    }
    case json::value_t::boolean:
    case json::value_t::number_integer:
    case json::value_t::number_unsigned:
    case json::value_t::number_float:
    case json::value_t::null:
    case json::value_t::binary:
    case json::value_t::discarded:
      out << value.dump();
      return;
  }
}

}  // namespace

json ToList(const std::vector<json>& objects) {
  return {{"apiVersion", "v1"}, {"kind", "List"}, {"items", objects}};
}

std::string ToYaml(const json& value) {
  YAML::Emitter out;
  out.SetSeqFormat(YAML::Block);
  Emit(out, value);
  return absl::StrCat(out.c_str(), "\n");
}

}  // namespace muster::musterctl
