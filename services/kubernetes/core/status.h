#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"
#include "services/kubernetes/core/objects.h"

namespace muster::kubernetes {

// Whose names conditions and events bear.
enum class Edition { kCurrent, kFirst, kBoth };

// A spec that Muster did not take.
struct Refusal {
  int64_t generation = 0;    // of the object
  std::string message = {};  // every fault
};

// Whether the metadata of a pool's Nodes is as it should be, for the first edition's
// MetadataSynced.
struct Synced {
  int64_t nodes = 0;    // that are to have a v1 Node
  int64_t pending = 0;  // of them: it is not there yet, or not all of it is on it
  int64_t unknown = 0;  // of them: it is not known whether the v1 Node is that Node's
};

// What the API server does not let us write: labels, annotations, taints, `unschedulable`.
struct MetadataRefusal {
  int64_t nodes = 0;         // of how many of a pool's Nodes
  std::string message = {};  // of one of them, and what the server said
};

// Whether the Nodes of a pool take work, for the condition Ready.
struct Service {
  int64_t nodes = 0;   // of Muster's
  int64_t absent = 0;  // of them: not in production, or their v1 Node is not as it should be
};

// The CRD's spec as Muster's. What Muster does not know is left out; INVALID_ARGUMENT, with the
// field, when one is of another type.
absl::StatusOr<lifecycle::v1::NodePoolSpec> SpecOf(const Json& spec);

// What `object.status` should be, in the CRD's words. `pool`: Muster's of that uid, or null while
// there is none. Nullopt: nothing is known to say, it stays as it is. `now` is the transition time
// of what changes here.
struct StatusFacts {
  const NodePoolObject* object = nullptr;
  const lifecycle::v1::NodePool* pool = nullptr;
  std::optional<Refusal> refusal = {};
  bool gone = false;  // deleted, and Muster has nothing left of it
  Edition edition = Edition::kCurrent;
  Synced synced = {};  // read for the first edition only
  std::optional<MetadataRefusal> metadata_refusal = {};
  bool ready = false;    // show Ready, and what goes with it
  Service service = {};  // read for that only
  // What the brake says of the pool (core/brake.h); nullopt: nothing is held.
  std::optional<std::string> held = {};
};
std::optional<Json> DesiredStatus(const StatusFacts& facts, absl::Time now);

// What the annotation kGrantable should say; nullopt: it should not be there.
std::optional<std::string> GrantableText(const lifecycle::v1::NodePool& pool);

// Whether the status that is there already says so. Fields and conditions of others do not count.
bool Says(const Json& status, const Json& desired);

// Whether it says that Muster did not take that spec.
bool SaysRefusal(const Json& status, const Refusal& refusal);

// As Kubernetes writes times: RFC 3339 in UTC, whole seconds. Empty for none.
std::string KubernetesTime(const google::protobuf::Timestamp& time);
std::string KubernetesTime(absl::Time time);

}  // namespace muster::kubernetes
