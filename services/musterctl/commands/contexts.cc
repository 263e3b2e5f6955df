#include "services/musterctl/commands/contexts.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/common/status_macros.h"

namespace muster::musterctl {
namespace {

// The context key of an environment variable that stands for a flag of any command; empty: it has
// none.
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

std::set<std::string> KeysOf(const client::Context& context) {
  std::set<std::string> keys;
  for (const auto& [key, value] : context.values) keys.insert(key);
  return keys;
}

// The keys of the global flags that the environment sets.
std::set<std::string> KeysOf(const Environment& environment) {
  std::set<std::string> keys;
  for (const Flag& flag : GlobalFlags()) {
    if (environment && !environment(flag.variable).value_or("").empty())
      keys.insert(KeyOfVariable(flag.variable));
  }
  return keys;
}

// Merges `context` into `environment`. The context takes precedence for `keys_before`, the
// environment for all other keys.
Environment Within(client::Context context, const Environment& environment,
                   const std::set<std::string>& keys_before) {
  std::set<std::string> unasked;  // keys for which the environment is ignored
  const std::set<std::string> by_context = KeysOf(context);
  const std::set<std::string> by_environment = KeysOf(environment);
  for (const client::ContextKey& key : client::kContextKeys) {
    if (!keys_before.contains(key.key)) {
      if (IsReplaced(key.key, by_environment)) context.values.erase(key.key);
    } else if (by_context.contains(key.key) || IsReplaced(key.key, by_context)) {
      unasked.insert(key.key);
    }
  }
  return [values = std::move(context.values), environment,
          unasked](const std::string& variable) -> std::optional<std::string> {
    const std::string key = KeyOfVariable(variable);
    std::optional<std::string> said =
        environment && !unasked.contains(key) ? environment(variable) : std::nullopt;
    if (said && !said->empty()) return said;
    const auto value = values.find(key);
    return value == values.end() ? said : value->second;
  };
}

// With several contexts each must name a server of its own.
absl::Status CheckServers(const CommandLine& line,
                          const std::vector<const client::Context*>& contexts) {
  if (line.given.contains("server"))
    return absl::InvalidArgumentError("--server: of several contexts each names its own");
  std::map<std::string, std::string> by_server;  // context names
  for (const client::Context* context : contexts) {
    const std::string server = context->Get("server");
    if (server.empty())
      return absl::InvalidArgumentError(
          absl::StrCat("context \"", context->name, "\" names no server; one of several must"));
    const auto [at, is_new] = by_server.emplace(server, context->name);
    if (!is_new)
      return absl::InvalidArgumentError(absl::StrCat("contexts \"", at->second, "\" and \"",
                                                     context->name, "\" are both ", server));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> SplitContexts(absl::string_view names) {
  if (names.empty()) return {};
  return absl::StrSplit(names, ',');
}

bool IsReplaced(absl::string_view key, const std::set<std::string>& said) {
  if (key == "tokenFile") return said.contains("clientCertificate") || said.contains("clientKey");
  return (key == "clientCertificate" || key == "clientKey") && said.contains("tokenFile");
}

std::set<std::string> VariablesBefore(const client::Contexts& contexts, absl::string_view names,
                                      const Environment& environment) {
  std::set<std::string> keys;
  for (const std::string& name : SplitContexts(names)) keys.merge(KeysOf(*contexts.Find(name)));
  if (absl::StrContains(names, ",")) keys.erase("server");
  std::set<std::string> before;
  const auto add = [&](absl::Span<const Flag> flags) {
    for (const Flag& flag : flags) {
      const std::string said =
          environment && !flag.variable.empty() ? environment(flag.variable).value_or("") : "";
      const std::string key = KeyOfVariable(flag.variable);
      const bool is_key = absl::c_any_of(
          keys, [&](const std::string& each) { return each == key || IsReplaced(each, {key}); });
      if (!said.empty() && (is_key || (flag.name == "context" && said != names)))
        before.insert(flag.variable);
    }
  };
  add(GlobalFlags());
  for (const Command& command : Commands()) add(command.flags);
  return before;
}

absl::StatusOr<std::vector<InContext>> WithContexts(const CommandLine& line,
                                                    const Environment& environment) {
  const std::string path = client::ConfigPath(environment);
  ASSIGN_OR_RETURN(const client::Contexts contexts, client::ReadContexts(path));
  std::vector<const client::Context*> named;
  for (const std::string& name :
       SplitContexts(line.Has("context") ? line.Get("context") : contexts.current)) {
    const client::Context* found = contexts.Find(name);
    if (found == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no context \"", name, "\" in ", path.empty() ? "any file" : path,
                       "; musterctl config get-contexts shows those that there are"));
    }
    named.push_back(found);
  }
  if (named.empty()) return std::vector<InContext>{{"", environment}};
  std::set<std::string> keys_before;  // for which contexts take precedence over the environment
  if (named.size() > 1) {
    RETURN_IF_ERROR(CheckServers(line, named));
    keys_before.insert("server");
  }
  if (line.given.contains("context")) {
    for (const client::ContextKey& key : client::kContextKeys) keys_before.insert(key.key);
  }
  std::vector<InContext> all;
  for (const client::Context* context : named)
    all.push_back({context->name, Within(*context, environment, keys_before)});
  return all;
}

}  // namespace muster::musterctl
