#pragma once

#include <cstdint>
#include <vector>

#include "services/capacity/core/rows.h"
#include "storage/postgres/sql_types.h"
#include "storage/postgres/transaction.h"

// The statements of capacity's tables: the changes of one kind as columns, sent as one upsert and
// one delete. For this folder only; includes libpqxx.
namespace muster::storage::capacity_sql {

template <class Row>
struct Loaded {
  Row row = {};
  int64_t revision = 0;
};

// Every row of the table.
std::vector<Loaded<capacity::ZoneRow>> LoadZones(Transaction& tx);
std::vector<Loaded<capacity::InstanceTypeRow>> LoadInstanceTypes(Transaction& tx);
std::vector<Loaded<capacity::ClaimRow>> LoadClaims(Transaction& tx);
std::vector<Loaded<capacity::MachineRow>> LoadMachines(Transaction& tx);
std::vector<Loaded<capacity::ArrivalsRow>> LoadArrivals(Transaction& tx);

struct ZoneColumns {
  SqlArray id, access, instance_types, revision;
  void Add(const capacity::ZoneRow& row, int64_t at);
  void Send(Transaction& tx) const;
};

struct InstanceTypeColumns {
  SqlArray id, gpus, gpu_model, vcpus, memory_kib, ephemeral_storage_kib, architecture, max_pods,
      superchip, nodes_per_rack, fabric, revision;
  void Add(const capacity::InstanceTypeRow& row, int64_t at);
  void Send(Transaction& tx) const;
};

struct ClaimColumns {
  SqlArray pool_uid, generation, zone, instance_type, compute_class, nodes, priority, pool,
      part_times, part_nodes, returns_digest, affinity, gang, reclaim_generation, organization,
      place_times, place_askers, place_nodes, revision;
  void Add(const capacity::ClaimRow& row, int64_t at);
  void Send(Transaction& tx) const;
};

struct MachineColumns {
  SqlArray id, zone, instance_type, fabric, rack, slot, label_keys, label_values, state, state_time,
      claim, request_time, compute_class, reclaim_time, earmark, place_time, revision;
  void Add(const capacity::MachineRow& row, int64_t at);
  void Send(Transaction& tx) const;
};

struct ArrivalsColumns {
  SqlArray zone, instance_type, compute_class, burst_times, burst_machines, revision;
  void Add(const capacity::ArrivalsRow& row, int64_t at);
  void Send(Transaction& tx) const;
};

// The ids of rows that are gone, of any kind; of arrivals `{zone}/{type}/{class}`.
struct Deletions {
  SqlArray zones, instance_types, claims, machines, arrivals;
  void Send(Transaction& tx) const;
};

}  // namespace muster::storage::capacity_sql
