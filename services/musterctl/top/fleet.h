#pragma once

#include <muster/capacity/v1/capacity_service.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.pb.h>
#include <muster/quota/v1/quota_service.pb.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/page/core/cell.h"
#include "services/page/core/source.h"

namespace muster::musterctl::top {

// The snapshot of a cell's watch in which, or since which, a row was last reported.
struct Round {
  size_t cell = 0;
  uint32_t number = 0;

  // Whether a row of this round is gone when round `now` ends: its cell has reported everything
  // else anew.
  bool IsOver(const Round& now) const { return cell == now.cell && number != now.number; }
  bool operator==(const Round&) const = default;
};

// A machine and the Node that it is.
struct Machine {
  std::string id = {};
  std::string zone = {};
  std::string type = {};
  std::string rack = {};
  int32_t slot = 0;
  std::string claim = {};          // the holder's pool uid
  page::MachinePart machine = {};  // `known`, `state` and `spot` of it
  page::NodePart node = {};        // `known`, `state` and `preempted` of it
  std::string pool = {};           // of the Node: resource name
  absl::Time node_created = absl::InfinitePast();
  // The spot clock; InfinitePast: not told.
  absl::Time reclaim_time = absl::InfinitePast();  // begin of the clock, as capacity has it
  std::string earmark = {};                        // pool uid that it is expected to go to
  absl::Time preempt_time = absl::InfinitePast();  // begin of the clock, as lifecycle has it
  absl::Time drain_time = absl::InfinitePast();
  absl::Time drain_deadline = absl::InfinitePast();
  Round machine_round = {};
  Round node_round = {};

  page::CellState state() const { return page::StateOf(machine, node); }
  bool is_preempted() const {
    return reclaim_time != absl::InfinitePast() || preempt_time != absl::InfinitePast();
  }
  bool operator==(const Machine&) const = default;
};

// `rack-2` before `rack-10`.
bool NaturalLess(absl::string_view a, absl::string_view b);

// By zone, type, rack, slot and id.
struct ByPlace {
  bool operator()(const Machine* a, const Machine* b) const;
};

struct Quota {
  std::optional<quota::v1::Quota> quota = {};  // nullopt: Nodes are held on a key that has none
  int64_t held = 0;
  Round round = {};
};

struct Pool {
  lifecycle::v1::NodePool pool = {};
  Round round = {};
};

// A claim that waits for machines.
struct Claim {
  capacity::v1::Claim claim = {};  // without its machines
  Round round = {};
};

// All that `musterctl top` shows, built from the messages of the watches. `cell` is the number of a
// cell, from 0; always 0 if there is one server. Pure; not thread-safe.
class Fleet {
 public:
  // A snapshot of this source begins: rows that it does not repeat are gone at its end.
  void BeginSnapshot(page::Source source, size_t cell = 0) {
    ++rounds_[cell][static_cast<size_t>(source)];
  }
  // Takes a message, with the messages bundled in it, that came at `now`.
  void Take(const capacity::v1::WatchCapacityResponse& message, absl::Time now, size_t cell = 0);
  void Take(const quota::v1::WatchQuotasResponse& message, absl::Time now, size_t cell = 0);
  void Take(const lifecycle::v1::WatchLifecycleResponse& message, absl::Time now, size_t cell = 0);

  // Machines that capacity knows.
  const std::set<const Machine*, ByPlace>& places() const { return places_; }
  // All machines by id, also those that only lifecycle knows.
  const std::map<std::string, Machine>& machines() const { return machines_; }
  const std::map<std::string, Quota>& quotas() const { return quotas_; }  // by resource name
  const std::map<std::string, Pool>& pools() const { return pools_; }     // by resource name
  const std::map<std::string, Claim>& claims() const { return claims_; }  // by pool uid
  // The pool's resource name; empty: it is not known.
  std::string PoolOfUid(const std::string& uid) const;
  // InfinitePast: nothing changed since the snapshots.
  absl::Time last_change() const { return last_change_; }

 private:
  struct Holding {
    int64_t nodes = 0;
    Round round = {};
  };

  // The present round of a source of the cell whose message is being taken.
  Round round(page::Source source) { return {cell_, rounds_[cell_][static_cast<size_t>(source)]}; }
  template <class Message>
  void TakeAll(const Message& message, absl::Time now, size_t cell);
  void TakeOne(const capacity::v1::WatchCapacityResponse& message);
  void TakeOne(const quota::v1::WatchQuotasResponse& message);
  void TakeOne(const lifecycle::v1::WatchLifecycleResponse& message);
  void TakeMachine(const capacity::v1::Machine& told);
  void TakeNode(const lifecycle::v1::Node& told);
  // Whether the machine is shown as a later Node. Until an earlier one is purged, a machine may
  // have two, in two pools, and a snapshot tells them in any order.
  bool HasLaterNode(const Machine& machine, const lifecycle::v1::Node& told);
  void TakeClaim(const std::string& uid, const capacity::v1::Claim& told);
  void ForgetMachine(const std::string& id);
  void ForgetNode(const std::string& id, absl::string_view pool);
  void ForgetPool(const std::string& name);
  void SetHeld(const std::string& holding, int64_t nodes, bool there);
  void Tidy(const std::string& quota);
  // Replaces a machine, and updates its position in places_.
  void Replace(const std::string& id, const Machine& told);
  void EndCapacity();
  void EndQuotas();
  void EndLifecycle();

  size_t cell_ = 0;                                                // whose message is being taken
  std::map<size_t, std::array<uint32_t, page::kSources>> rounds_;  // by cell
  std::map<std::string, Machine> machines_;
  std::set<const Machine*, ByPlace> places_;
  std::map<std::string, Quota> quotas_;
  absl::flat_hash_map<std::string, Holding> holdings_;
  std::map<std::string, Pool> pools_;
  std::map<std::string, Claim> claims_;
  absl::flat_hash_map<std::string, std::string> pool_by_uid_;
  absl::Time last_change_ = absl::InfinitePast();
};

}  // namespace muster::musterctl::top
