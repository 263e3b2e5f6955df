#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/commands/editing.h"
#include "services/musterctl/commands/for_each.h"
#include "services/musterctl/commands/references.h"
#include "services/musterctl/print/preview.h"

namespace muster::musterctl {
namespace {

// The error; for a NodePool of the scope's cluster: that there is no such cluster, if that is why.
absl::Status WhyNot(Session& session, const Manifest& manifest, const absl::Status& error) {
  const auto* pool = std::get_if<lifecycle::v1::NodePool>(&manifest.resource);
  if (absl::IsNotFound(error) && pool != nullptr &&
      IsInScope(Kind::kNodePool, pool->name(), session.scope))
    RETURN_IF_ERROR(CheckCluster(session));
  return AtManifest(error, manifest);
}

// A progress line that is overwritten again and again, and cleared in the end. `out` null: nothing
// is written.
class ProgressLine {
 public:
  explicit ProgressLine(std::ostream* out) : out_(out) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() {
    if (width_ > 0) *out_ << "\r" << std::string(width_, ' ') << "\r" << std::flush;
  }

  void Tell(const std::string& line) {
    *out_ << "\r" << line << std::flush;  // it only grows
    width_ = line.size();
  }
  bool is_seen() const { return out_ != nullptr; }

 private:
  std::ostream* const out_;
  size_t width_ = 0;
};

absl::StatusOr<Applied> ApplyOne(Session& session, const Manifest& manifest, WriteMode mode) {
  mode.overrides = manifest.says_overrides;
  ProgressLine line(session.env.progress);
  if (line.is_seen()) {
    mode.progress = [&](size_t done, size_t all) {
      line.Tell(absl::StrCat(manifest.label, ": ", done, " of ", all, " machines"));
    };
  }
  return session.api.Apply(manifest.resource, mode);
}

}  // namespace

absl::Status AtManifest(const absl::Status& status, const Manifest& manifest) {
  const std::string where = absl::StrCat(manifest.label, " (", manifest.place, "): ");
  const std::optional<error::Detail> detail = error::DetailOf(status);
  if (!detail) return absl::Status(status.code(), absl::StrCat(where, status.message()));
  if (detail->fields.empty())
    return error::Make(status.code(), absl::StrCat(where, status.message()), *detail);
  return RenameFields(
      status, [&](const std::string& field) { return absl::StrCat(where, ManifestPath(field)); });
}

absl::Status Apply(Session& session) {
  if (!session.line.arguments.empty()) return WrongUse("apply: files are given with -f");
  ASSIGN_OR_RETURN(const std::vector<Manifest> manifests, ReadManifests(session));
  const WriteMode mode = ModeOf(session.line);
  for (const Manifest& manifest : manifests) {
    for (const std::string& note : manifest.notes)
      session.env.err << "note: " << manifest.place << ": " << note << "\n";
    const absl::StatusOr<Applied> applied = ApplyOne(session, manifest, mode);
    if (!applied.ok()) {
      TellLeftBehind(session, manifests, manifest, [](const Manifest& each) { return each.label; });
      return WhyNot(session, manifest, applied.status());
    }
    session.env.out << manifest.label << " " << OutcomeWord(applied->outcome, mode.dry_run)
                    << (applied->detail.empty() ? "" : absl::StrCat(" (", applied->detail, ")"))
                    << std::endl;
    for (const std::string& warning : applied->warnings)
      session.env.err << "warning: " << manifest.label << ": " << warning << "\n";
    if (applied->preview) session.env.out << RenderPreview(*applied->preview);
  }
  return absl::OkStatus();
}

}  // namespace muster::musterctl
