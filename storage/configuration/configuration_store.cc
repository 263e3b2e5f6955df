#include "storage/configuration/configuration_store.h"

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "services/common/status_macros.h"
#include "services/configuration/core/names.h"
#include "services/configuration/wire/configuration_wire.h"
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

constexpr char kLoadReleases[] =
    "SELECT channel, component, version, create_time, withdraw_time, revision FROM release";
constexpr char kLoadProfiles[] =
    "SELECT id, image, kernel, release_train, gpu_driver, kubernetes, revision FROM node_profile";
constexpr char kLoadPools[] =
    "SELECT pool_uid, generation, image_name, image_kernel, release_train, gpu_version, gpu,"
    " kubernetes, strategy, pending_profile, pending_time, pending_summary, problem,"
    " waiting_profile, waiting_time, waiting_summary, pinned, mid_delivery, spec_unmet, revision"
    " FROM pool_configuration ORDER BY pool_uid";
constexpr char kLoadRevisions[] =
    "SELECT pool_uid, node_profile, create_time, summary, disabled, enable_count"
    " FROM pool_revision ORDER BY pool_uid, position";
constexpr char kLoadOrders[] =
    "SELECT pool_uid, number, kind, requested, node_profile, outcome, message, create_time"
    " FROM pool_order ORDER BY pool_uid, number";

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
    " revision)"
    " SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[],"
    " $6::text[], $7::boolean[], $8::text[], $9::text[], $10::text[], $11::timestamptz[],"
    " $12::text[], $13::text[], $14::text[], $15::timestamptz[], $16::text[], $17::text[],"
    " $18::boolean[], $19::boolean[], $20::bigint[])"
    " ON CONFLICT (pool_uid) DO UPDATE SET generation = excluded.generation,"
    " image_name = excluded.image_name, image_kernel = excluded.image_kernel,"
    " release_train = excluded.release_train, gpu_version = excluded.gpu_version,"
    " gpu = excluded.gpu, kubernetes = excluded.kubernetes, strategy = excluded.strategy,"
    " pending_profile = excluded.pending_profile, pending_time = excluded.pending_time,"
    " pending_summary = excluded.pending_summary, problem = excluded.problem,"
    " waiting_profile = excluded.waiting_profile, waiting_time = excluded.waiting_time,"
    " waiting_summary = excluded.waiting_summary, pinned = excluded.pinned,"
    " mid_delivery = excluded.mid_delivery, spec_unmet = excluded.spec_unmet,"
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

// $1, $2, $3: pools, and the numbers of their first and last order.
constexpr Statement kCutOrders = {
    "cut_orders",
    "DELETE FROM pool_order AS o USING unnest($1::text[], $2::bigint[], $3::bigint[])"
    " AS n (pool_uid, first, last)"
    " WHERE o.pool_uid = n.pool_uid AND NOT o.number BETWEEN n.first AND n.last"};
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
std::vector<std::string> FromLines(absl::string_view text) {
  if (text.empty()) return {};
  return absl::StrSplit(text, '\n');
}

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
      kubernetes, strategy, problem, pinned, mid_delivery, spec_unmet, revision, size, first_order,
      last_order;
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
    revision.Add(at);
    size.Add(row->revisions.size());
    for (size_t i = 0; i < row->revisions.size(); ++i) {
      revisions.Add(row->pool_uid, i, row->revisions[i]);
    }
    first_order.Add(row->orders.empty() ? 0 : row->orders.front().number);
    last_order.Add(row->orders.empty() ? 0 : row->orders.back().number);
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
             pinned.Text(), mid_delivery.Text(), spec_unmet.Text(), revision.Text());
    tx.Queue(kCutRevisions, pool_uid.Text(), size.Text());
    tx.Queue(kCutOrders, pool_uid.Text(), first_order.Text(), last_order.Text());
    revisions.Put(tx);
    orders.Put(tx);
  }
};

void Delete(Transaction& tx, const Statement& statement, const SqlArray& keys) {
  if (!keys.empty()) tx.Exec(statement, keys.Text());
}

template <class Row>
void Emit(absl::FunctionRef<void(Revised<configuration::State::Change>)> emit, Row row,
          int64_t revision) {
  std::string key = row.Key();
  emit({{std::move(key), std::make_shared<const Row>(std::move(row))}, revision});
}

// Columns at, at + 1, at + 2: profile, time, summary.
Revision ToOptionalRevision(const pqxx::row& row, int at) {
  if (row[at].is_null()) return {};
  return {row[at].c_str(), FromSqlTime(row[at + 1].c_str()), FromLines(row[at + 2].c_str())};
}

// The CHECKs of the tables hold the words to those that we know.
PoolConfiguration ToPool(const pqxx::row& row) {
  return {.pool_uid = row[0].c_str(),
          .generation = row[1].as<int64_t>(),
          .spec = {.image_name = row[2].c_str(),
                   .image_kernel = row[3].c_str(),
                   .release_train = *configuration::ParseChannel(row[4].c_str()),
                   .gpu_version = row[5].c_str(),
                   .gpu = row[6].as<bool>(),
                   .kubernetes = row[7].c_str(),
                   .strategy = *configuration::ParseStrategy(row[8].c_str())},
          .pending = ToOptionalRevision(row, 9),
          .problem = row[12].c_str(),
          .waiting = ToOptionalRevision(row, 13),
          .pinned = FromLines(row[16].c_str()),
          .mid_delivery = row[17].as<bool>(),
          .spec_unmet = row[18].as<bool>()};
}

Order ToOrder(const pqxx::row& row) {
  return {.number = row[1].as<int64_t>(),
          .kind = *configuration::ParseOrderKind(row[2].c_str()),
          .requested = row[3].c_str(),
          .node_profile = row[4].c_str(),
          .outcome = *configuration::ParseOrderOutcome(row[5].c_str()),
          .message = row[6].c_str(),
          .create_time = FromSqlTime(row[7].c_str())};
}

template <class Row, class Message>
absl::StatusOr<configuration::State::Change> DecodeAs(absl::string_view key,
                                                      const std::string* bytes) {
  if (bytes == nullptr) {
    return configuration::State::Change{std::string(key), std::shared_ptr<const Row>()};
  }
  Message message;
  if (!message.ParseFromString(*bytes)) {
    return absl::InternalError(absl::StrCat("Not a ", Row::kKind, ": ", key));
  }
  ASSIGN_OR_RETURN(Row row, configuration::FromProto(message));
  return configuration::State::Change{std::string(key),
                                      std::make_shared<const Row>(std::move(row))};
}

}  // namespace

void PostgresConfigurationStore::Load(Transaction& tx,
                                      absl::FunctionRef<void(Revised<Change>)> emit) const {
  for (const auto& row : tx.Exec(kLoadReleases)) {
    Release release = {*configuration::ParseChannel(row[0].c_str()),
                       *configuration::ParseComponent(row[1].c_str()), row[2].c_str(),
                       FromSqlTime(row[3].c_str())};
    if (!row[4].is_null()) release.withdraw_time = FromSqlTime(row[4].c_str());
    Emit(emit, std::move(release), row[5].as<int64_t>());
  }
  for (const auto& row : tx.Exec(kLoadProfiles)) {
    Emit(emit,
         NodeProfile{row[0].c_str(), row[1].c_str(), row[2].c_str(),
                     *configuration::ParseChannel(row[3].c_str()), row[4].c_str(), row[5].c_str()},
         row[6].as<int64_t>());
  }
  std::map<std::string, std::vector<Revision>> revisions;
  for (const auto& row : tx.Exec(kLoadRevisions)) {
    revisions[row[0].c_str()].push_back({row[1].c_str(), FromSqlTime(row[2].c_str()),
                                         FromLines(row[3].c_str()), row[4].as<bool>(),
                                         row[5].as<int64_t>()});
  }
  std::map<std::string, std::vector<Order>> orders;
  for (const auto& row : tx.Exec(kLoadOrders)) orders[row[0].c_str()].push_back(ToOrder(row));
  for (const auto& row : tx.Exec(kLoadPools)) {
    PoolConfiguration pool = ToPool(row);
    pool.revisions = std::move(revisions[pool.pool_uid]);
    pool.orders = std::move(orders[pool.pool_uid]);
    Emit(emit, std::move(pool), row[19].as<int64_t>());
  }
}

void PostgresConfigurationStore::Write(Transaction& tx,
                                       absl::Span<const Revised<Change>> changes) const {
  ReleaseColumns releases;
  ProfileColumns profiles;
  PoolColumns pools;
  for (const auto& [change, revision] : changes) {
    if (const auto* release = std::get_if<std::shared_ptr<const Release>>(&change.row)) {
      releases.Add(change.key, release->get(), revision);
    } else if (const auto* profile = std::get_if<std::shared_ptr<const NodeProfile>>(&change.row)) {
      profiles.Add(change.key, profile->get(), revision);
    } else if (const auto* pool =
                   std::get_if<std::shared_ptr<const PoolConfiguration>>(&change.row)) {
      pools.Add(change.key, pool->get(), revision);
    }
  }
  // Pools name profiles: they come after them and go before them.
  Delete(tx, kDeletePools, pools.deleted);
  releases.Put(tx);
  profiles.Put(tx);
  pools.Put(tx);
  Delete(tx, kDeleteProfiles, profiles.deleted);
  Delete(tx, kDeleteReleases, releases.deleted);
}

std::string PostgresConfigurationStore::Encode(const Revised<Change>& change) const {
  return std::visit(
      [](const auto& row) { return configuration::ToProto(*row).SerializeAsString(); },
      change.change.row);
}

absl::StatusOr<PostgresConfigurationStore::Change> PostgresConfigurationStore::Decode(
    absl::string_view kind, absl::string_view key, const std::string* bytes) const {
  if (kind == Release::kKind) return DecodeAs<Release, configuration::v1::Release>(key, bytes);
  if (kind == NodeProfile::kKind) {
    return DecodeAs<NodeProfile, configuration::v1::NodeProfile>(key, bytes);
  }
  if (kind == PoolConfiguration::kKind) {
    return DecodeAs<PoolConfiguration, configuration::v1::PoolConfiguration>(key, bytes);
  }
  return absl::InternalError(
      absl::StrCat("The journal of configuration holds a ", kind, ", which is unknown."));
}

}  // namespace muster::storage
