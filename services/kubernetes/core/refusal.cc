#include "services/kubernetes/core/refusal.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "services/common/error.h"

namespace muster::kubernetes {
namespace {

// `node_pool.spec.image.release_train` as the CRD has it: `spec.image.releaseTrain`. Keys of maps
// stay as they are.
std::string FieldPath(absl::string_view field) {
  absl::ConsumePrefix(&field, "node_pool.");
  std::string path;
  bool upper = false;
  bool key = false;
  for (const char c : field) {
    key = c == '[' || (key && c != ']');
    if (c == '_' && !key) {
      upper = true;
      continue;
    }
    path.push_back(upper ? absl::ascii_toupper(static_cast<unsigned char>(c)) : c);
    upper = false;
  }
  return path;
}

}  // namespace

std::string FaultsOf(const absl::Status& status) {
  std::vector<std::string> faults;
  if (const auto detail = error::DetailOf(status)) {
    for (const error::FieldViolation& fault : detail->fields)
      faults.push_back(absl::StrCat(FieldPath(fault.field), ": ", fault.description));
  }
  return faults.empty() ? std::string(status.message()) : absl::StrJoin(faults, "; ");
}

std::string ReasonOf(const absl::Status& status) {
  const auto detail = error::DetailOf(status);
  return detail ? detail->reason : "";
}

}  // namespace muster::kubernetes
