#include "services/musterctl/commands/args.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "services/common/status_macros.h"
#include "services/musterctl/commands/references.h"

namespace muster::musterctl {
namespace {

constexpr absl::string_view kHelp = "help";

absl::Status Wrong(absl::string_view text) { return absl::InvalidArgumentError(text); }

const Flag* FindFlag(const Command* command, const std::function<bool(const Flag&)>& fits) {
  for (const Flag& flag : GlobalFlags()) {
    if (fits(flag)) return &flag;
  }
  if (command != nullptr) {
    for (const Flag& flag : command->flags) {
      if (fits(flag)) return &flag;
    }
  }
  return nullptr;
}

// The command is the first word that is neither a flag nor a global flag's value.
std::string FindCommandWord(absl::Span<const std::string> args) {
  for (size_t i = 0; i < args.size(); ++i) {
    absl::string_view word = args[i];
    if (!absl::StartsWith(word, "-") || word == "-") return args[i];
    const Flag* flag = FindFlag(nullptr, [&](const Flag& f) {
      return word == absl::StrCat("--", f.name) ||
             (f.letter != 0 && word == absl::StrCat("-", std::string(1, f.letter)));
    });
    if (flag != nullptr && !flag->value.empty()) ++i;
  }
  return "";
}

std::vector<std::string> CommandNames() {
  std::vector<std::string> names;
  for (const Command& command : Commands()) {
    if (!command.is_hidden) names.push_back(command.name);
  }
  return names;
}

std::vector<std::string> FlagNames(const Command* command) {
  std::vector<std::string> names = {"--help"};
  for (const Flag& flag : GlobalFlags()) names.push_back("--" + flag.name);
  if (command == nullptr) return names;
  for (const Flag& flag : command->flags) names.push_back("--" + flag.name);
  return names;
}

absl::Status UnknownCommand(const std::string& word) {
  return Wrong(absl::StrCat("unknown command \"", word, "\"", DidYouMean(word, CommandNames()),
                            "; see musterctl --help"));
}

absl::Status UnknownFlag(absl::string_view word, const Command* command) {
  const absl::string_view said = word.substr(0, word.find('='));
  return Wrong(absl::StrCat(
      "unknown flag ", word, command == nullptr ? "" : absl::StrCat(" for ", command->name),
      absl::StartsWith(word, "--") ? DidYouMean(said, FlagNames(command)) : "", "; see musterctl ",
      command == nullptr ? "" : absl::StrCat(command->name, " "), "--help"));
}

bool IsWord(const Flag& flag, const std::string& value) {
  return value == "true" || value == "false" || (!flag.words.empty() && value == "none") ||
         std::find(flag.words.begin(), flag.words.end(), value) != flag.words.end();
}

// What a switch comes to.
std::string SwitchValue(const Flag& flag, const std::string& said) {
  if (said == "false" || said == "none") return "";
  return said == "true" && !flag.words.empty() ? flag.words.front() : said;
}

// `-Rf x` is `-R -f x`: a switch's letter before others.
std::vector<std::string> SplitLetters(absl::Span<const std::string> args, const Command* command) {
  std::vector<std::string> split;
  bool only_arguments = false;
  for (const std::string& given : args) {
    std::string word = given;
    only_arguments |= word == "--";
    while (!only_arguments && word.size() > 2 && word[0] == '-' && word[1] != '-' &&
           word[2] != '=') {
      const Flag* flag =
          FindFlag(command, [&](const Flag& f) { return f.letter != 0 && f.letter == word[1]; });
      if (flag == nullptr || !flag->value.empty()) break;
      split.push_back(word.substr(0, 2));
      word.erase(1, 1);
    }
    split.push_back(word);
  }
  return split;
}

struct Given {
  const Flag* flag = nullptr;
  std::optional<std::string> value = {};
};

// Takes `--name`, `--name=value`, `-n`, `-nvalue` apart.
absl::StatusOr<Given> ParseFlag(absl::string_view word, const Command* command) {
  Given given;
  if (absl::StartsWith(word, "--")) {
    absl::string_view name = word.substr(2);
    if (const size_t equals = name.find('='); equals != absl::string_view::npos) {
      given.value = std::string(name.substr(equals + 1));
      name = name.substr(0, equals);
    }
    given.flag = FindFlag(command, [&](const Flag& f) { return f.name == name; });
  } else {
    given.flag =
        FindFlag(command, [&](const Flag& f) { return f.letter != 0 && f.letter == word[1]; });
    if (word.size() > 2) given.value = std::string(absl::StripPrefix(word.substr(2), "="));
  }
  if (given.flag == nullptr) return UnknownFlag(word, command);
  if (given.flag->value.empty() && given.value && !IsWord(*given.flag, *given.value)) {
    const std::string words =
        given.flag->words.empty()
            ? "true or false"
            : absl::StrCat(absl::StrJoin(given.flag->words, ", "), " or none");
    return Wrong(
        absl::StrCat("--", given.flag->name, ": is ", words, ", not \"", *given.value, "\""));
  }
  return given;
}

// Puts the flag at words[i] into `line`; `i` is moved on to its value, where that is a word of its
// own.
absl::Status TakeFlag(absl::Span<const std::string> words, const Command* command, size_t& i,
                      CommandLine& line) {
  const std::string& word = words[i];
  ASSIGN_OR_RETURN(Given given, ParseFlag(word, command));
  if (!given.value && given.flag->value.empty()) given.value = "true";
  if (!given.value && i + 1 == words.size())
    return Wrong(absl::StrCat(word, ": needs a value: ", given.flag->value));
  if (!given.value) given.value = words[++i];
  if (given.flag->is_never_empty && given.value->empty())
    return Wrong(absl::StrCat("--", given.flag->name, ": is empty; must be ", given.flag->value,
                              ", or not given"));
  if (given.flag->value.empty()) given.value = SwitchValue(*given.flag, *given.value);
  std::vector<std::string>& values = line.flags[given.flag->name];
  if (!given.flag->repeated) values.clear();
  values.push_back(*std::move(given.value));
  return absl::OkStatus();
}

void FillStandards(absl::Span<const Flag> flags, const Environment& environment,
                   CommandLine& line) {
  for (const Flag& flag : flags) {
    if (line.flags.contains(flag.name)) continue;
    std::optional<std::string> value;
    if (!flag.variable.empty()) value = environment(flag.variable);
    if (!value || value->empty()) value = flag.standard;
    if (!value->empty()) line.flags[flag.name] = {*value};
  }
}

void AppendFlags(std::string& out, absl::string_view title, absl::Span<const Flag> flags) {
  if (flags.empty()) return;
  absl::StrAppend(&out, "\n", title, ":\n");
  for (const Flag& flag : flags) {
    std::string left = flag.letter == 0 ? "    " : absl::StrFormat("-%c, ", flag.letter);
    absl::StrAppend(&left, "--", flag.name, flag.value.empty() ? "" : "=", flag.value);
    if (!flag.words.empty()) absl::StrAppend(&left, "[=", absl::StrJoin(flag.words, "|"), "]");
    absl::StrAppendFormat(&out, "  %-28s %s", left, flag.meaning);
    if (!flag.standard.empty()) absl::StrAppend(&out, " Default: ", flag.standard, ".");
    if (!flag.variable.empty()) absl::StrAppend(&out, " Environment: ", flag.variable, ".");
    absl::StrAppend(&out, "\n");
  }
}

}  // namespace

std::string CommandLine::Get(absl::string_view flag) const {
  const auto it = flags.find(std::string(flag));
  return it == flags.end() || it->second.empty() ? "" : it->second.back();
}

const std::vector<Flag>& GlobalFlags() {
  static const auto& flags = *new std::vector<Flag>{
      {.name = "server",
       .value = "HOST:PORT",
       .meaning = "Where Muster's API is.",
       .standard = "127.0.0.1:7600",
       .variable = "MUSTER_SERVER"},
      {.name = "organization",
       .value = "ID",
       .meaning = "Organization of clusters, NodePools and quotas.",
       .standard = "acme",
       .variable = "MUSTER_ORGANIZATION"},
      {.name = "cluster",
       .letter = 'n',
       .value = "ID",
       .meaning = "Cluster of NodePools, Nodes and events.",
       .standard = "example",
       .variable = "MUSTER_CLUSTER"},
      {.name = "certificate-authority",
       .value = "FILE",
       .meaning = "Authorities in PEM whose certificate the server must show; with the next two, "
                  "calls are made by mutual TLS.",
       .variable = "MUSTER_CERTIFICATE_AUTHORITY"},
      {.name = "client-certificate",
       .value = "FILE",
       .meaning = "Your certificate in PEM, which says who calls.",
       .variable = "MUSTER_CLIENT_CERTIFICATE"},
      {.name = "client-key",
       .value = "FILE",
       .meaning = "Its private key in PEM, without a passphrase.",
       .variable = "MUSTER_CLIENT_KEY"},
      {.name = "token-file",
       .value = "FILE",
       .meaning = "Your bearer token, instead of a certificate; with --certificate-authority.",
       .variable = "MUSTER_TOKEN_FILE"},
      {.name = "context",
       .value = "NAME[,NAME]",
       .meaning = "What to call by: of those that musterctl config keeps; several are cells, read "
                  "as one. What flags say counts more. Default: the current one.",
       .variable = "MUSTER_CONTEXT",
       .is_never_empty = true},
      {.name = "reason",
       .value = "TEXT",
       .meaning = "Why, for the history of what is changed; up to 256 printable ASCII characters.",
       .variable = "MUSTER_REASON"},
      {.name = "timeout",
       .value = "DURATION",
       .meaning = "Deadline of each call, e.g. 30s. Default: 10s (wait: 5m in all)."},
  };
  return flags;
}

const Command* FindCommand(absl::string_view name) {
  for (const Command& command : Commands()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

absl::StatusOr<CommandLine> ParseArgs(absl::Span<const std::string> args,
                                      const Environment& environment) {
  CommandLine line;
  line.command = FindCommandWord(args);
  const bool asks_for_help = line.command == kHelp;
  if (asks_for_help) line.command.clear();
  const Command* command = FindCommand(line.command);
  if (!line.command.empty() && command == nullptr) return UnknownCommand(line.command);
  bool command_seen = false;
  bool only_arguments = false;
  const std::vector<std::string> words = SplitLetters(args, command);
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!only_arguments && word == "--") {
      only_arguments = true;
    } else if (!only_arguments && (word == "--help" || word == "-h")) {
      line.help = true;
    } else if (!only_arguments && word.size() > 1 && word[0] == '-') {
      RETURN_IF_ERROR(TakeFlag(words, command, i, line));
    } else if (!command_seen) {
      command_seen = true;
    } else {
      line.arguments.push_back(word);
    }
  }
  if (args.empty() || command == nullptr) {
    line.help = true;
    if (asks_for_help && !line.arguments.empty() && line.arguments[0] != kHelp)
      line.command = line.arguments[0];
    if (!line.command.empty() && FindCommand(line.command) == nullptr)
      return UnknownCommand(line.command);
    return line;
  }
  for (const auto& [name, values] : line.flags) line.given.insert(name);
  FillStandards(GlobalFlags(), environment, line);
  FillStandards(command->flags, environment, line);
  return line;
}

std::string Help(const Command* command) {
  std::string out;
  if (command == nullptr) {
    out = "musterctl talks to Muster's API.\n\nUsage: musterctl [flags] COMMAND ...\n\nCommands:\n";
    for (const Command& each : Commands()) {
      if (!each.is_hidden) absl::StrAppendFormat(&out, "  %-13s %s\n", each.name, each.summary);
    }
    AppendFlags(out, "Flags of every command", GlobalFlags());
    absl::StrAppend(&out,
                    "\nmusterctl COMMAND --help tells more. Exit code: 0 done, 1 refused or "
                    "failed, 2 wrong use.\n");
    return out;
  }
  absl::StrAppend(&out, command->summary, "\n\nUsage: musterctl ", command->usage, "\n");
  if (!command->details.empty()) absl::StrAppend(&out, "\n", command->details, "\n");
  if (!command->examples.empty()) {
    absl::StrAppend(&out, "\nExamples:\n");
    for (const absl::string_view example : absl::StrSplit(command->examples, '\n'))
      absl::StrAppend(&out, "  musterctl ", example, "\n");
  }
  AppendFlags(out, "Flags", command->flags);
  AppendFlags(out, "Flags of every command", GlobalFlags());
  return out;
}

bool ParseLength(absl::string_view text, absl::Duration& length) {
  const size_t end = text.find('d');
  if (end == absl::string_view::npos) return absl::ParseDuration(text, &length);
  uint32_t days = 0;
  if (!absl::SimpleAtoi(text.substr(0, end), &days)) return false;
  const absl::string_view rest = text.substr(end + 1);
  length = absl::ZeroDuration();
  const bool has_rest = !rest.empty();
  // A sign is of the whole.
  if (has_rest && (!absl::ascii_isdigit(rest[0]) || !absl::ParseDuration(rest, &length)))
    return false;
  length += days * absl::Hours(24);
  return true;
}

absl::StatusOr<absl::Duration> ParseTimeout(absl::string_view field, absl::string_view text) {
  absl::Duration duration;
  if (!ParseLength(text, duration) || duration <= absl::ZeroDuration()) {
    return Wrong(absl::StrCat(field, ": must be a duration above zero such as 30s or 5m, is \"",
                              text, "\""));
  }
  return duration;
}

absl::StatusOr<int64_t> ParseCount(absl::string_view field, absl::string_view text) {
  int64_t count = 0;
  if (!absl::SimpleAtoi(text, &count)) {
    return Wrong(absl::StrCat(field, ": must be an integer that fits 64 bits, is \"", text, "\""));
  }
  return count;
}

}  // namespace muster::musterctl
