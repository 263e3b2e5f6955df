#include "services/kubernetes/core/refusal.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "services/common/condition_names.h"
#include "services/common/cut.h"
#include "services/common/error.h"
#include "services/kubernetes/core/text.h"

namespace muster::kubernetes {
namespace {

constexpr char kTriedAgain[] = " It is tried again by itself.";

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

std::optional<std::string> LimitOf(const absl::Status& status) {
  if (!absl::IsResourceExhausted(status)) return std::nullopt;
  const auto detail = error::DetailOf(status);
  // What names no limit is of the connection: a message that is too large, a server without memory.
  if (!detail || !absl::StartsWith(detail->reason, "TOO_MANY_") ||
      detail->retry_after > absl::ZeroDuration())
    return std::nullopt;
  return absl::StrCat(detail->reason, ": ", status.message(),
                      " Delete what is not needed any more, or have the limit raised; it is tried "
                      "again by itself.");
}

std::string NoClusterMessage(absl::string_view cluster) {
  return absl::StrCat("Muster does not have the cluster ", cluster,
                      " any more. The NodePool is taken up by itself once it has.");
}

std::string MissedClusterMessage(absl::string_view cluster) {
  return absl::StrCat(
      "Muster does not have the cluster ", cluster,
      " any more: the NodePool's Nodes may be there. It goes by itself once it has.");
}

std::string RestoredMessage(int64_t generation) {
  return absl::StrCat("Muster has taken a later spec than generation ", generation,
                      ": this cluster's etcd was restored to an earlier time. What was said last "
                      "before that stands until changes of the spec have brought the generation "
                      "past it.");
}

std::string UidTakenMessage(absl::string_view uid) {
  return absl::StrCat(
      "metadata.uid: Muster has a NodePool of another name or cluster with the uid ", uid,
      ": this object is a copy of that one's. Delete it and make it anew.");
}

std::string ForbiddenMessage(absl::string_view by, absl::string_view said) {
  return absl::StrCat(by, " does not let the adapter take the NodePool up: ", Cut(said, kMostSaid),
                      kTriedAgain);
}

std::string UndeletedMessage(absl::string_view by, absl::string_view said) {
  return absl::StrCat(by, " does not let the adapter delete the NodePool: ", Cut(said, kMostSaid),
                      kTriedAgain);
}

RefusalPlace PlaceOf(const Refusal& refusal) {
  switch (refusal.kind) {
    case Refusal::Kind::kLimit:
      return {{condition::kQuota, reason::kOver}, condition_status::kFalse};
    case Refusal::Kind::kNoCluster:
    case Refusal::Kind::kForbidden:
    case Refusal::Kind::kRestored:
    case Refusal::Kind::kFormer:
      return {{condition::kValidated, reason::kInternalError}, condition_status::kUnknown};
    case Refusal::Kind::kUndeleted:
      return {{condition::kNodesRemoved, reason::kInternalError}, condition_status::kUnknown};
    case Refusal::Kind::kInvalid:
      break;
  }
  return {{condition::kValidated, reason::kInvalid}, condition_status::kFalse};
}

}  // namespace muster::kubernetes
