#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/status_macros.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/commands/editing.h"
#include "services/musterctl/manifest/document.h"

// Files of -f: as they are named, and those of folders.
namespace muster::musterctl {
namespace {

namespace fs = std::filesystem;

std::string NameOfFile(const std::string& file) { return file == "-" ? "standard input" : file; }

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
  if (in.bad())
    return absl::InvalidArgumentError(absl::StrCat(NameOfFile(file), ": cannot be read"));
  text.resize(static_cast<size_t>(in.gcount()));
  return text;
}

bool IsManifest(const fs::path& path) {
  const std::string end = path.extension().string();
  return end == ".yaml" || end == ".yml" || end == ".json";
}

// The manifests of a folder, by name; with `recursive` those of the folders in it, too.
absl::StatusOr<std::vector<std::string>> FilesOf(const std::string& folder, bool recursive) {
  std::vector<std::string> files;
  std::error_code error;
  const auto add = [&](const fs::directory_entry& entry) {
    std::error_code ignored;
    const fs::file_type type = entry.status(ignored).type();
    // A link that leads nowhere, or cannot be followed, is one that cannot be read.
    const bool is_lost = type == fs::file_type::not_found || type == fs::file_type::none;
    if (IsManifest(entry.path()) && (type == fs::file_type::regular || is_lost))
      files.push_back(entry.path().string());
  };
  if (recursive) {
    for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
         at.increment(error))
      add(*at);
  } else {
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
      add(*at);
  }
  if (error) return absl::InvalidArgumentError(absl::StrCat(folder, ": ", error.message()));
  if (files.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder, ": has no *.yaml, *.yml or *.json", recursive ? "" : "; see -R"));
  }
  std::sort(files.begin(), files.end());
  return files;
}

absl::StatusOr<std::vector<std::string>> FilesAsked(const CommandLine& line) {
  const auto it = line.flags.find("filename");
  if (it == line.flags.end()) return WrongUse(absl::StrCat(line.command, ": -f FILE is missing"));
  std::vector<std::string> files;
  for (const std::string& file : it->second) {
    std::error_code ignored;
    if (!fs::is_directory(file, ignored)) {
      files.push_back(file);
      continue;
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> more, FilesOf(file, line.Has("recursive")));
    files.insert(files.end(), more.begin(), more.end());
  }
  return files;
}

// Contexts may be of different clusters: which of them is meant has to be said.
absl::Status CheckPlace(const Manifest& manifest) {
  if (!absl::StrContains(absl::StrCat(ResourceName(manifest.resource), "/"), "/-/"))
    return absl::OkStatus();
  return NoPlace(absl::StrCat(manifest.place, ": ", manifest.label));
}

// Refuses a manifest that says another place than the flags of the line: which of them is meant is
// not known, and `delete -f` of what another cluster's `get` printed would not be of the one said.
absl::Status CheckSaid(const Session& session, const Manifest& manifest) {
  const std::optional<Item> item = ItemOf(manifest.resource);
  if (!item || KindOf(*item) > Kind::kQuota) return absl::OkStatus();
  const Scope is = ScopeOf(*item);
  const auto check = [&](const std::string& flag, const std::string& there,
                         const std::string& said) -> absl::Status {
    if (!session.line.given.contains(flag) || said == "-" || there == said) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(manifest.place, ": ", manifest.label, ": metadata.", flag, " is \"", there,
                     "\", and --", flag, " says \"", said, "\"; leave out one of them"));
  };
  RETURN_IF_ERROR(check("organization", is.organization, session.scope.organization));
  if (KindOf(*item) != Kind::kNodePool) return absl::OkStatus();
  return check("cluster", is.cluster, session.scope.cluster);
}

}  // namespace

absl::Status NoPlace(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": where it is to be is not said: --organization and --cluster do"));
}

absl::StatusOr<std::vector<Manifest>> ReadManifests(Session& session) {
  ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesAsked(session.line));
  std::vector<Manifest> manifests;
  std::vector<std::string> faults;
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(const std::string text, ReadText(file, session.env.in));
    auto parsed = ParseManifests(NameOfFile(file), text, session.scope);
    if (!parsed.ok()) {
      faults.emplace_back(parsed.status().message());
      continue;
    }
    manifests.insert(manifests.end(), std::make_move_iterator(parsed->begin()),
                     std::make_move_iterator(parsed->end()));
  }
  if (!faults.empty()) return absl::InvalidArgumentError(absl::StrJoin(faults, "\n"));
  RETURN_IF_ERROR(CheckEachOnce(manifests));
  for (const Manifest& manifest : manifests) {
    RETURN_IF_ERROR(CheckPlace(manifest));
    RETURN_IF_ERROR(CheckSaid(session, manifest));
  }
  SortForSending(manifests);
  return manifests;
}

}  // namespace muster::musterctl
