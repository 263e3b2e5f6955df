#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/commands/contexts.h"
#include "services/musterctl/commands/editing.h"
#include "services/musterctl/commands/references.h"
#include "services/musterctl/schema/schema.h"

// Completion for shells. The scripts call `musterctl __complete -- WORDS...`; the last word is the
// one that is being typed.
namespace muster::musterctl {
namespace {

constexpr char kBash[] = R"(# bash completion of musterctl: source <(musterctl completion bash)
_musterctl() {
  local line word
  line="${COMP_LINE:0:COMP_POINT}"
  local words=()
  read -r -a words <<<"$line"
  case "$line" in *" ") words+=("") ;; esac
  COMPREPLY=()
  # Of a word such as --flag=VALUE readline takes what is behind the sign alone: $2.
  local last="${words[${#words[@]}-1]}"
  local said="${last%"$2"}"
  while IFS= read -r word; do COMPREPLY+=("${word#"$said"}"); done \
    < <("${words[0]}" __complete -- "${words[@]:1}" 2>/dev/null)
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[/=] ]] && compopt -o nospace
}
complete -o default -F _musterctl musterctl
)";

constexpr char kZsh[] = R"(#compdef musterctl
# zsh completion of musterctl: source <(musterctl completion zsh)
_musterctl() {
  local -a found
  found=("${(@f)$(musterctl __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=("${(@)found:#}")
  (( ${#found} )) && compadd -Q -- "${found[@]}" || _files
}
# As a file in fpath it is the function itself, and this its first call.
if [[ "${funcstack[1]}" == _musterctl ]]; then _musterctl; else compdef _musterctl musterctl; fi
)";

constexpr char kFish[] = R"(# fish completion of musterctl: musterctl completion fish | source
function __musterctl_complete
  set -l words (commandline -opc)
  musterctl __complete -- $words[2..-1] (commandline -ct) 2>/dev/null
end
complete -c musterctl -f -a '(__musterctl_complete)'
)";

using Words = std::vector<std::string>;

// Names that are offered at most, and pages of a list that are looked through for them.
constexpr size_t kMostNames = 1000;
constexpr int kMostPages = 20;

const Flag* FlagOf(const Command* command, const std::string& word) {
  const auto fits = [&](const Flag& flag) {
    return word == "--" + flag.name || (flag.letter != 0 && word == std::string("-") + flag.letter);
  };
  for (const Flag& flag : GlobalFlags()) {
    if (fits(flag)) return &flag;
  }
  if (command == nullptr) return nullptr;
  for (const Flag& flag : command->flags) {
    if (fits(flag)) return &flag;
  }
  return nullptr;
}

class Completer {
 public:
  explicit Completer(Session& session) : session_(session) {}

  Words Complete(const Words& words) {
    const std::string last = words.empty() ? "" : words.back();
    std::string command_word;
    Words arguments;
    const Flag* open = nullptr;  // a flag whose value is being said
    for (size_t i = 0; i + 1 < words.size(); ++i) {
      if (std::exchange(open, nullptr) != nullptr) continue;
      const Command* command = FindCommand(command_word);
      if (absl::StartsWith(words[i], "-")) {
        const Flag* flag = FlagOf(command, words[i]);
        if (flag != nullptr && !flag->value.empty()) open = flag;
      } else if (command_word.empty()) {
        command_word = words[i];
      } else {
        arguments.push_back(words[i]);
      }
    }
    const Command* command = FindCommand(command_word);
    if (open != nullptr) return ValuesOf(*open, last);
    if (absl::StartsWith(last, "-")) return FlagWords(command, last);
    if (command == nullptr) return command_word.empty() ? CommandWords() : Words();
    return ArgumentsOf(*command, arguments, last);
  }

 private:
  static Words CommandWords() {
    Words words;
    for (const Command& command : Commands()) {
      if (!command.is_hidden) words.push_back(command.name);
    }
    return words;
  }
  // Flags, or behind `--flag=` its values.
  Words FlagWords(const Command* command, const std::string& last) {
    if (const size_t equals = last.find('='); equals != std::string::npos) {
      const Flag* flag = FlagOf(command, last.substr(0, equals));
      if (flag == nullptr) return {};
      Words values = ValuesOf(*flag, last.substr(equals + 1));
      for (std::string& value : values) value = absl::StrCat(last.substr(0, equals + 1), value);
      return values;
    }
    Words words = {"--help"};
    const auto add = [&](const std::vector<Flag>& flags) {
      for (const Flag& flag : flags) words.push_back(absl::StrCat("--", flag.name));
    };
    if (command != nullptr) add(command->flags);
    add(GlobalFlags());
    return words;
  }

  Words ValuesOf(const Flag& flag, const std::string& typed) {
    if (!flag.words.empty()) {
      Words words = flag.words;
      words.emplace_back("none");
      return words;
    }
    if (!flag.offered.empty()) return flag.offered;
    if (flag.name == "state") return {"free", "held", "reclaiming", "in_repair", "retired"};
    if (flag.name == "types") return {"Normal", "Warning"};
    if (flag.name == "context") return ContextNames();
    constexpr std::pair<absl::string_view, Kind> kKinds[] = {
        {"nodepool", Kind::kNodePool}, {"cluster", Kind::kCluster},
        {"zone", Kind::kZone},         {"instance-type", Kind::kInstanceType},
        {"machine", Kind::kNode},      {"remove", Kind::kNode},
        {"claim", Kind::kClaim}};
    for (const auto& [name, kind] : kKinds) {
      if (flag.name == name) return NamesOf(kind, typed);
    }
    if (flag.name == "for" && flag.value == "KIND/NAME")
      return WithKind("nodepool", Kind::kNodePool, typed);
    if (flag.name == "for" && flag.value == "WHAT")
      return {"healthy", "deleted", "delete", "create", "condition=", "jsonpath="};
    return {};
  }

  // What is left of an argument list, by the command's usage.
  Words ArgumentsOf(const Command& command, Words arguments, const std::string& last) {
    Words verbs = VerbsOf(command.name);
    if (!verbs.empty() && arguments.empty()) return verbs;
    if (!verbs.empty()) arguments.erase(arguments.begin());
    if (command.name == "config") return arguments.empty() ? ContextNames() : Words();
    if (command.name == "find") return Placements(last);
    if (command.name == "auth" || command.name == "debug" || command.name == "completion" ||
        command.name == "version" || command.name == "api-resources" || command.name == "apply" ||
        command.name == "events" || command.name == "top")
      return {};
    if (command.name == "explain" && absl::StrContains(last, ".") && arguments.empty())
      return FieldPaths(last);
    if (const size_t slash = last.find('/'); slash != std::string::npos) {
      const std::string kind = last.substr(0, slash);
      if (const auto known = ParseKind(kind)) return WithKind(kind, *known, last);
    }
    if (arguments.empty()) return KindsOf(command.name, last);
    const auto kind = ParseKind(arguments[0]);
    Words words = kind ? NamesOf(*kind, last) : Words();
    if (command.name == "set-state" && (!kind || arguments.size() > 1)) AddStates(arguments, words);
    return words;
  }

  // For set-state: the states that may follow the machines, unless one is there already.
  static void AddStates(const Words& arguments, Words& words) {
    static const Words kStates = {"free", "in-repair", "retired"};
    if (std::find(kStates.begin(), kStates.end(), arguments.back()) != kStates.end())
      words.clear();
    else
      words.insert(words.end(), kStates.begin(), kStates.end());
  }

  static Words VerbsOf(const std::string& command) {
    if (command == "rollout") return {"status", "history", "undo", "pause", "resume"};
    if (command == "completion") return {"bash", "zsh", "fish"};
    if (command == "auth") return {"whoami", "can-i"};
    if (command == "debug") return {"compare", "audit", "log-level"};
    if (command == "enable") return {"revision"};
    if (command == "find") return {"placements"};
    if (command == "allow") return {"removals"};
    if (command == "config")
      return {"get-contexts", "use-context", "set-context", "delete-context"};
    return {};
  }

  // The kinds that the command takes; for commands that take few kinds, the names of their
  // resources.
  Words KindsOf(const std::string& command, const std::string& last) {
    static const std::set<std::string> kAllKinds = {"get",  "describe", "history",
                                                    "diff", "wait",     "explain"};
    if (kAllKinds.contains(command)) {
      Words words;
      for (const Kind kind : AllKinds()) words.emplace_back(KindPlural(kind));
      return words;
    }
    static const std::set<std::string> kOfNodes = {"protect", "unprotect", "reserve", "unreserve",
                                                   "cordon",  "uncordon",  "drain",   "reboot"};
    if (kOfNodes.contains(command)) return WithKind("node", Kind::kNode, last);
    if (command == "set-state") return WithKind("machine", Kind::kMachine, last);
    if (command == "bind") return WithKind("cluster", Kind::kCluster, last);
    if (command == "allow") return NamesOf(Kind::kCluster, last);
    if (command == "check") return WithKind("quota", Kind::kQuota, last);
    if (command == "publish" || command == "withdraw")
      return WithKind("release", Kind::kRelease, last);
    Words words = WithKind("nodepool", Kind::kNodePool, last);
    for (const Kind kind : KindsTaken(command)) words.emplace_back(KindWord(kind));
    return words;
  }

  // Of commands that take more than NodePools, and not all.
  static absl::Span<const Kind> KindsTaken(const std::string& command) {
    if (command == "delete") return DeletedKinds();
    if (command == "edit" || command == "patch") return WrittenKinds();
    return {};
  }

  // The names that begin with what was typed, as `get -o name` prints them.
  Words NamesOf(Kind kind, const std::string& typed) {
    Words names;
    int pages = 0;
    const auto receive = [&](const std::vector<Item>& items) {
      for (const Item& item : items) {
        const std::string label = Label(item, session_.scope);
        std::string name = label.substr(label.find('/') + 1);
        if (absl::StartsWith(name, typed)) names.push_back(std::move(name));
      }
      return names.size() < kMostNames && ++pages < kMostPages;
    };
    // Errors are ignored: there is nothing to offer then.
    session_.api.ListPages(kind, {.begin = typed}, receive).IgnoreError();
    return names;
  }
  // `word/NAME`.
  Words WithKind(const std::string& word, Kind kind, const std::string& typed) {
    const std::string before = absl::StrCat(word, "/");
    if (!absl::StartsWith(typed, before) && !absl::StartsWith(before, typed)) return {};
    Words words = NamesOf(kind, typed.substr(std::min(before.size(), typed.size())));
    for (std::string& name : words) name = absl::StrCat(before, name);
    return words;
  }

  // `TYPE=`, of which the number of Nodes is the caller's.
  Words Placements(const std::string& typed) {
    Words words = NamesOf(Kind::kInstanceType, typed);
    for (std::string& word : words) absl::StrAppend(&word, "=");
    return words;
  }

  // `nodepool.spec.` with each field that may follow.
  static Words FieldPaths(const std::string& last) {
    Words path = absl::StrSplit(last, '.');
    path.pop_back();
    const auto kind = ParseKind(path[0]);
    if (!kind) return {};
    const std::string before = last.substr(0, last.rfind('.') + 1);
    Words words;
    for (const std::string& field : FieldsAt(*kind, {path.begin() + 1, path.end()}))
      words.push_back(before + field);
    return words;
  }

  Words ContextNames() {
    const auto contexts = client::ReadContexts(client::ConfigPath(session_.env.environment));
    Words names;
    if (contexts.ok()) {
      for (const client::Context& context : contexts->all) names.push_back(context.name);
    }
    return names;
  }

  Session& session_;
};

}  // namespace

absl::Status CompleteWords(Session& session) {
  const Words& words = session.line.arguments;
  const std::string last = words.empty() ? "" : words.back();
  Words found = Completer(session).Complete(words);
  std::sort(found.begin(), found.end());
  for (const std::string& word : found) {
    if (absl::StartsWith(word, last)) session.env.out << word << "\n";
  }
  return absl::OkStatus();
}

absl::Status Completion(Session& session) {
  const Words& words = session.line.arguments;
  const std::string shell = words.size() == 1 ? words[0] : "";
  const char* script = shell == "bash"   ? kBash
                       : shell == "zsh"  ? kZsh
                       : shell == "fish" ? kFish
                                         : nullptr;
  if (script == nullptr) return WrongUse("completion: say bash, zsh or fish");
  session.env.out << script;
  return absl::OkStatus();
}

}  // namespace muster::musterctl
