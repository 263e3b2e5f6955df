#include "storage/configuration/columns.h"

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_join.h"
#include "services/configuration/core/names.h"
#include "storage/postgres/kept_request_table.h"
#include "storage/postgres/released_pool_table.h"
#include "storage/postgres/sql_types.h"
#include "storage/postgres/transaction.h"

namespace muster::storage {
namespace {

using configuration::NodeProfile;
using configuration::Order;
using configuration::PoolConfiguration;
using configuration::Print;
using configuration::Release;
using configuration::Revision;
using configuration::Spec;

constexpr Statement kPutReleases = {
    "put_releases",
    "INSERT INTO release (name, channel, component, version, create_time, withdraw_time, revision)"
    " SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[],"
    " $6::timestamptz[], $7::bigint[])"
    " ON CONFLICT (name) DO UPDATE SET create_time = excluded.create_time,"
    " withdraw_time = excluded.withdraw_time, revision = excluded.revision"};
constexpr Statement kDeleteReleases = {"delete_releases",
                                       "DELETE FROM release WHERE name = ANY ($1::text[])"};

constexpr Statement kPutProfiles = {
    "put_profiles",
    "INSERT INTO node_profile (id, image, kernel, release_train, gpu_driver, kubernetes, revision)"
    " SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],"
    " $7::bigint[])"
    " ON CONFLICT (id) DO UPDATE SET image = excluded.image, kernel = excluded.kernel,"
    " release_train = excluded.release_train, gpu_driver = excluded.gpu_driver,"
    " kubernetes = excluded.kubernetes, revision = excluded.revision"};
constexpr Statement kDeleteProfiles = {
    "delete_profiles", "DELETE FROM node_profile WHERE 'nodeProfiles/' || id = ANY ($1::text[])"};

constexpr Statement kPutPools = {
    "put_pools",
    "INSERT INTO pool_configuration (pool_uid, generation, image_name, image_kernel, release_train,"
    " gpu_version, gpu, kubernetes, strategy, pending_profile, pending_time, pending_summary,"
    " problem, waiting_profile, waiting_time, waiting_summary, pinned, mid_delivery, spec_unmet,"
    " problem_of_spec, revision)"
    " SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[],"
    " $6::text[], $7::boolean[], $8::text[], $9::text[], $10::text[], $11::timestamptz[],"
    " $12::text[], $13::text[], $14::text[], $15::timestamptz[], $16::text[], $17::text[],"
    " $18::boolean[], $19::boolean[], $20::boolean[], $21::bigint[])"
    " ON CONFLICT (pool_uid) DO UPDATE SET generation = excluded.generation,"
    " image_name = excluded.image_name, image_kernel = excluded.image_kernel,"
    " release_train = excluded.release_train, gpu_version = excluded.gpu_version,"
    " gpu = excluded.gpu, kubernetes = excluded.kubernetes, strategy = excluded.strategy,"
    " pending_profile = excluded.pending_profile, pending_time = excluded.pending_time,"
    " pending_summary = excluded.pending_summary, problem = excluded.problem,"
    " waiting_profile = excluded.waiting_profile, waiting_time = excluded.waiting_time,"
    " waiting_summary = excluded.waiting_summary, pinned = excluded.pinned,"
    " mid_delivery = excluded.mid_delivery, spec_unmet = excluded.spec_unmet,"
    " problem_of_spec = excluded.problem_of_spec,"
    " revision = excluded.revision"};
constexpr Statement kDeletePools = {
    "delete_pools",
    "DELETE FROM pool_configuration WHERE pool_uid IN"
    " (SELECT substr(name, length('poolConfigurations/') + 1) FROM unnest($1::text[]) AS name)"};

// $1, $2: pools and how many revisions they have now.
constexpr Statement kCutRevisions = {
    "cut_revisions",
    "DELETE FROM pool_revision AS r USING unnest($1::text[], $2::integer[]) AS n (pool_uid, size)"
    " WHERE r.pool_uid = n.pool_uid AND r.position >= n.size"};
// Most of a list is as it was: only what differs is written.
constexpr Statement kPutRevisions = {
    "put_revisions",
    "INSERT INTO pool_revision AS r (pool_uid, position, node_profile, create_time, summary,"
    " disabled, enable_count)"
    " SELECT * FROM unnest($1::text[], $2::integer[], $3::text[], $4::timestamptz[], $5::text[],"
    " $6::boolean[], $7::bigint[])"
    " ON CONFLICT (pool_uid, position) DO UPDATE SET node_profile = excluded.node_profile,"
    " create_time = excluded.create_time, summary = excluded.summary,"
    " disabled = excluded.disabled, enable_count = excluded.enable_count"
    " WHERE (r.node_profile, r.create_time, r.summary, r.disabled, r.enable_count)"
    " IS DISTINCT FROM (excluded.node_profile, excluded.create_time, excluded.summary,"
    " excluded.disabled, excluded.enable_count)"};

// $1: pools; $2, $3: the orders that they have now.
constexpr Statement kCutOrders = {
    "cut_orders",
    "DELETE FROM pool_order WHERE pool_uid = ANY ($1::text[]) AND (pool_uid, number) NOT IN"
    " (SELECT * FROM unnest($2::text[], $3::bigint[]))"};
constexpr Statement kPutOrders = {
    "put_orders",
    "INSERT INTO pool_order AS o (pool_uid, number, kind, requested, node_profile, outcome,"
    " message, create_time)"
    " SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[],"
    " $6::text[], $7::text[], $8::timestamptz[])"
    " ON CONFLICT (pool_uid, number) DO UPDATE SET kind = excluded.kind,"
    " requested = excluded.requested, node_profile = excluded.node_profile,"
    " outcome = excluded.outcome, message = excluded.message, create_time = excluded.create_time"
    " WHERE (o.kind, o.requested, o.node_profile, o.outcome, o.message, o.create_time)"
    " IS DISTINCT FROM (excluded.kind, excluded.requested, excluded.node_profile,"
    " excluded.outcome, excluded.message, excluded.create_time)"};

// A list in one field: one item a line.
std::string Lines(const std::vector<std::string>& facts) { return absl::StrJoin(facts, "\n"); }
// The changes of one kind as columns.
struct ReleaseColumns {
  SqlArray deleted, name, channel, component, version, create_time, withdraw_time, revision;

  void Add(const std::string& key, const Release* row, int64_t at) {
    if (row == nullptr) return deleted.Add(key);
    name.Add(key);
    channel.Add(Print(row->channel));
    component.Add(Print(row->component));
    version.Add(row->version);
    create_time.Add(row->create_time);
    row->withdraw_time ? withdraw_time.Add(*row->withdraw_time) : withdraw_time.AddNull();
    revision.Add(at);
  }
  void Put(Transaction& tx) const {
    if (name.empty()) return;
    tx.Queue(kPutReleases, name.Text(), channel.Text(), component.Text(), version.Text(),
             create_time.Text(), withdraw_time.Text(), revision.Text());
  }
};

struct ProfileColumns {
  SqlArray deleted, id, image, kernel, release_train, gpu_driver, kubernetes, revision;

  void Add(const std::string& key, const NodeProfile* row, int64_t at) {
    if (row == nullptr) return deleted.Add(key);
    id.Add(row->id);
    image.Add(row->image);
    kernel.Add(row->kernel);
    release_train.Add(Print(row->release_train));
    gpu_driver.Add(row->gpu_driver);
    kubernetes.Add(row->kubernetes);
    revision.Add(at);
  }
  void Put(Transaction& tx) const {
    if (id.empty()) return;
    tx.Queue(kPutProfiles, id.Text(), image.Text(), kernel.Text(), release_train.Text(),
             gpu_driver.Text(), kubernetes.Text(), revision.Text());
  }
};

struct RevisionColumns {
  SqlArray pool_uid, position, node_profile, create_time, summary, disabled, enable_count;

  void Add(const std::string& uid, size_t at, const Revision& row) {
    pool_uid.Add(uid);
    position.Add(at);
    node_profile.Add(row.node_profile);
    create_time.Add(row.create_time);
    summary.Add(Lines(row.summary));
    disabled.Add(row.disabled);
    enable_count.Add(row.enable_count);
  }
  void Put(Transaction& tx) const {
    if (pool_uid.empty()) return;
    tx.Queue(kPutRevisions, pool_uid.Text(), position.Text(), node_profile.Text(),
             create_time.Text(), summary.Text(), disabled.Text(), enable_count.Text());
  }
};

struct OrderColumns {
  SqlArray pool_uid, number, kind, requested, node_profile, outcome, message, create_time;

  void Add(const std::string& uid, const Order& row) {
    pool_uid.Add(uid);
    number.Add(row.number);
    kind.Add(Print(row.kind));
    requested.Add(row.requested);
    node_profile.Add(row.node_profile);
    outcome.Add(Print(row.outcome));
    message.Add(row.message);
    create_time.Add(row.create_time);
  }
  void Put(Transaction& tx) const {
    if (pool_uid.empty()) return;
    tx.Queue(kPutOrders, pool_uid.Text(), number.Text(), kind.Text(), requested.Text(),
             node_profile.Text(), outcome.Text(), message.Text(), create_time.Text());
  }
};

// A Revision that may be none.
struct OptionalRevisionColumns {
  SqlArray profile, time, summary;

  void Add(const Revision& row) {
    if (row.node_profile.empty()) {
      for (SqlArray* column : {&profile, &time, &summary}) column->AddNull();
      return;
    }
    profile.Add(row.node_profile);
    time.Add(row.create_time);
    summary.Add(Lines(row.summary));
  }
};

struct PoolColumns {
  SqlArray deleted, pool_uid, generation, image_name, image_kernel, release_train, gpu_version, gpu,
      kubernetes, strategy, problem, pinned, mid_delivery, spec_unmet, problem_of_spec, revision,
      size;
  OptionalRevisionColumns pending, waiting;
  RevisionColumns revisions;
  OrderColumns orders;

  void Add(const std::string& key, const PoolConfiguration* row, int64_t at) {
    if (row == nullptr) return deleted.Add(key);
    pool_uid.Add(row->pool_uid);
    generation.Add(row->generation);
    Add(row->spec);
    pending.Add(row->pending);
    problem.Add(row->problem);
    waiting.Add(row->waiting);
    pinned.Add(Lines(row->pinned));
    mid_delivery.Add(row->mid_delivery);
    spec_unmet.Add(row->spec_unmet);
    problem_of_spec.Add(row->problem_of_spec);
    revision.Add(at);
    size.Add(row->revisions.size());
    for (size_t i = 0; i < row->revisions.size(); ++i) {
      revisions.Add(row->pool_uid, i, row->revisions[i]);
    }
    for (const Order& order : row->orders) orders.Add(row->pool_uid, order);
  }
  void Add(const Spec& spec) {
    image_name.Add(spec.image_name);
    image_kernel.Add(spec.image_kernel);
    release_train.Add(Print(spec.release_train));
    gpu_version.Add(spec.gpu_version);
    gpu.Add(spec.gpu);
    kubernetes.Add(spec.kubernetes);
    strategy.Add(Print(spec.strategy));
  }
  void Put(Transaction& tx) const {
    if (pool_uid.empty()) return;
    tx.Queue(kPutPools, pool_uid.Text(), generation.Text(), image_name.Text(), image_kernel.Text(),
             release_train.Text(), gpu_version.Text(), gpu.Text(), kubernetes.Text(),
             strategy.Text(), pending.profile.Text(), pending.time.Text(), pending.summary.Text(),
             problem.Text(), waiting.profile.Text(), waiting.time.Text(), waiting.summary.Text(),
             pinned.Text(), mid_delivery.Text(), spec_unmet.Text(), problem_of_spec.Text(),
             revision.Text());
    tx.Queue(kCutRevisions, pool_uid.Text(), size.Text());
    tx.Queue(kCutOrders, pool_uid.Text(), orders.pool_uid.Text(), orders.number.Text());
    revisions.Put(tx);
    orders.Put(tx);
  }
};

void Delete(Transaction& tx, const Statement& statement, const SqlArray& keys) {
  if (!keys.empty()) tx.Exec(statement, keys.Text());
}

}  // namespace

void WriteColumns(Transaction& tx,
                  absl::Span<const Revised<configuration::State::Change>> changes) {
  ReleaseColumns releases;
  ProfileColumns profiles;
  PoolColumns pools;
  ReleasedPoolColumns released;
  KeptRequestColumns kept;
  for (const auto& [change, revision] : changes) {
    if (const auto* release = std::get_if<std::shared_ptr<const Release>>(&change.row)) {
      releases.Add(change.key, release->get(), revision);
    } else if (const auto* profile = std::get_if<std::shared_ptr<const NodeProfile>>(&change.row)) {
      profiles.Add(change.key, profile->get(), revision);
    } else if (const auto* pool =
                   std::get_if<std::shared_ptr<const PoolConfiguration>>(&change.row)) {
      pools.Add(change.key, pool->get(), revision);
    } else {
      const Revised<configuration::State::Change> internal{change, revision};
      released.Add(internal) || kept.Add(internal);
    }
  }
  // Pools name profiles: they come after them and go before them.
  Delete(tx, kDeletePools, pools.deleted);
  releases.Put(tx);
  profiles.Put(tx);
  pools.Put(tx);
  released.Send(tx);
  kept.Send(tx);
  Delete(tx, kDeleteProfiles, profiles.deleted);
  Delete(tx, kDeleteReleases, releases.deleted);
}

}  // namespace muster::storage
