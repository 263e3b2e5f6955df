#include "services/musterctl/commands/contexts.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/read_file.h"
#include "services/common/status_macros.h"
#include "services/musterctl/manifest/document.h"

namespace muster::musterctl {
namespace {

constexpr char kName[] = "name";

absl::Status Wrong(const std::string& path, const Value& at, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(path, ", line ", at.line, ": ", what));
}

const ContextKey* FindKey(absl::string_view key) {
  const auto* found = std::find_if(std::begin(kContextKeys), std::end(kContextKeys),
                                   [&](const ContextKey& known) { return known.key == key; });
  return found == std::end(kContextKeys) ? nullptr : found;
}

std::string AllowedKeys() {
  return absl::StrCat(
      kName, ", ", absl::StrJoin(kContextKeys, ", ", [](std::string* out, const ContextKey& key) {
        absl::StrAppend(out, key.key);
      }));
}

absl::StatusOr<Context> ReadContext(const std::string& path, const Value& value) {
  Context context;
  if (value.type != Value::Type::kMap) return Wrong(path, value, "a context is a map");
  for (const auto& [key, text] : value.map) {
    if (key != kName && FindKey(key) == nullptr)
      return Wrong(path, text, absl::StrCat("unknown \"", key, "\"; allowed are ", AllowedKeys()));
    if (text.type == Value::Type::kMap || text.type == Value::Type::kList || text.text.empty())
      return Wrong(path, text, absl::StrCat("\"", key, "\" is a word"));
    (key == kName ? context.name : context.values[key]) = text.text;
  }
  if (context.name.empty()) return Wrong(path, value, "a context needs a name");
  return context;
}

// A file is meant from where the configuration is.
void Resolve(const std::string& path, Context& context) {
  for (const ContextKey& key : kContextKeys) {
    const auto found = context.values.find(key.key);
    if (!key.is_file || found == context.values.end()) continue;
    const std::filesystem::path file = found->second;
    if (file.is_relative())
      found->second = (std::filesystem::path(path).parent_path() / file).string();
  }
}

std::string Yaml(const Contexts& contexts) {
  std::string text =
      "# Written by musterctl config. Files of secrets are named here, never what is in them.\n";
  const auto scalar = [](const std::string& word) {
    std::string quoted = "'";
    for (const char c : word) absl::StrAppend(&quoted, c == '\'' ? "''" : std::string(1, c));
    return absl::StrCat(quoted, "'");
  };
  if (!contexts.current.empty())
    absl::StrAppend(&text, "currentContext: ", scalar(contexts.current), "\n");
  absl::StrAppend(&text, "contexts:", contexts.all.empty() ? " []\n" : "\n");
  for (const Context& context : contexts.all) {
    absl::StrAppend(&text, "- name: ", scalar(context.name), "\n");
    for (const ContextKey& key : kContextKeys) {
      const auto found = context.values.find(key.key);
      if (found != context.values.end())
        absl::StrAppend(&text, "  ", key.key, ": ", scalar(found->second), "\n");
    }
  }
  return text;
}

// The environment variable of a flag of any command.
std::string KeyOfVariable(const std::string& variable) {
  const auto key_of = [&](absl::Span<const Flag> flags) -> std::string {
    for (const Flag& flag : flags) {
      if (flag.variable != variable) continue;
      for (const ContextKey& key : kContextKeys) {
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

Context* Contexts::Find(absl::string_view name) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Context& context) { return context.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::string ConfigPath(const Environment& environment) {
  const auto get = [&](const char* name) {
    return environment ? environment(name).value_or("") : std::string();
  };
  if (std::string path = get("MUSTER_CONFIG"); !path.empty()) return path;
  if (const std::string home = get("XDG_CONFIG_HOME"); !home.empty())
    return absl::StrCat(home, "/muster/config.yaml");
  if (const std::string home = get("HOME"); !home.empty())
    return absl::StrCat(home, "/.config/muster/config.yaml");
  return "";
}

absl::StatusOr<Contexts> ReadContexts(const std::string& path) {
  Contexts contexts;
  std::error_code ignored;
  if (path.empty() || !std::filesystem::exists(path, ignored)) return contexts;
  const std::optional<std::string> text = ReadFile(path);
  if (!text) return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be read"));
  ASSIGN_OR_RETURN(const std::vector<Document> documents, ParseDocuments(path, *text));
  if (documents.empty()) return contexts;
  const Value& root = documents[0].value;
  if (root.type != Value::Type::kMap || documents.size() > 1)
    return Wrong(path, root, "it is one map with currentContext and contexts");
  for (const auto& [key, value] : root.map) {
    if (key == "currentContext") {
      contexts.current = value.text;
    } else if (key != "contexts" || value.type != Value::Type::kList) {
      return Wrong(path, value, "it has currentContext, and contexts, a list");
    }
  }
  if (const Value* list = root.Find("contexts"); list != nullptr) {
    for (const Value& value : list->list) {
      ASSIGN_OR_RETURN(Context context, ReadContext(path, value));
      if (contexts.Find(context.name) != nullptr)
        return Wrong(path, value, absl::StrCat("\"", context.name, "\" is there twice"));
      Resolve(path, context);
      contexts.all.push_back(std::move(context));
    }
  }
  return contexts;
}

absl::Status WriteContexts(const std::string& path, const Contexts& contexts) {
  if (path.empty())
    return absl::UnavailableError("neither MUSTER_CONFIG nor HOME says where contexts are kept");
  const std::string draft = absl::StrCat(path, ".new");
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  const mode_t before = umask(077);
  std::ofstream file(draft, std::ios::trunc);
  umask(before);
  file << Yaml(contexts);
  file.close();
  if (file.fail() || std::rename(draft.c_str(), path.c_str()) != 0)
    return absl::UnavailableError(absl::StrCat(path, ": cannot be written"));
  return absl::OkStatus();
}

absl::StatusOr<Environment> WithContext(const CommandLine& line, const Environment& environment) {
  const std::string path = ConfigPath(environment);
  ASSIGN_OR_RETURN(Contexts contexts, ReadContexts(path));
  const std::string name = line.Has("context") ? line.Get("context") : contexts.current;
  if (name.empty()) return environment;
  const Context* found = contexts.Find(name);
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
