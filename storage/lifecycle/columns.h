#pragma once

#include <string>

#include "services/lifecycle/core/types.h"
#include "storage/postgres/sql_types.h"
#include "storage/postgres/transaction.h"

// The changes of each kind as columns, and the statements that write them. Includes libpqxx: for
// this folder only.
namespace muster::storage {

struct ClusterColumns {
  SqlArray deleted, name, zone, kubernetes_version, create_time, kubernetes_uid, allowed_node_pools,
      allowed_nodes, allowance_create_time, allowance_expire_time, revision;
  void Add(const std::string& key, const lifecycle::Cluster* row, int64_t at);
  void Delete(Transaction& tx) const;
  void Put(Transaction& tx) const;
};

struct PoolColumns {
  SqlArray deleted, name, cluster_name, uid, zone, generation, object_generation, create_time,
      delete_time, instance_type, target_nodes, spec, status, ask_generation, granted_nodes,
      requested_nodes, removed_nodes, detail, revision;
  void Add(const std::string& key, const lifecycle::Pool* row, int64_t at);
  void Delete(Transaction& tx) const;
  void Put(Transaction& tx) const;
};

struct NodeColumns {
  SqlArray deleted, name, pool_name, machine, pool_uid, state, state_time, create_time, phase,
      phase_time, node_profile, cordoned, drain, drain_deadline, observed_profile, active,
      active_time, autoscaler_marked, removal_cause, preempt_time, detail, revision;
  void Add(const std::string& key, const lifecycle::Node* row, int64_t at);
  void Delete(Transaction& tx) const;
  void Put(Transaction& tx) const;
};

struct EventColumns {
  SqlArray deleted, name, object, pool_uid, type, reason, message, count, first_time, last_time,
      revision;
  void Add(const std::string& key, const lifecycle::Event* row, int64_t at);
  void Delete(Transaction& tx) const;
  void Put(Transaction& tx) const;
};

struct LeaseColumns {
  SqlArray deleted, name, holder, epoch, incarnation, generation_floor, revision;
  void Add(const std::string& key, const lifecycle::Lease* row, int64_t at);
  void Delete(Transaction& tx) const;
  void Put(Transaction& tx) const;
};

// A row's word for a phase, as in the table's check.
const char* PhaseName(lifecycle::Phase phase);
// A row's word for a cause, as in the table's check; empty: none.
const char* CauseName(lifecycle::RemovalCause cause);

}  // namespace muster::storage
