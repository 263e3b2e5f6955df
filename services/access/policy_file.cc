#include "services/access/policy_file.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/read_file.h"
#include "services/common/status_macros.h"

namespace muster::access {
namespace {

constexpr char kFlag[] = "--policy_file";

absl::StatusOr<std::shared_ptr<const Policy>> ParseOf(const std::string& path,
                                                      const std::optional<std::string>& text) {
  if (!text) return error::InvalidField(kFlag, absl::StrCat(path, " cannot be read."));
  absl::StatusOr<std::shared_ptr<const Policy>> policy = Policy::Parse(*text);
  if (policy.ok()) return policy;
  const std::optional<error::Detail> detail = error::DetailOf(policy.status());
  if (!detail) return policy.status();
  std::vector<error::FieldViolation> faults = detail->fields;
  for (error::FieldViolation& fault : faults) fault.field = absl::StrCat(path, ": ", fault.field);
  return error::InvalidFields(std::move(faults));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Policy>> ReadPolicy(const std::string& path) {
  return ParseOf(path, ReadFile(path));
}

absl::StatusOr<std::unique_ptr<PolicyFile>> PolicyFile::Create(Options options) {
  std::unique_ptr<PolicyFile> made(new PolicyFile());
  if (options.path.empty()) {
    made->fixed_ = std::move(options.fixed);
    return made;
  }
  ASSIGN_OR_RETURN(
      made->file_,
      WatchedFile<Policy>::Create(
          {.path = options.path,
           .what = "policy",
           .interval = options.interval,
           .parse = [path = options.path](const auto& text) { return ParseOf(path, text); },
           .name = [](const Policy& policy) { return policy.hash(); }}));
  return made;
}

}  // namespace muster::access
