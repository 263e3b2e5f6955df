#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "services/common/read_file.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/commands/editing.h"
#include "services/musterctl/commands/for_each.h"
#include "services/musterctl/commands/output.h"
#include "services/musterctl/commands/references.h"
#include "services/musterctl/print/objects.h"
#include "services/musterctl/print/preview.h"
#include "services/musterctl/query/patching.h"

// Changing what is there: in an editor, or by a patch.
namespace muster::musterctl {
namespace {

constexpr int kPatchTries = 5;

void TellApplied(Session& session, const std::string& label, const std::string& verb,
                 const Applied& applied) {
  const bool dry_run = session.line.Has("dry-run");
  session.env.out << label << (dry_run ? " would be " : " ") << verb
                  << (applied.outcome == Outcome::kUnchanged ? " (no change)" : "") << "\n";
  for (const std::string& warning : applied.warnings)
    session.env.err << "warning: " << label << ": " << warning << "\n";
  if (applied.preview) session.env.out << RenderPreview(*applied.preview);
}

std::string EditorOf(const Environment& environment) {
  for (const char* variable : {"MUSTER_EDITOR", "EDITOR"}) {
    const auto editor = environment ? environment(variable) : std::nullopt;
    if (editor && !editor->empty()) return *editor;
  }
  return "vi";
}

// In single quotes for a shell.
std::string Quoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

absl::StatusOr<std::string> NewFile(Session& session, const std::string& text) {
  const std::string folder =
      session.env.environment ? session.env.environment("TMPDIR").value_or("") : "";
  std::string path = absl::StrCat(folder.empty() ? "/tmp" : folder, "/musterctl-edit-XXXXXX.yaml");
  const int file = mkstemps(path.data(), 5);
  if (file < 0) return absl::UnavailableError(absl::StrCat(path, ": cannot be made"));
  close(file);
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();  // what is buffered is written by then
  if (out) return path;
  unlink(path.c_str());
  return absl::UnavailableError(absl::StrCat(path, ": cannot be written"));
}

absl::StatusOr<std::string> Whole(std::optional<std::string> text, const std::string& name) {
  if (!text) return absl::InvalidArgumentError(absl::StrCat(name, ": cannot be read"));
  return *std::move(text);
}

absl::StatusOr<std::string> TextOf(const std::string& path) { return Whole(ReadFile(path), path); }

// Says that the file was kept, and returns `status` unchanged, so that its details are printed,
// too.
absl::Status KeptFor(Session& session, const absl::Status& status, const std::string& path) {
  session.env.err << "note: "
                  << (absl::IsAborted(status) ? "it was changed by somebody else meanwhile; " : "")
                  << "your edit is kept in " << path << "; see musterctl diff -f and apply -f\n";
  return status;
}

absl::StatusOr<Manifest> ReadEdited(const std::string& path, const std::string& text,
                                    const Item& item) {
  ASSIGN_OR_RETURN(std::vector<Manifest> manifests, ParseManifests(path, text, ScopeOf(item)));
  if (manifests.size() != 1)
    return absl::InvalidArgumentError(absl::StrCat(path, ": must have one document"));
  return std::move(manifests[0]);
}

absl::Status SendEdited(Session& session, const ResourceId& id, const Item& item,
                        const std::string& path, const std::string& text) {
  auto manifest = ReadEdited(path, text, item);
  if (manifest.ok() && ResourceName(manifest->resource) != NameOf(item)) {
    manifest = absl::InvalidArgumentError(
        absl::StrCat(path, ": what its name is made of cannot be changed"));
  }
  if (!manifest.ok()) return KeptFor(session, manifest.status(), path);
  const auto applied = SendChanged(session, *manifest, item, Conflict::kSameField);
  if (!applied.ok()) return KeptFor(session, AtManifest(applied.status(), *manifest), path);
  TellApplied(session, Label(id), "edited", *applied);
  // What was only tried may be wanted.
  if (session.line.Has("dry-run") && applied->outcome != Outcome::kUnchanged)
    return KeptFor(session, absl::OkStatus(), path);
  unlink(path.c_str());
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadPatch(Session& session) {
  const CommandLine& line = session.line;
  if (line.Has("patch") == line.Has("patch-file"))
    return WrongUse("patch: -p PATCH or --patch-file FILE is missing");
  if (line.Has("patch")) return line.Get("patch");
  if (line.Get("patch-file") == "-") return Whole(ReadAll(session.env.in), "standard input");
  return TextOf(line.Get("patch-file"));
}

absl::Status PatchOne(Session& session, const ResourceId& id, const std::string& patch) {
  for (int tries = 1;; ++tries) {
    ASSIGN_OR_RETURN(const Item item, session.api.Get(id.kind, id.id));
    const auto changed = Patched(OwnersPart(item), session.line.Get("type"), patch);
    if (absl::IsInvalidArgument(changed.status())) return WrongUse(changed.status().message());
    RETURN_IF_ERROR(changed.status());
    ASSIGN_OR_RETURN(const Manifest manifest, ReadChanged(*changed, item, "the patched object"));
    // Any change of others is a conflict, because the patch may depend on it: apply it to the new
    // resource.
    const auto applied = SendChanged(session, manifest, item, Conflict::kAny);
    if (absl::IsAborted(applied.status()) && tries < kPatchTries) continue;
    if (!applied.ok()) return RenameFields(applied.status(), ManifestPath);
    TellApplied(session, Label(id), "patched", *applied);
    return absl::OkStatus();
  }
}

}  // namespace

absl::Status Edit(Session& session) {
  ASSIGN_OR_RETURN(const ResourceId id,
                   ReadOne(session.line.arguments, WrittenKinds(),
                           "edit: one KIND/NAME of what has a manifest: nodepool, cluster, quota, "
                           "zone, instancetype, machine"));
  if (session.env.execute == nullptr) return absl::UnimplementedError("no editor can be run here");
  ASSIGN_OR_RETURN(const Item item, session.api.Get(id.kind, id.id));
  nlohmann::json object = OwnersPart(item);
  // The file may be kept, and applied later by a command line for another cluster.
  AddPlace(NameOf(item), object);
  const std::string before = absl::StrCat(
      "# Change what is below, save and leave the editor. Nothing changed: nothing is sent.\n"
      "# If it is refused, or somebody else changed it meanwhile, this file is kept.\n",
      ToYaml(object));
  ASSIGN_OR_RETURN(const std::string path, NewFile(session, before));
  const std::string editor = EditorOf(session.env.environment);
  const int code = session.env.execute(absl::StrCat(editor, " ", Quoted(path)));
  if (code != 0) {
    const auto left = ReadFile(path);
    const bool is_changed = left.has_value() && *left != before;
    if (!is_changed) unlink(path.c_str());
    return absl::AbortedError(absl::StrCat("the editor (", editor, ") ended with ", code,
                                           is_changed ? "; the file is kept in " + path : ""));
  }
  ASSIGN_OR_RETURN(const std::string edited, TextOf(path));
  if (edited == before) {
    unlink(path.c_str());
    session.env.out << "Edit cancelled, no changes made.\n";
    return absl::OkStatus();
  }
  return SendEdited(session, id, item, path, edited);
}

absl::Status Patch(Session& session) {
  ASSIGN_OR_RETURN(const std::vector<ResourceId> ids,
                   ReadNamed(session.line.arguments, WrittenKinds(),
                             "patch: KIND/NAME of what has a manifest: nodepool, cluster, quota, "
                             "zone, instancetype, machine"));
  ASSIGN_OR_RETURN(const std::string patch, ReadPatch(session));
  return ForEach(session, ids, [&](const ResourceId& id) { return PatchOne(session, id, patch); });
}

}  // namespace muster::musterctl
