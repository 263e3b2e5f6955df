#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/commands/output.h"

// Commands about a server's own state: comparison of its copies of the state, audit of the books of
// the four services, log level.
namespace muster::musterctl {
namespace {

absl::Status Compare(Session& session) {
  ASSIGN_OR_RETURN(const auto response, session.api.CompareState());
  int64_t differences = 0;
  for (const auto& comparison : response.comparisons()) {
    session.env.out << absl::StrCat(
        comparison.service(), ": revision ", comparison.revision(), ", ", comparison.resources(),
        " resources, ", comparison.whole_journal() ? "whole journal" : "journal compacted", ", ",
        comparison.differences_size(), " differences\n");
    for (const std::string& difference : comparison.differences())
      session.env.out << "  " << difference << "\n";
    differences += comparison.differences_size();
  }
  if (response.comparisons().empty())
    return absl::FailedPreconditionError("the server compared nothing");
  if (differences == 0) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(differences, " differences between memory, tables and journal"));
}

std::string OrNone(const std::string& text) { return text.empty() ? "<none>" : text; }

void PrintBooks(const debug::v1::AuditBooksResponse& books, bool wide, Session& session) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& line : books.lines()) {
    rows.push_back({OrNone(line.organization()), OrNone(line.zone()), OrNone(line.instance_type()),
                    OrNone(line.compute_class()), absl::StrCat(line.node_pools()),
                    absl::StrCat(line.nodes()), absl::StrCat(line.charged()),
                    absl::StrCat(line.machines()), absl::StrCat(line.configurations())});
  }
  PrintTable({"ORGANIZATION", "ZONE", "INSTANCE TYPE", "CLASS", "POOLS", "NODES", "CHARGED",
              "MACHINES", "CONFIGURATIONS"},
             rows, wide, session);
}

void PrintDifferences(const debug::v1::AuditBooksResponse& books, bool wide, Session& session) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& difference : books.differences()) {
    rows.push_back({difference.kind(), difference.pool_uid(), OrNone(difference.node_pool()),
                    OrNone(difference.subject()), difference.message()});
  }
  PrintTable({"DIFFERS", "POOL UID", "NODEPOOL", "WHAT", "MESSAGE"}, rows, wide, session);
}

absl::Status Audit(Session& session) {
  debug::v1::AuditBooksRequest request;
  ASSIGN_OR_RETURN(const bool wide, ReadWide(session.line));
  if (session.line.Has("settle")) {
    const auto settle = ParseTimeout("--settle", session.line.Get("settle"));
    if (!settle.ok()) return WrongUse(settle.status().message());
    request.mutable_settle()->set_seconds(absl::ToInt64Seconds(*settle));
    request.mutable_settle()->set_nanos(
        static_cast<int32_t>(absl::ToInt64Nanoseconds(*settle % absl::Seconds(1))));
  }
  ASSIGN_OR_RETURN(const auto books, session.api.AuditBooks(request));
  std::ostream& out = session.env.out;
  PrintBooks(books, wide, session);
  if (const int64_t more = books.line_count() - books.lines_size(); more > 0)
    out << "... and " << more << " lines more\n";
  if (books.passing_count() > 0)
    out << books.passing_count() << " differences were on their way and do not count.\n";
  if (books.difference_count() == 0) return absl::OkStatus();
  out << "\n";
  PrintDifferences(books, wide, session);
  if (const int64_t more = books.difference_count() - books.differences_size(); more > 0)
    out << "... and " << more << " differences more\n";
  if (books.orphans_withheld()) {
    out << books.orphan_count()
        << " pools do not exist: so many, or from before a restore, that what is theirs is kept "
           "until a "
           "person has looked and set --orphan_mass_percent=100.\n";
  }
  return absl::DataLossError(
      absl::StrCat(books.difference_count(), " differences between the books of the services"));
}

constexpr std::pair<absl::string_view, debug::v1::LogLevel> kLevels[] = {
    {"debug", debug::v1::LOG_LEVEL_DEBUG},
    {"info", debug::v1::LOG_LEVEL_INFO},
    {"warning", debug::v1::LOG_LEVEL_WARN},
    {"error", debug::v1::LOG_LEVEL_ERROR}};

std::string LevelName(debug::v1::LogLevel level) {
  for (const auto& [name, known] : kLevels) {
    if (known == level) return std::string(name);
  }
  return absl::StrCat("level ", static_cast<int>(level));
}

// `word`: the level to set; empty: only asks.
absl::Status LogLevel(Session& session, absl::string_view word) {
  absl::StatusOr<debug::v1::LogLevel> is =
      WrongUse("debug log-level: say debug, info, warning or error");
  if (word.empty()) is = session.api.GetLogLevel();
  for (const auto& [name, level] : kLevels) {
    if (word == name || (word == "warn" && name == "warning")) is = session.api.SetLogLevel(level);
  }
  if (!is.ok()) return is.status();
  session.env.out << "log level: " << LevelName(*is) << "\n";
  return absl::OkStatus();
}

}  // namespace

absl::Status Debug(Session& session) {
  const std::vector<std::string>& arguments = session.line.arguments;
  if (arguments == std::vector<std::string>{"compare"}) return Compare(session);
  if (arguments == std::vector<std::string>{"audit"}) return Audit(session);
  if (!arguments.empty() && arguments.size() <= 2 && arguments[0] == "log-level")
    return LogLevel(session, arguments.size() == 2 ? arguments[1] : "");
  return WrongUse("debug: say compare, audit or log-level");
}

}  // namespace muster::musterctl
