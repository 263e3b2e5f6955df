#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/time/time.h"
#include "services/capacity/core/commands.h"
#include "services/capacity/core/view.h"

// What the model keeps: one zone with one instance type, as plain as can be. Names of states,
// classes and reasons are the core's, its algorithms are not.
namespace muster::model {

using capacity::Affinity;
using capacity::ClaimReason;
using capacity::ComputeClass;
using capacity::MachineState;

// Nodes asked for at one time and not granted yet. "A raise is a new request of its own" (12).
struct Request {
  absl::Time time = absl::UnixEpoch();
  int64_t nodes = 0;
};

// The place of one Node in the queue. A request for n Nodes brings n places of its time (11).
struct Place {
  absl::Time time = absl::UnixEpoch();
  std::string asked_by = {};  // the claim's uid
  bool operator==(const Place&) const = default;
  bool operator<(const Place& other) const {
    return std::tie(time, asked_by) < std::tie(other.time, other.asked_by);
  }
};

struct Claim {
  std::string uid = {};
  std::string organization = {};
  int64_t generation = 0;
  ComputeClass compute_class = ComputeClass::kDefault;
  int32_t priority = 0;
  Affinity affinity = {};
  bool gang = false;
  int64_t nodes = 0;
  int64_t reclaim_generation = 0;
  std::vector<Request> requests = {};  // oldest first, no time twice
  std::vector<Place> places = {};      // one a Node outstanding, oldest first
  std::set<absl::Time> lost = {};      // times of requests that lost a machine to repair
  bool rests = false;                  // waits, but is granted nothing before its next request
};

struct Machine {
  std::string id = {};
  std::string fabric = {};
  std::string rack = {};
  std::map<std::string, std::string> labels = {};
  MachineState state = MachineState::kFree;
  std::string claim = {};
  absl::Time request_time = absl::UnixEpoch();  // of the request that it was granted for
  absl::Time place_time = absl::UnixEpoch();    // of the place that was used up for it
  absl::Time held_since = absl::UnixEpoch();    // while held
  std::optional<absl::Time> reclaim_time = {};  // while reclaiming
};

struct Books {
  int32_t nodes_per_rack = 0;  // 0: single machines
  bool offered = true;
  bool spot_offered = true;
  std::map<std::string, Machine> machines = {};
  std::map<std::string, Claim> claims = {};
};

// A turn in the queue: one Node of a request, at its place. A gang's request that is met at once
// has one turn for all its Nodes, at the last of their places.
struct Turn {
  std::string uid = {};
  absl::Time time = absl::UnixEpoch();  // of the request
  std::vector<Place> places = {};
};

// The functions below are what the rules have in common.

// All turns, in the order of the queue.
std::vector<Turn> OrderOf(const Books& books);
// For a claim that waits and does not rest: the place of its first request, and the number of other
// claims' Nodes ahead of its last Node.
capacity::QueuePlace PlaceOf(const Books& books, const Claim& claim);
bool Takes(const Affinity& affinity, const std::map<std::string, std::string>& labels);
bool Offered(const Books& books, const Claim& claim);
int64_t Held(const Books& books, const Claim& claim);
int64_t Outstanding(const Claim& claim);
void AddRequest(Claim& claim, absl::Time time, int64_t nodes, absl::Time place);
// "Lowering cancels the youngest first" (5), and the youngest places with them.
void CancelYoungest(Claim& claim, int64_t nodes);
// Whether nothing of the request may be granted before all of it. A request of which the claim has
// machines already only replaces those that it lost: "alone, with its old age" (12).
bool AtOnce(const Books& books, const Claim& claim, const Request& request);
// Whether the machine is in a rack where only this claim holds machines: what is free there is for
// it alone.
bool InOwnRack(const Books& books, const Claim& claim, const Machine& machine);
// Whether the machines in service and in repair are enough for the whole request if it is met at
// once, else for one Node (or rack) of it.
bool CanEverBeMet(const Books& books, const Claim& claim, const Request& request);
ClaimReason ReasonOf(const Books& books, const Claim& claim);

}  // namespace muster::model
