#pragma once

#include <muster/lifecycle/v1/lifecycle_service.pb.h>

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/explain.h"
#include "services/lifecycle/core/state.h"

// Core ↔ proto, both ways, nothing else. Names and values are not judged here: see core/names.h and
// core/validate.h.
namespace muster::lifecycle {

// A row as the API shows it.
v1::Cluster ToProto(const Versioned<Cluster>& cluster);
v1::NodePool ToProto(const Versioned<Pool>& pool);
v1::Node ToProto(const Versioned<Node>& node);
v1::Event ToProto(const Versioned<Event>& event);
v1::Lease ToProto(const Versioned<Lease>& lease);
v1::NodePool ToProto(const Pool& pool);
v1::Cluster ToProto(const Cluster& cluster);
v1::NodePoolSpec ToProto(const Spec& spec);
v1::NodePoolStatus ToProto(const Status& status);
v1::NodePoolObstacle ToProto(const Obstacle& obstacle);

// The way back. INTERNAL: an enum value that no row has.
absl::StatusOr<Cluster> FromProto(const v1::Cluster& cluster);
absl::StatusOr<Pool> FromProto(const v1::NodePool& pool);
absl::StatusOr<Node> FromProto(const v1::Node& node);
absl::StatusOr<Event> FromProto(const v1::Event& event);
absl::StatusOr<Lease> FromProto(const v1::Lease& lease);
// A caller's spec; the defaults that rows hold explicitly are filled in: `IdleOnly`, no eviction of
// unhealthy Nodes.
Spec FromProto(const v1::NodePoolSpec& spec);
Status FromProto(const v1::NodePoolStatus& status);
// Paths of the fields that are set in a spec, of those that can be written by themselves
// (spec_fields.h).
std::vector<std::string> SetPaths(const v1::NodePoolSpec& spec);

// nullopt: a value of a newer schema.
std::optional<Reboot> RebootOf(v1::NodeOrders::Reboot reboot);

// A report as a command; adds the report's faults. `path`: the report's path, e.g. `reports[3]`.
ReportNode FromProto(const v1::NodeReport& report, absl::string_view path, Faults& faults);

// The faults of malformed names.
inline constexpr char kClusterNameShape[] =
    "must be `organizations/{organization}/clusters/{cluster}`, both DNS labels";
inline constexpr char kPoolNameShape[] =
    "must be `organizations/{organization}/clusters/{cluster}/nodePools/{pool}`, the pool a DNS "
    "subdomain of at most 63 bytes";
inline constexpr char kNodeNameShape[] =
    "must be `organizations/{organization}/clusters/{cluster}/nodePools/{pool}/nodes/{machine}`";

}  // namespace muster::lifecycle
