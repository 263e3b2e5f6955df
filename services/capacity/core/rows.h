#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/capacity/core/affinity.h"
#include "services/capacity/core/names.h"
#include "services/common/interned.h"

// What the capacity service keeps. The meaning of every field stands in
// muster/capacity/v1/capacity.proto.
namespace muster::capacity {

enum class ZoneAccess { kGeneral, kDedicated };
enum class ComputeClass { kDefault, kSpot };
constexpr absl::string_view NameOf(ComputeClass compute_class) {
  return compute_class == ComputeClass::kSpot ? "spot" : "default";
}
enum class MachineState { kFree, kHeld, kReclaiming, kInRepair, kRetired };

struct ZoneRow {
  static constexpr char kKind[] = "zone";
  std::string id = {};
  ZoneAccess access = ZoneAccess::kGeneral;
  std::vector<std::string> instance_types = {};  // sorted, no id twice
  Word later = {};                               // see services/common/state.h

  std::string Key() const { return ZoneName(id); }
  bool operator==(const ZoneRow&) const = default;
};

struct InstanceTypeRow {
  static constexpr char kKind[] = "instance_type";
  std::string id = {};
  int32_t gpus = 0;
  std::string gpu_model = {};
  int32_t vcpus = 0;
  int64_t memory_kib = 0;
  int64_t ephemeral_storage_kib = 0;
  std::string architecture = {};
  int32_t max_pods = 0;
  bool superchip = false;
  int32_t nodes_per_rack = 0;
  bool fabric = false;
  Word later = {};  // see services/common/state.h

  std::string Key() const { return InstanceTypeName(id); }
  bool operator==(const InstanceTypeRow&) const = default;
};

struct MachineRow {
  static constexpr char kKind[] = "machine";
  std::string id = {};
  Word zone = {};
  Word instance_type = {};
  Word fabric = {};
  Word rack = {};
  int32_t slot = 0;
  std::map<std::string, std::string> labels = {};
  MachineState state = MachineState::kFree;
  absl::Time state_time = absl::UnixEpoch();  // while held or reclaiming: of the grant
  std::string claim = {};                     // set exactly while held or reclaiming
  // Set with `claim`: the age of the part that it was granted for.
  std::optional<absl::Time> request_time = {};
  ComputeClass compute_class = ComputeClass::kDefault;  // of `claim`; kDefault without one
  std::optional<absl::Time> reclaim_time = {};          // set exactly while reclaiming
  std::string earmark = {};  // while reclaiming: the claim that it is forecast for; empty: none
  std::optional<absl::Time> place_time = {};  // of its place, if not request_time: queue.h
  Word later = {};                            // see services/common/state.h

  std::string Key() const { return MachineName(id); }
  bool operator==(const MachineRow&) const = default;
};

// Nodes of a claim that were asked for at one time and are not granted yet.
struct ClaimPart {
  absl::Time request_time = absl::UnixEpoch();
  int64_t nodes = 0;
  bool operator==(const ClaimPart&) const = default;
};

// Places in the queue (queue.h) that were asked for at one time by one claim of the organization.
struct ClaimPlace {
  absl::Time time = absl::UnixEpoch();
  std::string asked_by = {};  // pool uid
  int64_t nodes = 0;
  bool operator==(const ClaimPlace&) const = default;
};

// A request that has lost machines to repair.
struct LostRequest {
  absl::Time request_time = absl::UnixEpoch();
  // Since when something of it has been outstanding without a break: since the request or, when all
  // of it had been granted, since the first loss.
  absl::Time since = absl::UnixEpoch();
  bool operator==(const LostRequest&) const = default;
};

// The machines held are not in the row: they carry the claim's uid (State::FootprintOf). Always:
// sum of parts = max(0, nodes - machines held).
struct ClaimRow {
  static constexpr char kKind[] = "claim";
  std::string pool_uid = {};
  int64_t generation = 0;
  std::string zone = {};
  std::string instance_type = {};
  ComputeClass compute_class = ComputeClass::kDefault;
  int64_t nodes = 0;
  int32_t priority = 0;
  std::string pool = {};
  std::vector<ClaimPart> parts = {};  // outstanding, oldest first, no time twice, none empty
  int64_t returns_digest = 0;         // of the last request's returns; 0: it had none
  Affinity affinity = {};
  bool gang = false;
  int64_t reclaim_generation = 0;  // reclaims of its machines, begun or taken back
  std::string organization = {};
  std::vector<ClaimPlace> places = {};  // by time, then asked_by; empty: those of its parts
  // The requests that lost a machine and of which something is outstanding or withheld, by time.
  // Matters for gangs, and for metrics.
  std::vector<LostRequest> lost = {};
  // Parts and places of which the last request lets nothing be granted (ClaimRequest.wanted_nodes);
  // the next request puts them back. Rests (parts.h) tells whether they stand in the queue.
  std::vector<ClaimPart> withheld_parts = {};
  std::vector<ClaimPlace> withheld_places = {};  // empty: those of these parts
  int64_t withheld_generation = 0;               // of that request; if not `generation`: void
  int64_t leaving_nodes = 0;  // machines held that are about to be given back for what it waits for
  int64_t leaving_generation = 0;  // of the request that said so; if not `generation`: void
  Word later = {};                 // see services/common/state.h

  std::string Key() const { return ClaimName(pool_uid); }
  bool operator==(const ClaimRow&) const = default;
};

// Machines that came at about one time.
struct Burst {
  absl::Time time = absl::UnixEpoch();  // of the first of them
  int64_t machines = 0;
  bool operator==(const Burst&) const = default;
};

// How machines came lately, of one instance type in one zone, that waiting claims of the class
// could have used: arrivals.h. No watch shows it (internal_kind.h).
struct ArrivalsRow {
  static constexpr char kKind[] = "_arrivals";
  std::string zone = {};
  std::string instance_type = {};
  ComputeClass compute_class = ComputeClass::kDefault;
  std::vector<Burst> bursts = {};  // oldest first; the first only tells since when the others came
  Word later = {};                 // see services/common/state.h

  std::string Key() const { return ArrivalsName(zone, instance_type, NameOf(compute_class)); }
  bool operator==(const ArrivalsRow&) const = default;
};

}  // namespace muster::capacity
