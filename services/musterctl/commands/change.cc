#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/manifest/document.h"
#include "services/musterctl/print/preview.h"

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
  // One byte more than is taken tells that there are too many: a file need not end.
  std::string text(kMaxManifestBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  return text;
}

std::string OutcomeWord(Outcome outcome, bool dry_run) {
  const std::string would = dry_run ? "would be " : "";
  switch (outcome) {
    case Outcome::kCreated:
      return would + "created";
    case Outcome::kConfigured:
      return would + "configured";
    case Outcome::kUnchanged:
      return would + "unchanged";
  }
  return "";
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

absl::Status DeleteOne(Session& session, const Deletion& deletion) {
  const bool dry_run = session.line.Has("dry-run");
  lifecycle::v1::NodePool pool;
  absl::Status status;
  if (deletion.pool) {
    const auto answer = session.api.DeleteNodePool(deletion.id, dry_run);
    status = answer.status();
    if (answer.ok()) pool = *answer;
  } else {
    status = session.api.DeleteQuota(deletion.id);
  }
  if (absl::IsNotFound(status) && session.line.Has("ignore-not-found")) {
    session.world.out << deletion.label << " not found\n";
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(status);
  session.world.out << deletion.label << (dry_run ? " would be deleted" : " deleted") << std::endl;
  if (dry_run) session.world.out << RenderPreview(pool.preview());
  return absl::OkStatus();
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
  const bool dry_run = session.line.Has("dry-run");
  for (const Manifest& manifest : manifests) {
    for (const std::string& note : manifest.notes)
      session.world.err << "note: " << manifest.place << ": " << note << "\n";
    const absl::StatusOr<Applied> applied = session.api.Apply(manifest.resource, dry_run);
    if (!applied.ok()) {
      session.world.err << manifest.label << " (" << manifest.place << ") was refused\n";
      return RenameFields(applied.status(), ManifestPath);
    }
    session.world.out << manifest.label << " " << OutcomeWord(applied->outcome, dry_run)
                      << (applied->detail.empty() ? "" : absl::StrCat(" (", applied->detail, ")"))
                      << std::endl;
    for (const std::string& warning : applied->warnings)
      session.world.err << "warning: " << manifest.label << ": " << warning << "\n";
    if (applied->preview) session.world.out << RenderPreview(*applied->preview);
  }
  return absl::OkStatus();
}

absl::Status Delete(Session& session) {
  ASSIGN_OR_RETURN(const std::vector<Deletion> deletions, Deletions(session));
  const auto timeout = ParseTimeout("--wait-timeout", session.line.Get("wait-timeout"));
  if (!timeout.ok()) return WrongUse(timeout.status().message());
  if (session.line.Has("dry-run")) {
    if (session.line.Has("wait")) return WrongUse("delete: either --dry-run or --wait");
    for (const Deletion& deletion : deletions) {
      if (!deletion.pool) return WrongUse("delete --dry-run: NodePools only");
    }
  }
  for (const Deletion& deletion : deletions) RETURN_IF_ERROR(DeleteOne(session, deletion));
  for (const Deletion& deletion : deletions) {
    if (!deletion.pool || !session.line.Has("wait")) continue;
    RETURN_IF_ERROR(WaitForPool(session, deletion.id, true, *timeout));
  }
  return absl::OkStatus();
}

}  // namespace muster::musterctl
