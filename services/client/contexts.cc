#include "services/client/contexts.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/read_file.h"
#include "services/common/replace_file.h"
#include "services/common/status_macros.h"
#include "services/common/text_fault.h"

namespace muster::client {
namespace {

constexpr char kName[] = "name";

absl::Status Wrong(int line, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", what));
}

absl::Status Wrong(const YAML::Mark& at, absl::string_view what) {
  return Wrong(at.line + 1, what);
}

bool IsKnown(const std::string& key) {
  return key == kName || std::any_of(std::begin(kContextKeys), std::end(kContextKeys),
                                     [&](const ContextKey& known) { return known.key == key; });
}

std::string AllowedKeys() {
  return absl::StrCat(
      kName, ", ", absl::StrJoin(kContextKeys, ", ", [](std::string* out, const ContextKey& key) {
        absl::StrAppend(out, key.key);
      }));
}

absl::StatusOr<Context> ReadContext(const YAML::Node& node) {
  if (!node.IsMap()) return Wrong(node.Mark(), "a context is a map");
  std::map<std::string, std::string> values;
  for (const auto& entry : node) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (!IsKnown(key)) {
      return Wrong(entry.first.Mark(),
                   absl::StrCat("unknown \"", key, "\"; allowed are ", AllowedKeys()));
    }
    if (!entry.second.IsScalar() || entry.second.Scalar().empty())
      return Wrong(entry.first.Mark(), absl::StrCat("\"", key, "\" is a word"));
    if (!values.emplace(key, entry.second.Scalar()).second)
      return Wrong(entry.first.Mark(), absl::StrCat("\"", key, "\" is there twice"));
  }
  auto name = values.extract(kName);
  if (name.empty()) return Wrong(node.Mark(), "a context needs a name");
  return Context{std::move(name.mapped()), std::move(values)};
}

// A relative path of a file is relative to the folder of the configuration.
void Resolve(const std::string& path, Context& context) {
  for (const ContextKey& key : kContextKeys) {
    const auto found = context.values.find(key.key);
    if (!key.is_file || found == context.values.end()) continue;
    const std::filesystem::path file = found->second;
    if (file.is_relative())
      found->second = (std::filesystem::absolute(path).parent_path() / file).string();
  }
}

absl::StatusOr<std::vector<Context>> ReadList(const std::string& path, const YAML::Node& list) {
  Contexts read;
  for (const YAML::Node& node : list) {
    ASSIGN_OR_RETURN(Context context, ReadContext(node));
    if (read.Find(context.name) != nullptr)
      return Wrong(node.Mark(), absl::StrCat("\"", context.name, "\" is there twice"));
    Resolve(path, context);
    read.all.push_back(std::move(context));
  }
  return std::move(read.all);
}

absl::StatusOr<Contexts> ReadRoot(const std::string& path, const YAML::Node& root) {
  Contexts contexts;
  if (!root.IsMap()) return Wrong(root.Mark(), "it is one map with currentContext and contexts");
  for (const auto& entry : root) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (key == "currentContext" && entry.second.IsScalar()) {
      contexts.current = entry.second.Scalar();
    } else if (key == "contexts" && entry.second.IsSequence()) {
      ASSIGN_OR_RETURN(contexts.all, ReadList(path, entry.second));
    } else {
      return Wrong(entry.first.Mark(), "it has currentContext, and contexts, a list");
    }
  }
  return contexts;
}

absl::StatusOr<Contexts> ReadText(const std::string& path, const std::string& text) {
  if (const auto fault = FindTextFault(text)) return Wrong(fault->line, fault->what);
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.empty() || documents[0].IsNull()) return Contexts();
    if (documents.size() > 1) return Wrong(documents[1].Mark(), "it is one document");
    return ReadRoot(path, documents[0]);
  } catch (const YAML::Exception& error) {
    return Wrong(error.mark, error.msg);
  }
}

void MakeFolderOf(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
}

std::string Quoted(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) absl::StrAppend(&quoted, c == '\'' ? "''" : std::string(1, c));
  return absl::StrCat(quoted, "'");
}

std::string Yaml(const Contexts& contexts) {
  std::string text =
      "# Written by musterctl config. Files of secrets are named here, never what is in them.\n";
  if (!contexts.current.empty())
    absl::StrAppend(&text, "currentContext: ", Quoted(contexts.current), "\n");
  absl::StrAppend(&text, "contexts:", contexts.all.empty() ? " []\n" : "\n");
  for (const Context& context : contexts.all) {
    absl::StrAppend(&text, "- name: ", Quoted(context.name), "\n");
    for (const ContextKey& key : kContextKeys) {
      const auto found = context.values.find(key.key);
      if (found != context.values.end())
        absl::StrAppend(&text, "  ", key.key, ": ", Quoted(found->second), "\n");
    }
  }
  return text;
}

}  // namespace

std::string Context::Get(const std::string& key) const {
  const auto found = values.find(key);
  return found == values.end() ? "" : found->second;
}

const Context* Contexts::Find(absl::string_view name) const {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Context& context) { return context.name == name; });
  return found == all.end() ? nullptr : &*found;
}

Context* Contexts::Find(absl::string_view name) {
  return const_cast<Context*>(std::as_const(*this).Find(name));
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
  // Only of one that is known not to be there: where it may not be looked for, as in a folder that
  // may not be entered, another server would be called than the one that it names.
  std::error_code unknown;
  if (path.empty() || (!std::filesystem::exists(path, unknown) && !unknown)) return Contexts();
  if (unknown) return absl::InvalidArgumentError(absl::StrCat(path, ": ", unknown.message()));
  const std::optional<std::string> text = ReadFile(path);
  if (!text) return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be read"));
  absl::StatusOr<Contexts> contexts = ReadText(path, *text);
  if (!contexts.ok())
    return absl::InvalidArgumentError(absl::StrCat(path, ", ", contexts.status().message()));
  return contexts;
}

absl::Status WriteContexts(const std::string& path, const Contexts& contexts) {
  if (path.empty())
    return absl::UnavailableError("neither MUSTER_CONFIG nor HOME says where contexts are kept");
  MakeFolderOf(path);
  if (!ReplaceFile(path, Yaml(contexts), {.mode = 0600, .durable = true}))
    return absl::UnavailableError(absl::StrCat(path, ": cannot be written"));
  return absl::OkStatus();
}

ContextsLock::ContextsLock(const std::string& path) {
  if (path.empty()) return;
  struct stat there = {};
  if (stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) return;
  MakeFolderOf(path);
  file_ = open(absl::StrCat(path, ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  while (file_ >= 0 && flock(file_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

ContextsLock::~ContextsLock() {
  if (file_ >= 0) close(file_);
}

}  // namespace muster::client
