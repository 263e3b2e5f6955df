#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/time/time.h"
#include "services/capacity/core/rank_tree.h"
#include "services/capacity/core/rows.h"

// Who waits for the machines of one zone and type, and in which order.
//
// Every Node that is waited for has a place: whoever asks for n Nodes brings n places of that time.
// The queue is the order of the places: class default before spot, then by time. So what priorities
// an organization gives to its claims is nothing to the others. Its own requests take its places of
// a class in order of their priority, then of their own times, Node by Node: of a large request's
// early places a small urgent one takes as many as it has Nodes, and the large one gets the small
// one's for it. A gang's turn is that of the last place that it takes: never earlier than its
// organization has places for all of it.
//
// A Node that gets its machine at a place of another request leaves to that one a place of its own,
// the youngest (Spend in grant.h): places are used up, so that no old request makes younger ones
// old for ever. Who wants less loses its youngest places; a machine lost to repair is asked for
// again at the place that was used up for it.
//
// It follows: at any point of the queue an organization has been given no more machines than it has
// places up to there. And as long as its requests take the same machines in the same way (affinity,
// gang) and it asks and returns the same, all others are granted the same number of machines at the
// same time whatever its priorities are.
namespace muster::capacity {

// Machines held by the request that they were granted for.
using Ages = absl::btree_map<absl::Time, int64_t>;

// Whether all of the part is granted at once or nothing of it: that of a gang, unless the claim
// holds machines of the same request, or has lost all of them. Then each is replaced alone.
bool IsAtOnce(const ClaimRow& claim, const ClaimPart& part, const Ages& ages);

// One outstanding part of one claim, in the order within its organization.
struct QueueKey {
  ComputeClass compute_class = ComputeClass::kDefault;
  int32_t priority = 0;
  absl::Time request_time = absl::UnixEpoch();
  std::string pool_uid = {};

  bool operator==(const QueueKey&) const = default;
  // Default before spot, higher priority first, older first, then uid.
  bool operator<(const QueueKey& other) const {
    return std::tie(compute_class, other.priority, request_time, pool_uid) <
           std::tie(other.compute_class, priority, other.request_time, other.pool_uid);
  }
};

// What was asked for by one request, in the order over all organizations.
struct PlaceKey {
  ComputeClass compute_class = ComputeClass::kDefault;
  absl::Time time = absl::UnixEpoch();
  std::string organization = {};
  std::string asked_by = {};  // pool uid

  auto Tie() const { return std::tie(compute_class, time, organization, asked_by); }
  bool operator==(const PlaceKey&) const = default;
  bool operator<(const PlaceKey& other) const { return Tie() < other.Tie(); }
};

// Where a Node of a request stands.
struct Position {
  PlaceKey place = {};
  QueueKey request = {};
  bool operator<(const Position& other) const {
    return std::tie(place, request) < std::tie(other.place, other.request);
  }
};

// What stands at one place, or at many.
struct QueueSum {
  int64_t entries = 0;
  int64_t nodes = 0;

  QueueSum& operator+=(const QueueSum& other) {
    entries += other.entries;
    nodes += other.nodes;
    return *this;
  }
  bool operator==(const QueueSum&) const = default;
};

// Parts that take the same machines in the same way.
struct Selector {
  Affinity affinity = {};
  bool gang = false;  // at once
  auto operator<=>(const Selector&) const = default;
};

// Where a claim stands: see QueuePlace in the proto.
struct QueuePlace {
  int64_t place = 0;
  int64_t nodes_ahead = 0;
  bool operator==(const QueuePlace&) const = default;
};

class Queue {
 public:
  // Who waits with a selector, by class and own time.
  using Line = absl::btree_set<std::tuple<ComputeClass, absl::Time, std::string>>;
  struct Request {
    QueueKey key = {};
    Selector selector = {};
    bool operator==(const Request&) const = default;
    bool operator<(const Request& other) const { return key < other.key; }
  };
  using Requests = RankTree<Request, QueueSum>;
  using Places = RankTree<PlaceKey, QueueSum>;

  // What of the claim stands in the queue: parts.h. `ages`: of the machines that the claim holds,
  // the same for both. Cost O(log) a part and place.
  void Add(const ClaimRow& claim, const Ages& ages);
  void Remove(const ClaimRow& claim, const Ages& ages);

  // No line is empty.
  const std::map<Selector, Line>& lines() const { return lines_; }
  bool empty() const { return lines_.empty(); }

  // The places of all organizations.
  const Places& places() const { return places_; }
  // An organization's requests; one must wait.
  const Requests& RequestsOf(const std::string& organization) const {
    return organizations_.at(organization).requests;
  }

  // Nodes whose places are before it. Costs O(log).
  int64_t NodesBefore(const PlaceKey& place) const { return places_.Before(place).nodes; }
  // Where the last Node of a part of a waiting claim stands. Costs O(log).
  Position PositionOf(const ClaimRow& claim, const ClaimPart& part) const;
  // Where a waiting claim stands. Costs O(log).
  QueuePlace PlaceOf(const ClaimRow& claim) const;
  // The claim that has Nodes at the place: the first one by uid that is not `uid`. Empty: none.
  std::string OwnerOf(const PlaceKey& place, absl::string_view uid) const;

  bool operator==(const Queue&) const = default;

 private:
  // Of all its classes: the sums of requests and places agree for each of them.
  struct Organization {
    Requests requests = {};
    Places places = {};
    absl::btree_map<std::pair<PlaceKey, std::string>, int64_t> owners = {};  // by claim
    bool operator==(const Organization&) const = default;
  };

  static QueueKey KeyOf(const ClaimRow& claim, const ClaimPart& part) {
    return {claim.compute_class, claim.priority, part.request_time, claim.pool_uid};
  }
  void AddPlaces(Organization& organization, const ClaimRow& claim, int64_t by);
  // The place of the organization's nth Node, counted from 0.
  static PlaceKey PlaceOfNode(const Organization& organization, int64_t nth);

  std::map<Selector, Line> lines_;
  Places places_;
  std::map<std::string, Organization> organizations_;
};

}  // namespace muster::capacity
