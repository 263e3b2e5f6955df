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
using configuration::PoolConfiguration;
using configuration::Print;
using configuration::Release;
using configuration::Revision;

constexpr char kLoadReleases[] =
    "SELECT channel, component, version, create_time, revision FROM release";
constexpr char kLoadProfiles[] =
    "SELECT id, image, kernel, release_train, gpu_driver, kubernetes, revision FROM node_profile";
constexpr char kLoadPools[] =
    "SELECT pool_uid, generation, image_name, image_kernel, release_train, gpu_version, gpu,"
    " kubernetes, strategy, pending_profile, pending_time, pending_summary, problem, revision"
    " FROM pool_configuration ORDER BY pool_uid";
constexpr char kLoadRevisions[] =
    "SELECT pool_uid, node_profile, create_time, summary FROM pool_revision"
    " ORDER BY pool_uid, position";

constexpr Statement kPutReleases = {
    "put_releases",
    "INSERT INTO release (name, channel, component, version, create_time, revision)"
    " SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[],"
    " $6::bigint[])"
    " ON CONFLICT (name) DO UPDATE SET create_time = excluded.create_time,"
    " revision = excluded.revision"};
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
    " problem, revision)"
    " SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[],"
    " $6::text[], $7::boolean[], $8::text[], $9::text[], $10::text[], $11::timestamptz[],"
    " $12::text[], $13::text[], $14::bigint[])"
    " ON CONFLICT (pool_uid) DO UPDATE SET generation = excluded.generation,"
    " image_name = excluded.image_name, image_kernel = excluded.image_kernel,"
    " release_train = excluded.release_train, gpu_version = excluded.gpu_version,"
    " gpu = excluded.gpu, kubernetes = excluded.kubernetes, strategy = excluded.strategy,"
    " pending_profile = excluded.pending_profile, pending_time = excluded.pending_time,"
    " pending_summary = excluded.pending_summary, problem = excluded.problem,"
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
    "INSERT INTO pool_revision AS r (pool_uid, position, node_profile, create_time, summary)"
    " SELECT * FROM unnest($1::text[], $2::integer[], $3::text[], $4::timestamptz[], $5::text[])"
    " ON CONFLICT (pool_uid, position) DO UPDATE SET node_profile = excluded.node_profile,"
    " create_time = excluded.create_time, summary = excluded.summary"
    " WHERE (r.node_profile, r.create_time, r.summary)"
    " IS DISTINCT FROM (excluded.node_profile, excluded.create_time, excluded.summary)"};

// A summary in one field: one fact a line.
std::string Lines(const std::vector<std::string>& facts) { return absl::StrJoin(facts, "\n"); }
std::vector<std::string> FromLines(absl::string_view text) {
  if (text.empty()) return {};
  return absl::StrSplit(text, '\n');
}

// The changes of one kind as columns.
struct ReleaseColumns {
  SqlArray deleted, name, channel, component, version, create_time, revision;

  void Add(const std::string& key, const Release* row, int64_t at) {
    if (row == nullptr) return deleted.Add(key);
    name.Add(key);
    channel.Add(Print(row->channel));
    component.Add(Print(row->component));
    version.Add(row->version);
    create_time.Add(row->create_time);
    revision.Add(at);
  }
  void Put(Transaction& tx) const {
    if (name.empty()) return;
    tx.Queue(kPutReleases, name.Text(), channel.Text(), component.Text(), version.Text(),
             create_time.Text(), revision.Text());
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
  SqlArray pool_uid, position, node_profile, create_time, summary;

  void Add(const std::string& uid, size_t at, const Revision& row) {
    pool_uid.Add(uid);
    position.Add(at);
    node_profile.Add(row.node_profile);
    create_time.Add(row.create_time);
    summary.Add(Lines(row.summary));
  }
  void Put(Transaction& tx) const {
    if (pool_uid.empty()) return;
    tx.Queue(kPutRevisions, pool_uid.Text(), position.Text(), node_profile.Text(),
             create_time.Text(), summary.Text());
  }
};

struct PoolColumns {
  SqlArray deleted, pool_uid, generation, image_name, image_kernel, release_train, gpu_version, gpu,
      kubernetes, strategy, pending_profile, pending_time, pending_summary, problem, revision, size;
  RevisionColumns revisions;

  void Add(const std::string& key, const PoolConfiguration* row, int64_t at) {
    if (row == nullptr) return deleted.Add(key);
    pool_uid.Add(row->pool_uid);
    generation.Add(row->generation);
    image_name.Add(row->spec.image_name);
    image_kernel.Add(row->spec.image_kernel);
    release_train.Add(Print(row->spec.release_train));
    gpu_version.Add(row->spec.gpu_version);
    gpu.Add(row->spec.gpu);
    kubernetes.Add(row->spec.kubernetes);
    strategy.Add(Print(row->spec.strategy));
    AddPending(*row);
    problem.Add(row->problem);
    revision.Add(at);
    size.Add(row->revisions.size());
    for (size_t i = 0; i < row->revisions.size(); ++i) {
      revisions.Add(row->pool_uid, i, row->revisions[i]);
    }
  }
  void AddPending(const PoolConfiguration& row) {
    if (!row.has_pending()) {
      for (SqlArray* column : {&pending_profile, &pending_time, &pending_summary}) {
        column->AddNull();
      }
      return;
    }
    pending_profile.Add(row.pending.node_profile);
    pending_time.Add(row.pending.create_time);
    pending_summary.Add(Lines(row.pending.summary));
  }
  void Put(Transaction& tx) const {
    if (pool_uid.empty()) return;
    tx.Queue(kPutPools, pool_uid.Text(), generation.Text(), image_name.Text(), image_kernel.Text(),
             release_train.Text(), gpu_version.Text(), gpu.Text(), kubernetes.Text(),
             strategy.Text(), pending_profile.Text(), pending_time.Text(), pending_summary.Text(),
             problem.Text(), revision.Text());
    tx.Queue(kCutRevisions, pool_uid.Text(), size.Text());
    revisions.Put(tx);
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

// The CHECKs of the tables hold the words to those that we know.
PoolConfiguration ToPool(const pqxx::row& row) {
  PoolConfiguration pool = {.pool_uid = row[0].c_str(),
                            .generation = row[1].as<int64_t>(),
                            .spec = {.image_name = row[2].c_str(),
                                     .image_kernel = row[3].c_str(),
                                     .release_train = *configuration::ParseChannel(row[4].c_str()),
                                     .gpu_version = row[5].c_str(),
                                     .gpu = row[6].as<bool>(),
                                     .kubernetes = row[7].c_str(),
                                     .strategy = *configuration::ParseStrategy(row[8].c_str())},
                            .problem = row[12].c_str()};
  if (!row[9].is_null()) {
    pool.pending = {row[9].c_str(), FromSqlTime(row[10].c_str()), FromLines(row[11].c_str())};
  }
  return pool;
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
    Emit(emit,
         Release{*configuration::ParseChannel(row[0].c_str()),
                 *configuration::ParseComponent(row[1].c_str()), row[2].c_str(),
                 FromSqlTime(row[3].c_str())},
         row[4].as<int64_t>());
  }
  for (const auto& row : tx.Exec(kLoadProfiles)) {
    Emit(emit,
         NodeProfile{row[0].c_str(), row[1].c_str(), row[2].c_str(),
                     *configuration::ParseChannel(row[3].c_str()), row[4].c_str(), row[5].c_str()},
         row[6].as<int64_t>());
  }
  std::map<std::string, std::vector<Revision>> revisions;
  for (const auto& row : tx.Exec(kLoadRevisions)) {
    revisions[row[0].c_str()].push_back(
        {row[1].c_str(), FromSqlTime(row[2].c_str()), FromLines(row[3].c_str())});
  }
  for (const auto& row : tx.Exec(kLoadPools)) {
    PoolConfiguration pool = ToPool(row);
    pool.revisions = std::move(revisions[pool.pool_uid]);
    Emit(emit, std::move(pool), row[13].as<int64_t>());
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
