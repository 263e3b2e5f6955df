#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/client/credentials.h"
#include "services/common/error.h"
#include "services/common/kept_request.h"
#include "services/common/request_id.h"
#include "services/common/status_macros.h"
#include "services/common/trace_context.h"
#include "services/musterctl/client/cells.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/commands/contexts.h"
#include "services/musterctl/print/printable.h"

namespace muster::musterctl {
namespace {

constexpr char kSaidUrl[] = "musterctl/said-already";

constexpr absl::string_view kRequestId = "request-id";
constexpr absl::string_view kComplete = "__complete";
constexpr size_t kMaxReason = 256;

bool TakesRequestId(const Command& command, const CommandLine& line) {
  // These verbs only read.
  const std::string verb = line.arguments.empty() ? "" : line.arguments[0];
  if (line.command == "rollout" && (verb == "status" || verb == "history")) return false;
  for (const Flag& flag : command.flags) {
    if (flag.name == kRequestId) return !line.Has("dry-run");
  }
  return false;
}

// The caller's trace (OpenTelemetry's variable TRACEPARENT), or a new one that is marked as
// sampled, so that every server that records spans records it.
TraceContext TraceOf(const ProcessEnv& env) {
  if (env.environment) {
    const auto given = TraceContext::Parse(env.environment("TRACEPARENT").value_or(""));
    if (given) return *given;
  }
  TraceContext trace = TraceContext::New();
  trace.flags = TraceContext::kSampled;
  return trace;
}

// The command line as parsed with one of its contexts, which fills in the flags that it does not
// give.
struct LineOfContext {
  std::string context = {};  // empty: there is none
  CommandLine line = {};
};

// Flags of every command that a line says so far of which the last word is being typed. A flag
// whose value that word is does not count.
std::vector<std::string> GlobalFlagsOf(absl::Span<const std::string> words) {
  const auto no_environment = [](const std::string&) { return std::optional<std::string>(); };
  std::vector<std::string> said;
  for (size_t left = 1; left <= std::min<size_t>(2, words.size()); ++left) {
    const auto line = ParseArgs(words.first(words.size() - left), no_environment);
    if (!line.ok()) continue;
    const bool is_all_given = FindCommand(line->command) == nullptr;
    for (const Flag& flag : GlobalFlags()) {
      if (is_all_given ? line->Has(flag.name) : line->given.contains(flag.name))
        said.push_back(absl::StrCat("--", flag.name, "=", line->Get(flag.name)));
    }
    break;
  }
  return said;
}

// `args`; where a line is completed, with its flags in front: the names that are offered are those
// of its server, context, organization and cluster.
std::vector<std::string> WithCompletedFlags(absl::Span<const std::string> args) {
  std::vector<std::string> all(args.begin(), args.end());
  if (args.size() < 2 || args[0] != kComplete || args[1] != "--") return all;
  const std::vector<std::string> said = GlobalFlagsOf(args.subspan(2));
  all.insert(all.begin(), said.begin(), said.end());
  return all;
}

// The line as parsed for each of its contexts; at least one.
absl::StatusOr<std::vector<LineOfContext>> ReadLines(absl::Span<const std::string> given,
                                                     const Environment& environment) {
  const std::vector<std::string> args = WithCompletedFlags(given);
  ASSIGN_OR_RETURN(CommandLine line, ParseArgs(args, environment));
  const Command* command = FindCommand(line.command);
  if (line.help || command == nullptr || command->is_offline)
    return std::vector<LineOfContext>{{"", std::move(line)}};
  ASSIGN_OR_RETURN(const std::vector<InContext> contexts, WithContexts(line, environment));
  std::vector<LineOfContext> lines;
  for (const InContext& context : contexts) {
    ASSIGN_OR_RETURN(CommandLine read, ParseArgs(args, context.environment));
    lines.push_back({context.name, std::move(read)});
  }
  return lines;
}

// The credentials. A token given on the line replaces a certificate of environment or context, and
// the other way round.
client::CredentialFiles FilesOf(const CommandLine& line) {
  client::CredentialFiles files{.authority = line.Get("certificate-authority"),
                                .certificate = line.Get("client-certificate"),
                                .key = line.Get("client-key"),
                                .token = line.Get("token-file")};
  const bool says_token = line.given.contains("token-file");
  const bool says_certificate =
      line.given.contains("client-certificate") || line.given.contains("client-key");
  if (says_token && !says_certificate) files.certificate = files.key = "";
  if (says_certificate && !says_token) files.token = "";
  return files;
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> CredentialsOf(const CommandLine& line) {
  auto credentials = client::ReadCredentials(FilesOf(line));
  if (credentials.ok()) return credentials;
  return RenameFields(credentials.status(), [](const std::string& field) {
    for (const client::ContextKey& key : client::kContextKeys) {
      if (field == key.key) return absl::StrCat("--", key.flag);
    }
    return field;
  });
}

absl::StatusOr<std::string> ReadReason(const CommandLine& line) {
  const std::string reason = line.Get("reason");
  const bool printable = std::all_of(reason.begin(), reason.end(),
                                     [](unsigned char c) { return absl::ascii_isprint(c); });
  if (!printable || reason.size() > kMaxReason) {
    return WrongUse(
        absl::StrCat("--reason: at most ", kMaxReason, " printable ASCII characters, on one line"));
  }
  return reason;
}

// Whether the line is about NodePools, Nodes or events of the scope's cluster.
bool IsAboutCluster(const CommandLine& line) {
  // A whole name says where it is.
  const auto is_whole = [](const std::string& said) {
    return absl::StartsWith(said, "organizations/") || absl::StrContains(said, "/organizations/");
  };
  if (is_whole(line.Get("for")) || is_whole(line.Get("nodepool"))) return false;
  if (line.command == "events") return true;
  if (line.arguments.empty()) return false;
  const std::string& word = line.arguments[0];
  // Who deletes the cluster, too, has not said a wrong one.
  const auto is_cluster = [](const std::string& said) {
    return ParseKind(said.substr(0, said.find('/'))) == Kind::kCluster;
  };
  if (line.command == "delete" && absl::c_any_of(line.arguments, is_cluster)) return false;
  if (is_whole(word) || is_whole(line.arguments[line.arguments.size() > 1 ? 1 : 0])) return false;
  const auto kind = ParseKind(word.substr(0, word.find('/')));
  return kind && *kind <= Kind::kEvent;
}

// An empty one, as of a shell's variable that is not set, is nowhere.
absl::Status CheckNoneIsEmpty(const CommandLine& line, const ApiOptions& options) {
  const std::string* const places[] = {&options.server, &options.scope.organization,
                                       &options.scope.cluster};
  const std::string flags[] = {line.command == "debug" ? "operator-server" : "server",
                               "organization", "cluster"};
  for (size_t i = 0; i < std::size(flags); ++i) {
    if (places[i]->empty())
      return WrongUse(absl::StrCat("--", flags[i], ": is empty; say which, or leave it out"));
  }
  return absl::OkStatus();
}

// How the server of one line is called.
absl::StatusOr<ApiOptions> OptionsOf(const Command& command, const CommandLine& line,
                                     const std::string& request_id, const ProcessEnv& env) {
  ApiOptions options{
      .server = line.Get(line.command == "debug" ? "operator-server" : "server"),
      .scope = {.organization = line.Get("organization"), .cluster = line.Get("cluster")},
      .request_id = request_id,
      .sleep = env.sleep};
  // `wait` has waits of its own.
  if (line.Has("timeout") && line.command != "wait") {
    auto timeout = ParseTimeout("--timeout", line.Get("timeout"));
    if (!timeout.ok()) return WrongUse(timeout.status().message());
    // Commands that wait take --timeout for the whole wait; their calls keep the standard one.
    const bool is_status =
        line.command == "rollout" && !line.arguments.empty() && line.arguments[0] == "status";
    const bool waits = line.command == "delete" || is_status || line.Has("wait");
    if (!waits) options.timeout = *timeout;
  } else if (line.Has("settle")) {
    // The server waits so long before it answers.
    auto settle = ParseTimeout("--settle", line.Get("settle"));
    if (!settle.ok()) return WrongUse(settle.status().message());
    options.timeout += *settle;
  }
  if (line.Has("all-clusters")) {
    options.scope.cluster = "-";
    if (!line.given.contains("organization")) options.scope.organization = "-";
  }
  if (!command.is_offline) {
    RETURN_IF_ERROR(CheckNoneIsEmpty(line, options));
    ASSIGN_OR_RETURN(options.credentials, CredentialsOf(line));
  }
  ASSIGN_OR_RETURN(options.reason, ReadReason(line));
  return options;
}

// Where nobody said which server and none is at the standard address: how to say one. Empty: it is
// not so.
std::string NoteOnServer(const Command& command, const CommandLine& line,
                         const absl::Status& status) {
  // A server that answers says more than the code.
  const auto detail = error::DetailOf(status);
  if (!absl::IsUnavailable(status) || !detail || detail->reason != "UNAVAILABLE") return "";
  const bool of_operators = line.command == "debug";
  const std::vector<Flag>& flags = of_operators ? command.flags : GlobalFlags();
  const auto flag = absl::c_find_if(flags, [&](const Flag& each) {
    return each.name == (of_operators ? "operator-server" : "server");
  });
  if (flag == flags.end() || line.Get(flag->name) != flag->standard) return "";
  return absl::StrCat("note: --", flag->name, ", ", flag->variable,
                      " or a context (musterctl config set-context) says where Muster is; else it "
                      "is looked for at ",
                      flag->standard, "\n");
}

// The scope that all contexts share; `-` (all) where they differ.
Scope CommonScope(const std::vector<ApiOptions>& all) {
  Scope scope = all.front().scope;
  for (const ApiOptions& options : all) {
    if (options.scope.organization != scope.organization) scope.organization = "-";
    if (options.scope.cluster != scope.cluster) scope.cluster = "-";
  }
  return scope;
}

// Carries out a command whose servers are known.
absl::Status RunSession(const Command& command, Session& session) {
  absl::Status status = command.run(session);
  if (absl::IsNotFound(status) && IsAboutCluster(session.line)) {
    const absl::Status where = CheckCluster(session);
    if (!where.ok()) status = where;
  }
  if (!TakesRequestId(command, session.line) || !IsInDoubt(status)) return status;
  if (IsByNumber(session.line)) return status;  // it said so itself, by the profile
  if (IsChosen(session.line)) {
    session.env.err << "note: whether all was done is not known; the same line may be said again\n";
  } else {
    session.env.err << "note: whether it was done is not known; with --request-id="
                    << session.request_id << " the same again is done once\n";
  }
  return status;
}

absl::Status Execute(const Command& command, const std::vector<LineOfContext>& lines,
                     ProcessEnv& env) {
  const CommandLine& line = lines.front().line;
  const std::string request_id = line.Has(kRequestId) ? line.Get(kRequestId) : NewRequestId();
  if (request_id.size() > kMaxRequestIdBytes)
    return WrongUse(absl::StrCat("--request-id: at most ", kMaxRequestIdBytes, " characters"));
  if (line.Has(kRequestId) && IsChosen(line))
    return WrongUse(
        "--request-id: not with --all or -l, which may choose others the next time; the same line "
        "may be "
        "said again without it");
  if (line.Has(kRequestId) && IsByNumber(line))
    return WrongUse(
        "--request-id: not with a number of --to-revision, which is another profile's once that is "
        "done; say the profile");
  std::vector<ApiOptions> options;
  for (const LineOfContext& each : lines) {
    ASSIGN_OR_RETURN(options.emplace_back(), OptionsOf(command, each.line, request_id, env));
  }
  const CurrentTrace trace(TraceOf(env));
  std::vector<Cell> cells;
  for (size_t i = 0; i < lines.size(); ++i)
    cells.push_back({lines[i].context, env.connect(options[i])});
  CellsApi together(cells, [&](const absl::Status& error) {
    if (!command.is_hidden) env.err << RenderError(error);
  });
  const bool of_cells = cells.size() > 1;
  if (!of_cells) cells.front().name.clear();
  const Scope scope = CommonScope(options);
  Api& api = of_cells ? together : *cells.front().api;
  Session session{line, scope, api, env, options.front().timeout, of_cells, cells, request_id};
  const absl::Status status = RunSession(command, session);
  if (!status.ok() || !together.is_partial()) return status;
  if (command.is_comparison) return absl::UnavailableError("not all cells answered");
  return AlreadyPrinted();
}

}  // namespace

absl::Status AlreadyPrinted() {
  absl::Status status = absl::AbortedError("differs");
  status.SetPayload(kSaidUrl, absl::Cord());
  return status;
}

int Run(absl::Span<const std::string> args, ProcessEnv& shown) {
  PrintableBuffer out_buffer(shown.out);
  PrintableBuffer err_buffer(shown.err);
  std::ostream out(&out_buffer);
  std::ostream err(&err_buffer);
  ProcessEnv env{.in = shown.in,
                 .out = out,
                 .err = err,
                 .environment = shown.environment,
                 .connect = shown.connect,
                 .clock = shown.clock,
                 .steady = shown.steady,
                 .sleep = shown.sleep,
                 .terminal = shown.terminal,
                 .progress = shown.progress,
                 .execute = shown.execute,
                 .screen = &shown.out};
  const absl::StatusOr<std::vector<LineOfContext>> lines = ReadLines(args, env.environment);
  if (!lines.ok()) {
    env.err << RenderError(lines.status());
    return kWrongUse;
  }
  const CommandLine& line = lines->front().line;
  const Command* command = FindCommand(line.command);
  if (line.help) {
    env.out << Help(command);
    return args.empty() ? kWrongUse : kDone;
  }
  const absl::Status status = Execute(*command, *lines, env);
  env.out.flush();
  const int failed = command->is_comparison ? kWrongUse : kFailed;
  if (status.ok() && env.out.fail()) {
    env.err << RenderError(absl::DataLossError("the output could not be written"));
    return failed;
  }
  if (status.ok()) return kDone;
  if (status.GetPayload(kSaidUrl)) return env.out.fail() ? failed : kFailed;
  env.err << RenderError(status) << NoteOnServer(*command, line, status);
  return IsWrongUse(status) ? kWrongUse : failed;
}

}  // namespace muster::musterctl
