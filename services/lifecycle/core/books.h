#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/lifecycle/core/types.h"

// The books of the four services, held against each other: what is held, charged and configured
// belongs to a pool, and a pool's Nodes are the machines that it holds. Pure; no service's types.
namespace muster::lifecycle {

struct NodeEntry {
  std::string machine = {};
  // The Node's machine can be given back, or was (IsReturnable).
  bool leaving = false;
  bool operator==(const NodeEntry&) const = default;
};

// Lifecycle's page: a pool with its Nodes.
struct PoolEntry {
  std::string uid = {};
  std::string name = {};
  std::string organization = {};
  std::string zone = {};
  std::string instance_type = {};
  std::string compute_class = {};  // `default` or `spot`
  int64_t wanted = 0;              // Pool::wanted_nodes
  int64_t granted = 0;             // PoolAccount::granted_nodes
  int64_t requested = 0;           // PoolAccount::requested_nodes
  std::vector<NodeEntry> nodes = {};
  bool operator==(const PoolEntry&) const = default;
};

// Quota's page.
struct HoldingEntry {
  std::string pool_uid = {};
  std::string name = {};
  std::string organization = {};
  std::string zone = {};
  std::string instance_type = {};
  std::string compute_class = {};
  int64_t nodes = 0;
  int64_t generation = 0;
  std::string pool = {};  // as people know it
  bool operator==(const HoldingEntry&) const = default;
};

// Capacity's page.
struct ClaimEntry {
  std::string pool_uid = {};
  std::string zone = {};
  std::string instance_type = {};
  std::string compute_class = {};
  std::vector<std::string> machines = {};  // held
  int64_t generation = 0;
  std::string pool = {};          // as people know it
  std::string organization = {};  // empty: not known
  bool operator==(const ClaimEntry&) const = default;
};

// Configuration's page.
struct ConfigurationEntry {
  std::string pool_uid = {};
  int64_t generation = 0;
  bool operator==(const ConfigurationEntry&) const = default;
};

// All four pages, taken at one moment or each at its own; in that case the pools last.
struct Books {
  std::vector<PoolEntry> pools = {};
  std::vector<HoldingEntry> holdings = {};
  std::vector<ClaimEntry> claims = {};
  std::vector<ConfigurationEntry> configurations = {};
  // Lifecycle asked under smaller generations only in an earlier history, before its database was
  // restored to a past. 0: it was never restored.
  int64_t history_floor = 0;
};

PoolEntry EntryOf(const Pool& pool, const std::vector<const Node*>& nodes);

enum class DifferenceKind {
  kOrphanHolding,        // of a pool that does not exist
  kOrphanClaim,          // likewise
  kOrphanConfiguration,  // likewise
  kForeignKey,           // a holding or claim for another organization, zone, type or class
  kUndercharged,         // the pool is charged for fewer Nodes than it has or has asked for
  kOvercharged,          // for more than it has, has asked for and wants
  kOverheld,             // its claim holds more machines than were asked for
  kMachineWithoutNode,   // its claim holds a machine that is no Node of the pool
  kNodeWithoutMachine,   // a Node whose machine the pool's claim does not hold
  kMachineTwice,         // Nodes of two pools are the same machine
  kNoConfiguration,      // it has Nodes and no configuration
};
inline constexpr int kDifferenceKinds = 11;
// The difference is about a pool that does not exist.
inline bool IsOrphan(DifferenceKind kind) { return kind <= DifferenceKind::kOrphanConfiguration; }
// `orphan_holding`, ...: for metrics and people.
absl::string_view DifferenceKindName(DifferenceKind kind);

struct Difference {
  DifferenceKind kind = DifferenceKind::kOrphanHolding;
  std::string pool_uid = {};
  std::string pool = {};     // its name, as far as known
  std::string subject = {};  // what of the pool: a machine, a holding; empty: the pool
  std::string message = {};  // for people
  // True: no fault while something is on its way (granted and not yet assigned, given back and not
  // yet purged, lowered and not yet told), even in a snapshot of one moment. At rest it is one.
  bool passing = false;
  bool operator==(const Difference&) const = default;
};

// Every difference, by kind, then by uid and subject. In a snapshot of one moment each that is not
// `passing` is a fault. A snapshot of several moments also shows differences that are none:
// BooksMemory.
std::vector<Difference> Differences(const Books& books);

// A line of the books side by side: one organization, zone, type and class.
struct BooksLine {
  std::string organization = {};  // empty where nobody says whose it is
  std::string zone = {};
  std::string instance_type = {};
  std::string compute_class = {};
  int64_t pools = 0;
  int64_t nodes = 0;           // lifecycle's
  int64_t charged = 0;         // quota's
  int64_t machines = 0;        // that capacity's claims hold
  int64_t configurations = 0;  // of these pools
  bool operator==(const BooksLine&) const = default;
};

// In the order of the first four fields. An orphan counts for the organization that its holding or
// claim names; an orphan configuration on the line whose four fields are empty.
std::vector<BooksLine> SideBySide(const Books& books);

}  // namespace muster::lifecycle
