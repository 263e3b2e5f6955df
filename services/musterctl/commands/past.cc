#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/common/status_macros.h"
#include "services/common/timestamp.h"
#include "services/history/field_changes.h"
#include "services/musterctl/client/cells.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/commands/flags.h"
#include "services/musterctl/commands/references.h"
#include "services/musterctl/print/printable.h"
#include "services/musterctl/print/words.h"

// What was, and who changed it: the commands and what they are called.
namespace muster::musterctl {
namespace {

using history::v1::Change;

constexpr int kMostChanges = 10'000;

absl::string_view TypeWord(Change::Type type) {
  switch (type) {
    case Change::TYPE_CREATED:
      return "created";
    case Change::TYPE_DELETED:
      return "deleted";
    default:
      return "updated";
  }
}

// E.g. `by local with ApplyNodePool, request 5f..., trace 4b...`.
std::string AuthorText(const history::v1::Author& author) {
  std::string text = absl::StrCat("by ", author.principal().empty() ? "?" : author.principal());
  const std::vector<absl::string_view> parts = absl::StrSplit(author.method(), '/');
  if (!author.method().empty()) absl::StrAppend(&text, " with ", parts.back());
  if (!author.request_id().empty()) absl::StrAppend(&text, ", request ", author.request_id());
  if (!author.trace_id().empty()) absl::StrAppend(&text, ", trace ", author.trace_id());
  return text;
}

// A value that others wrote, made printable: it must not look like a line of ours.
std::string ValueText(const std::string& value) {
  return value.empty() ? "(none)" : Printable(value);
}

std::string FieldText(const std::string& path, const std::string& before,
                      const std::string& after) {
  return absl::StrCat("  ", Printable(path), ": ", ValueText(before), " -> ", ValueText(after),
                      "\n");
}

// `cell`: in which it was made; empty: there is one server.
void Print(const Change& change, const std::string& cell, std::ostream& out) {
  out << FormatExactTime(change.change_time()) << " " << TypeWord(change.type()) << " "
      << AuthorText(change.author()) << " (revision " << change.revision()
      << (cell.empty() ? "" : absl::StrCat(" of ", cell)) << ")\n";
  if (!change.author().reason().empty()) out << "  reason: " << change.author().reason() << "\n";
  for (const Change::Field& field : change.fields())
    out << FieldText(field.path(), field.before(), field.after());
  if (!change.before_known() && change.type() != Change::TYPE_DELETED)
    out << "  what it was before is no longer known\n";
}

// Everything that is told of an item, without its wrapping.
const google::protobuf::Message& MessageOf(const Item& item) {
  return std::visit([](const auto& message) -> const google::protobuf::Message& { return message; },
                    item);
}

// Whose past is told only to who may read everywhere, though others may read it as it is.
bool IsOfThePlatform(Kind kind) {
  return kind == Kind::kZone || kind == Kind::kInstanceType || kind == Kind::kMachine ||
         kind == Kind::kRelease || kind == Kind::kNodeProfile;
}

// If the status is NOT_FOUND: notes to whom the past of such resources is told.
void NoteNotToldOf(Session& session, Kind kind, const absl::Status& status) {
  if (!absl::IsNotFound(status) || !IsOfThePlatform(kind)) return;
  session.env.err << "note: the past of " << KindPlural(kind)
                  << " is told only to who may read everywhere\n";
}

// FAILED_PRECONDITION, naming the cells that had it then. The message suggests one that has it now,
// if any does.
absl::Status InSeveralThen(Session& session, const ResourceId& resource, const Moment& then,
                           const std::vector<ToldPast>& past) {
  CellNames names;
  for (const ToldPast& told : past) names.push_back(told.cell);
  std::string best = names.front();
  const bool is_now = then == Moment(kLastTime);
  if (!is_now) {
    const absl::StatusOr<std::vector<ToldPast>> now = session.api.GetPast(resource, kLastTime);
    const auto has_it = [&](const std::string& name) {
      return now.ok() && std::any_of(now->begin(), now->end(),
                                     [&](const ToldPast& told) { return told.cell == name; });
    };
    const auto found = std::find_if(names.begin(), names.end(), has_it);
    if (found != names.end()) best = *found;
  }
  return InSeveral(absl::StrCat(Label(resource), is_now ? " is" : " was then"), names, best);
}

// As it was then; FAILED_PRECONDITION where several cells had one.
absl::StatusOr<Item> OneThen(Session& session, const ResourceId& resource, const Moment& then) {
  const absl::StatusOr<std::vector<ToldPast>> past = session.api.GetPast(resource, then);
  NoteNotThere(session, resource, then, past.status());
  RETURN_IF_ERROR(past.status());
  if (past->size() == 1) return ToItem(past->front().answer.resource());
  return InSeveralThen(session, resource, then, *past);
}

}  // namespace

absl::StatusOr<ResourceId> ReadResourceId(const CommandLine& line) {
  return ReadOne(line.arguments, AllKinds(), absl::StrCat(line.command, ": KIND and NAME"));
}

absl::StatusOr<Moment> ReadMoment(absl::string_view flag, const std::string& text, absl::Time now) {
  int64_t revision = 0;
  if (absl::SimpleAtoi(text, &revision) && revision > 0) return revision;
  absl::Duration ago;
  if (ParseLength(text, ago) && ago > absl::ZeroDuration()) return now - ago;
  google::protobuf::Timestamp example;
  SetTimestamp(now, &example);
  absl::Time time;
  if (!absl::ParseTime(absl::RFC3339_full, text, &time, nullptr)) {
    return WrongUse(absl::StrCat("--", flag,
                                 ": must be how long ago, such as 1h or 7d, a time such as ",
                                 FormatTime(example), ", or a revision, is \"", text, "\""));
  }
  // The servers' clocks, by which times are told, may be ahead.
  if (time > now + absl::Minutes(1)) {
    return WrongUse(
        absl::StrCat("--", flag, ": ", text, " is yet to come, it is ", FormatTime(example)));
  }
  return time;
}

void NoteUntold(Session& session, Kind kind) {
  if (kind == Kind::kQuota) session.env.err << "note: what quotas held then is not told\n";
  if (kind == Kind::kClaim)
    session.env.err << "note: the machines and the reason of claims then are not told\n";
}

void NoteNotThere(Session& session, const ResourceId& resource, const Moment& then,
                  const absl::Status& status) {
  if (!absl::IsNotFound(status)) return;
  if (IsOfThePlatform(resource.kind)) return NoteNotToldOf(session, resource.kind, status);
  session.env.err << "note: " << Label(resource)
                  << (then == Moment(kLastTime) ? " is not there now" : " was not there then")
                  << ", or its past is not told to you; musterctl history tells when it was\n";
}

absl::Status History(Session& session) {
  ASSIGN_OR_RETURN(const ResourceId resource, ReadResourceId(session.line));
  const auto limit = ParseCount("--limit", session.line.Get("limit"));
  if (!limit.ok()) return WrongUse(limit.status().message());
  if (*limit < 1 || *limit > kMostChanges)
    return WrongUse(absl::StrCat("--limit: must be 1 to ", kMostChanges));
  absl::Time since = absl::InfinitePast();
  if (session.line.Has("since")) {
    ASSIGN_OR_RETURN(const Moment moment,
                     ReadMoment("since", session.line.Get("since"), session.env.clock.Now()));
    const auto* time = std::get_if<absl::Time>(&moment);
    if (time == nullptr) return WrongUse("--since: of history, a time or how long ago");
    since = *time;
  }
  const absl::StatusOr<ToldChanges> told =
      session.api.ListChanges(resource, static_cast<int>(*limit), since);
  NoteNotToldOf(session, resource.kind, told.status());
  RETURN_IF_ERROR(told.status());
  const history::v1::ListChangesResponse& answer = told->answer;
  if (answer.changes().empty()) RETURN_IF_ERROR(CheckClusterOf(session, resource));
  std::ostream& out = session.env.out;
  for (int i = 0; i < answer.changes_size(); ++i)
    Print(answer.changes(i), session.of_cells ? told->cells[static_cast<size_t>(i)] : "", out);
  const bool at_the_end = answer.next_page_token().empty();
  if (answer.changes().empty()) {
    out << "No change of it is known" << (session.line.Has("since") ? " since then" : "") << ".\n";
  } else if (at_the_end && !answer.complete()) {
    out << "What was before is no longer known.\n";
  } else if (!at_the_end) {
    out << "There are more; see --limit.\n";
  }
  return absl::OkStatus();
}

absl::Status Diff(Session& session) {
  if (session.line.Has("filename")) return DiffFiles(session);
  ASSIGN_OR_RETURN(const ResourceId resource, ReadResourceId(session.line));
  if (!session.line.Has("since")) return WrongUse("diff: needs --since, or -f FILE");
  ASSIGN_OR_RETURN(const Moment since,
                   ReadMoment("since", session.line.Get("since"), session.env.clock.Now()));
  NoteUntold(session, resource.kind);
  ASSIGN_OR_RETURN(const Item before, OneThen(session, resource, since));
  ASSIGN_OR_RETURN(const Item after, OneThen(session, resource, kLastTime));
  const auto changes = history::FieldChangesOf(MessageOf(before), MessageOf(after));
  for (const history::FieldChange& change : changes)
    session.env.out << FieldText(change.path, change.before, change.after);
  if (changes.empty()) session.env.out << "No difference.\n";
  return absl::OkStatus();
}

std::vector<Command> PastCommands() {
  return {
      {.name = "history",
       .run = History,
       .usage = "history KIND/NAME [--since WHEN] [--limit N]",
       .summary = "Says who changed a resource, when, why and what, the newest change first.",
       .details = "Also of one that is gone, as far back as the server's journal reaches. NAME "
                  "may be a whole\n"
                  "resource name; of a Node it is POOL/MACHINE. Of several cells all that know it "
                  "are asked. See --reason.",
       .examples = "history nodepool/train --since=24h\n"
                   "history node/train/g1a2b3c --limit=5",
       .flags = {{.name = "since",
                  .value = "WHEN",
                  .meaning = "Only later changes: how long ago (1h), or a time.",
                  .is_never_empty = true},
                 {.name = "limit",
                  .value = "N",
                  .meaning = "Changes at most, 1 to 10000.",
                  .standard = "20"}}},
      {.name = "diff",
       .run = Diff,
       .usage = "diff -f FILE|DIR|- [-R] | diff KIND/NAME --since WHEN",
       .summary =
           "Says what manifests would change, or what of a resource is otherwise than it was.",
       .details = "-f: as diff -u; exit code 0: no difference, 1: some. Exit code 2: it failed.",
       .examples = "diff -f pool.yaml\n"
                   "diff nodepool/train --since 1h",
       .flags = {FileFlag(),
                 RecursiveFlag(),
                 {.name = "since",
                  .value = "WHEN",
                  .meaning = "How long ago (1h), a time, or a revision (of one cell)."}},
       .is_comparison = true}};
}

}  // namespace muster::musterctl
