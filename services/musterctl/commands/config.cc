#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "services/common/status_macros.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/commands/contexts.h"
#include "services/musterctl/commands/output.h"

// Contexts: servers by name.
namespace muster::musterctl {
namespace {

std::string ValueOf(const client::Context& context, const char* key) {
  const auto found = context.values.find(key);
  return found == context.values.end() ? "<none>" : found->second;
}

// The file that shows who asks: of a certificate, or of a token.
std::string CredentialsOf(const client::Context& context) {
  return ValueOf(context, context.values.contains("tokenFile") ? "tokenFile" : "clientCertificate");
}

absl::Status NoContext(const std::string& name, const std::string& path) {
  return absl::NotFoundError(absl::StrCat("there is no context \"", name, "\" in ", path));
}

absl::Status Show(Session& session, const client::Contexts& contexts) {
  const std::vector<std::string> current = SplitContexts(contexts.current);
  std::vector<std::vector<std::string>> rows;
  for (const client::Context& context : contexts.all) {
    rows.push_back({absl::c_linear_search(current, context.name) ? "*" : "", context.name,
                    ValueOf(context, "server"), ValueOf(context, "organization"),
                    ValueOf(context, "cluster"), CredentialsOf(context)});
  }
  if (rows.empty()) {
    session.env.out << "No contexts. musterctl config set-context NAME --server=HOST:PORT makes "
                       "one.\n";
    return absl::OkStatus();
  }
  PrintTable({"CURRENT", "NAME", "SERVER", "ORGANIZATION", "CLUSTER", "CREDENTIALS"}, rows, false,
             session);
  return absl::OkStatus();
}

void SayUsed(Session& session, const client::Contexts& contexts) {
  const std::string& names = contexts.current;
  session.env.out << "context " << names << " is used from now on\n";
  for (const std::string& variable : VariablesBefore(contexts, names, session.env.environment)) {
    session.env.err << "note: " << variable
                    << " is set, and counts more than it; --context=" << names
                    << " counts more than both\n";
  }
}

absl::Status SetContext(Session& session, const std::string& path, client::Contexts contexts,
                        const std::string& name) {
  if (SplitContexts(name) != std::vector<std::string>{name})
    return WrongUse("config set-context: NAME is a word without a comma, which is between names");
  std::set<std::string> said;  // keys that get a value
  for (const client::ContextKey& key : client::kContextKeys) {
    if (session.line.given.contains(key.flag) && session.line.Has(key.flag)) said.insert(key.key);
  }
  if (said.contains("tokenFile") && IsReplaced("tokenFile", said))
    return WrongUse("config set-context: either --token-file or a certificate and its key");
  client::Context* context = contexts.Find(name);
  if (context == nullptr) context = &contexts.all.emplace_back(client::Context{.name = name});
  std::erase_if(context->values, [&](const auto& value) { return IsReplaced(value.first, said); });
  for (const client::ContextKey& key : client::kContextKeys) {
    if (!session.line.given.contains(key.flag)) continue;
    std::string value = session.line.Get(key.flag);
    if (value.empty()) {
      context->values.erase(key.key);
      continue;
    }
    // Relative to the current directory; kept as an absolute path, because it is used from
    // anywhere.
    if (key.is_file) value = std::filesystem::absolute(value).string();
    context->values[key.key] = value;
  }
  const bool becomes_current = contexts.current.empty();
  if (becomes_current) contexts.current = name;
  RETURN_IF_ERROR(client::WriteContexts(path, contexts));
  session.env.out << "context " << name << " is set in " << path << "\n";
  if (becomes_current) SayUsed(session, contexts);
  return absl::OkStatus();
}

absl::Status UseContext(Session& session, const std::string& path, client::Contexts contexts,
                        const std::string& names) {
  if (names.empty()) return NoContext(names, path);
  for (const std::string& name : SplitContexts(names)) {
    if (contexts.Find(name) == nullptr) return NoContext(name, path);
  }
  contexts.current = names;
  RETURN_IF_ERROR(client::WriteContexts(path, contexts));
  SayUsed(session, contexts);
  return absl::OkStatus();
}

absl::Status DeleteContext(Session& session, const std::string& path, client::Contexts contexts,
                           const std::string& name) {
  if (std::erase_if(contexts.all, [&](const client::Context& each) { return each.name == name; }) ==
      0)
    return NoContext(name, path);
  const std::string current = contexts.current;
  const bool was_current = absl::c_linear_search(SplitContexts(current), name);
  if (was_current) contexts.current.clear();
  RETURN_IF_ERROR(client::WriteContexts(path, contexts));
  session.env.out << "context " << name << " is deleted\n";
  if (was_current) {
    session.env.err << "note: it was " << (current == name ? "the current one" : "one of several")
                    << "; without a context " << session.line.Get("server")
                    << " is called, see musterctl config use-context\n";
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Config(Session& session) {
  const std::vector<std::string>& words = session.line.arguments;
  const std::string path = client::ConfigPath(session.env.environment);
  std::optional<client::ContextsLock> lock;
  if (words.size() == 2) lock.emplace(path);  // for a change
  ASSIGN_OR_RETURN(client::Contexts contexts, client::ReadContexts(path));
  if (words == std::vector<std::string>{"get-contexts"}) return Show(session, contexts);
  if (words.size() == 2 && words[0] == "set-context")
    return SetContext(session, path, std::move(contexts), words[1]);
  if (words.size() == 2 && words[0] == "use-context")
    return UseContext(session, path, std::move(contexts), words[1]);
  if (words.size() == 2 && words[0] == "delete-context")
    return DeleteContext(session, path, std::move(contexts), words[1]);
  return WrongUse(
      "config: say get-contexts, set-context NAME, use-context NAME[,NAME] or delete-context NAME");
}

}  // namespace muster::musterctl
