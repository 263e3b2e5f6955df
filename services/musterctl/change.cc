#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/status_macros.h"
#include "services/musterctl/commands.h"
#include "services/musterctl/document.h"
#include "services/musterctl/errors.h"

namespace muster::musterctl {
namespace {

absl::StatusOr<std::string> ReadText(const std::string& file, std::istream& standard_input) {
  std::ifstream stream;
  if (file != "-") {
    stream.open(file, std::ios::binary);
    std::error_code ignored;
    if (!stream || std::filesystem::is_directory(file, ignored)) {
      return absl::InvalidArgumentError(absl::StrCat(file, ": cannot be read"));
    }
  }
  std::istream& in = file == "-" ? standard_input : stream;
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

absl::string_view OutcomeWord(Outcome outcome) {
  switch (outcome) {
    case Outcome::kCreated:
      return "created";
    case Outcome::kConfigured:
      return "configured";
    case Outcome::kUnchanged:
      return "unchanged";
  }
  return "";
}

absl::Status DeleteOne(Session& session, const std::string& label, const absl::Status& status) {
  if (absl::IsNotFound(status) && session.line.Has("ignore-not-found")) {
    session.world.out << label << " not found\n";
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(status);
  session.world.out << label << " deleted" << std::endl;
  return absl::OkStatus();
}

// The pool's id of a NodePool manifest, the resource name of a Quota's.
struct Deletion {
  bool pool = false;
  std::string id = {};
  std::string label = {};
};

absl::StatusOr<std::vector<Deletion>> Deletions(Session& session) {
  std::vector<Deletion> deletions;
  const std::vector<std::string>& arguments = session.line.arguments;
  if (session.line.Has("filename")) {
    if (!arguments.empty()) return WrongUse("delete: either -f or KIND and NAME");
    ASSIGN_OR_RETURN(std::vector<Manifest> manifests, ReadManifests(session));
    for (const Manifest& manifest : manifests) {
      if (const auto* pool = std::get_if<lifecycle::v1::NodePool>(&manifest.resource)) {
        deletions.push_back({true, IdOf(*pool), manifest.label});
      } else if (const auto* quota = std::get_if<quota::v1::Quota>(&manifest.resource)) {
        deletions.push_back({false, quota->name(), manifest.label});
      } else {
        return absl::InvalidArgumentError(
            absl::StrCat(manifest.place, ": ", manifest.label,
                         " cannot be deleted; only NodePools and quotas can"));
      }
    }
    return deletions;
  }
  const auto kind = arguments.empty() ? std::nullopt : ParseKind(arguments[0]);
  if (kind != Kind::kNodePool && kind != Kind::kQuota)
    return WrongUse("delete: say nodepool or quota, and NAME");
  if (arguments.size() < 2)
    return WrongUse(absl::StrCat("delete ", KindWord(*kind), ": NAME is missing"));
  for (size_t i = 1; i < arguments.size(); ++i) {
    deletions.push_back(
        {kind == Kind::kNodePool, arguments[i], absl::StrCat(KindWord(*kind), "/", arguments[i])});
  }
  return deletions;
}

}  // namespace

absl::StatusOr<std::vector<Manifest>> ReadManifests(Session& session) {
  const auto it = session.line.flags.find("filename");
  if (it == session.line.flags.end())
    return WrongUse(absl::StrCat(session.line.command, ": -f FILE is missing"));
  std::vector<Manifest> manifests;
  std::vector<std::string> faults;
  for (const std::string& file : it->second) {
    ASSIGN_OR_RETURN(const std::string text, ReadText(file, session.world.in));
    auto parsed = ParseManifests(file == "-" ? "standard input" : file, text, session.scope);
    if (!parsed.ok()) {
      faults.emplace_back(parsed.status().message());
      continue;
    }
    manifests.insert(manifests.end(), std::make_move_iterator(parsed->begin()),
                     std::make_move_iterator(parsed->end()));
  }
  if (!faults.empty()) return absl::InvalidArgumentError(absl::StrJoin(faults, "\n"));
  SortForSending(manifests);
  return manifests;
}

absl::Status Apply(Session& session) {
  if (!session.line.arguments.empty()) return WrongUse("apply: files are given with -f");
  ASSIGN_OR_RETURN(const std::vector<Manifest> manifests, ReadManifests(session));
  for (const Manifest& manifest : manifests) {
    for (const std::string& note : manifest.notes)
      session.world.err << "note: " << manifest.place << ": " << note << "\n";
    const absl::StatusOr<Applied> applied = session.api.Apply(manifest.resource);
    if (!applied.ok()) {
      session.world.err << manifest.label << " (" << manifest.place << ") was refused\n";
      return RenameFields(applied.status(), ManifestPath);
    }
    session.world.out << manifest.label << " " << OutcomeWord(applied->outcome)
                      << (applied->detail.empty() ? "" : absl::StrCat(" (", applied->detail, ")"))
                      << std::endl;
  }
  return absl::OkStatus();
}

absl::Status Scale(Session& session) {
  const std::vector<std::string>& arguments = session.line.arguments;
  if (arguments.size() != 2 || ParseKind(arguments[0]) != Kind::kNodePool)
    return WrongUse("scale: nodepool NAME");
  if (!session.line.Has("nodes")) return WrongUse("scale: --nodes is missing");
  const absl::StatusOr<int64_t> nodes = ParseCount("--nodes", session.line.Get("nodes"));
  if (!nodes.ok()) return WrongUse(nodes.status().message());
  const auto pool = session.api.Scale(arguments[1], *nodes);
  if (!pool.ok()) {
    return RenameFields(pool.status(), [](const std::string& field) {
      return field == "target_nodes" ? "--nodes" : field;
    });
  }
  session.world.out << "nodepool/" << arguments[1] << " scaled to " << pool->spec().target_nodes()
                    << "\n";
  return absl::OkStatus();
}

absl::Status Delete(Session& session) {
  ASSIGN_OR_RETURN(const std::vector<Deletion> deletions, Deletions(session));
  const auto timeout = ParseTimeout("--wait-timeout", session.line.Get("wait-timeout"));
  if (!timeout.ok()) return WrongUse(timeout.status().message());
  for (const Deletion& deletion : deletions) {
    RETURN_IF_ERROR(DeleteOne(session, deletion.label,
                              deletion.pool ? session.api.DeleteNodePool(deletion.id)
                                            : session.api.DeleteQuota(deletion.id)));
  }
  for (const Deletion& deletion : deletions) {
    if (!deletion.pool || !session.line.Has("wait")) continue;
    RETURN_IF_ERROR(WaitForPool(session, deletion.id, true, *timeout));
  }
  return absl::OkStatus();
}

absl::Status Debug(Session& session) {
  if (session.line.arguments != std::vector<std::string>{"compare"})
    return WrongUse("debug: say compare");
  ASSIGN_OR_RETURN(const auto response, session.api.CompareState());
  int64_t differences = 0;
  for (const auto& comparison : response.comparisons()) {
    session.world.out << absl::StrCat(
        comparison.service(), ": revision ", comparison.revision(), ", ", comparison.resources(),
        " resources, ", comparison.whole_journal() ? "whole journal" : "journal compacted", ", ",
        comparison.differences_size(), " differences\n");
    for (const std::string& difference : comparison.differences())
      session.world.out << "  " << difference << "\n";
    differences += comparison.differences_size();
  }
  if (response.comparisons().empty())
    return absl::FailedPreconditionError("the server compared nothing");
  if (differences == 0) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(differences, " differences between memory, tables and journal"));
}

}  // namespace muster::musterctl
