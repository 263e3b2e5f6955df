#include "storage/configuration/configuration_store.h"

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/common/status_macros.h"
#include "services/configuration/core/names.h"
#include "services/configuration/wire/configuration_wire.h"
#include "storage/configuration/columns.h"
#include "storage/postgres/kept_request_table.h"
#include "storage/postgres/released_pool_table.h"
#include "storage/postgres/sql_types.h"
#include "storage/postgres/transaction.h"

namespace muster::storage {
namespace {

using configuration::NodeProfile;
using configuration::Order;
using configuration::PoolConfiguration;
using configuration::Release;
using configuration::Revision;

constexpr char kLoadReleases[] =
    "SELECT channel, component, version, create_time, withdraw_time, revision FROM release";
constexpr char kLoadProfiles[] =
    "SELECT id, image, kernel, release_train, gpu_driver, kubernetes, revision FROM node_profile";
constexpr char kLoadPools[] =
    "SELECT pool_uid, generation, image_name, image_kernel, release_train, gpu_version, gpu,"
    " kubernetes, strategy, pending_profile, pending_time, pending_summary, problem,"
    " waiting_profile, waiting_time, waiting_summary, pinned, mid_delivery, spec_unmet,"
    " problem_of_spec, revision"
    " FROM pool_configuration ORDER BY pool_uid";
constexpr char kLoadRevisions[] =
    "SELECT pool_uid, node_profile, create_time, summary, disabled, enable_count"
    " FROM pool_revision ORDER BY pool_uid, position";
constexpr char kLoadOrders[] =
    "SELECT pool_uid, number, kind, requested, node_profile, outcome, message, create_time"
    " FROM pool_order ORDER BY pool_uid, number";

// One item a line.
std::vector<std::string> FromLines(absl::string_view text) {
  if (text.empty()) return {};
  return absl::StrSplit(text, '\n');
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
          .spec_unmet = row[18].as<bool>(),
          .problem_of_spec = row[19].as<bool>()};
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
    Emit(emit, std::move(pool), row[20].as<int64_t>());
  }
  EmitReleasedPools<Change>(tx, emit);
  EmitKeptRequests<Change>(tx, emit);
}

void PostgresConfigurationStore::Write(Transaction& tx,
                                       absl::Span<const Revised<Change>> changes) const {
  WriteColumns(tx, changes);
}

std::string PostgresConfigurationStore::Encode(const Revised<Change>& change) const {
  return std::visit(
      [](const auto& row) {
        if constexpr (std::is_same_v<decltype(row), const std::shared_ptr<const ReleasedPool>&>) {
          return EncodeReleasedPool(*row);
        } else if constexpr (std::is_same_v<decltype(row),
                                            const std::shared_ptr<const KeptRequest>&>) {
          return EncodeKeptRequest(*row);
        } else {
          return configuration::ToProto(*row).SerializeAsString();
        }
      },
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
  if (kind == ReleasedPool::kKind) return DecodeReleasedPoolChange<Change>(key, bytes);
  if (kind == KeptRequest::kKind) return DecodeKeptRequestChange<Change>(key, bytes);
  return absl::InternalError(
      absl::StrCat("The journal of configuration holds a ", kind, ", which is unknown."));
}

}  // namespace muster::storage
