#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "services/common/first_edition.h"
#include "services/kubernetes/core/status_facts.h"

namespace muster::kubernetes {

// Every fault that an INVALID_ARGUMENT of Muster names, by the CRD's field paths, for a condition's
// message: `spec.image.kernel: must be empty with a name; spec.minNodes: ...`. Without such: its
// message.
std::string FaultsOf(const absl::Status& status);

// Which limit of the organization stands in the way and what to do, for a condition's message;
// nullopt: none does, or it passes by itself (such come with a time to wait).
std::optional<std::string> LimitOf(const absl::Status& status);

// What a NodePool says while Muster does not have its cluster, for a condition's message.
std::string NoClusterMessage(absl::string_view cluster);
// Likewise one that is deleted, and whose Nodes may be there.
std::string MissedClusterMessage(absl::string_view cluster);
// What such a one says while Muster's history is not accepted.
inline constexpr absl::string_view kUnacceptedMessage =
    "Muster's history is not accepted: its database may have been restored to a time before the "
    "NodePool, so that it does not know its Nodes. The NodePool goes by itself once it is.";

// What a NodePool says whose generation is below the one that Muster has taken, likewise.
std::string RestoredMessage(int64_t generation);

// What one says whose uid another pool of Muster's has: its cluster's etcd is a copy of another's.
std::string UidTakenMessage(absl::string_view uid);

// What one says that `by`, a server, does not let the adapter take up, or delete; `said`: that
// server's word.
std::string ForbiddenMessage(absl::string_view by, absl::string_view said);
std::string UndeletedMessage(absl::string_view by, absl::string_view said);

// Which condition tells of a refusal, and its status. A spec beyond a limit is not invalid
// (Quota=False); of one that Muster has not looked at it is not known (Validated=Unknown). One that
// may not be deleted keeps its Nodes (NodesRemoved=Unknown).
struct RefusalPlace {
  FirstEditionCondition condition = {};
  std::string status = {};
};
RefusalPlace PlaceOf(const Refusal& refusal);

}  // namespace muster::kubernetes
