#include "services/musterctl/commands/contexts.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "services/common/status_macros.h"

namespace muster::musterctl {
namespace {

// The environment variable of a flag of any command.
std::string KeyOfVariable(const std::string& variable) {
  const auto key_of = [&](absl::Span<const Flag> flags) -> std::string {
    for (const Flag& flag : flags) {
      if (flag.variable != variable) continue;
      for (const client::ContextKey& key : client::kContextKeys) {
        if (flag.name == key.flag) return key.key;
      }
    }
    return "";
  };
  std::string key = key_of(GlobalFlags());
  for (const Command& command : Commands()) {
    if (key.empty()) key = key_of(command.flags);
  }
  return key;
}

}  // namespace

absl::StatusOr<Environment> WithContext(const CommandLine& line, const Environment& environment) {
  const std::string path = client::ConfigPath(environment);
  ASSIGN_OR_RETURN(const client::Contexts contexts, client::ReadContexts(path));
  const std::string name = line.Has("context") ? line.Get("context") : contexts.current;
  if (name.empty()) return environment;
  const client::Context* found = contexts.Find(name);
  if (found == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no context \"", name, "\" in ", path.empty() ? "any file" : path,
                     "; musterctl config get-contexts shows those that there are"));
  }
  const bool over_environment = line.given.contains("context");
  return Environment([values = found->values, environment,
                      over_environment](const std::string& variable) -> std::optional<std::string> {
    const auto value = values.find(KeyOfVariable(variable));
    std::optional<std::string> said = environment ? environment(variable) : std::nullopt;
    if (value == values.end()) return said;
    const bool is_said = said && !said->empty();
    return is_said && !over_environment ? said : value->second;
  });
}

}  // namespace muster::musterctl
