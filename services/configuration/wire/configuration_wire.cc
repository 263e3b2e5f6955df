#include "services/configuration/wire/configuration_wire.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/timestamp.h"
#include "services/configuration/core/names.h"

namespace muster::configuration {
namespace {

absl::Status NotOurs(const google::protobuf::Message& message) {
  return absl::InternalError(absl::StrCat("No ", message.GetTypeName(),
                                          " as we write them: ", message.ShortDebugString()));
}

v1::Revision ToProto(const Revision& revision) {
  v1::Revision message;
  message.set_node_profile(revision.node_profile);
  SetTimestamp(revision.create_time, message.mutable_create_time());
  for (const std::string& fact : revision.summary) message.add_summary(fact);
  message.set_disabled(revision.disabled);
  message.set_enable_count(revision.enable_count);
  return message;
}

Revision FromProto(const v1::Revision& message) {
  return {.node_profile = message.node_profile(),
          .create_time = FromTimestamp(message.create_time()),
          .summary = {message.summary().begin(), message.summary().end()},
          .disabled = message.disabled(),
          .enable_count = message.enable_count()};
}

// The enums of an order are those of the API, in the same order, after UNSPECIFIED.
v1::ConfigurationOrder ToProto(const Order& order) {
  v1::ConfigurationOrder message;
  message.set_number(order.number);
  message.set_kind(static_cast<v1::ConfigurationOrder::Kind>(static_cast<int>(order.kind) + 1));
  message.set_requested(order.requested);
  message.set_node_profile(order.node_profile);
  message.set_outcome(
      static_cast<v1::ConfigurationOrder::Outcome>(static_cast<int>(order.outcome) + 1));
  message.set_message(order.message);
  SetTimestamp(order.create_time, message.mutable_create_time());
  return message;
}

std::optional<Order> FromProto(const v1::ConfigurationOrder& message) {
  using Message = v1::ConfigurationOrder;
  if (!Message::Kind_IsValid(message.kind()) || message.kind() == Message::KIND_UNSPECIFIED ||
      !Message::Outcome_IsValid(message.outcome()) ||
      message.outcome() == Message::OUTCOME_UNSPECIFIED) {
    return std::nullopt;
  }
  return Order{.number = message.number(),
               .kind = static_cast<OrderKind>(message.kind() - 1),
               .requested = message.requested(),
               .node_profile = message.node_profile(),
               .outcome = static_cast<OrderOutcome>(message.outcome() - 1),
               .message = message.message(),
               .create_time = FromTimestamp(message.create_time())};
}

v1::ConfigurationSpec::Strategy ToProto(Strategy strategy) {
  switch (strategy) {
    case Strategy::kManual:
      return v1::ConfigurationSpec::STRATEGY_MANUAL;
    case Strategy::kOnSpecUpdate:
      return v1::ConfigurationSpec::STRATEGY_ON_SPEC_UPDATE;
    case Strategy::kAlways:
      return v1::ConfigurationSpec::STRATEGY_ALWAYS;
  }
  return v1::ConfigurationSpec::STRATEGY_UNSPECIFIED;
}

v1::ConfigurationSpec ToProto(const Spec& spec) {
  v1::ConfigurationSpec message;
  message.set_image_name(spec.image_name);
  message.set_image_kernel(spec.image_kernel);
  message.set_release_train(std::string(Print(spec.release_train)));
  message.set_gpu_version(spec.gpu_version);
  message.set_gpu(spec.gpu);
  message.set_kubernetes(spec.kubernetes);
  message.set_strategy(ToProto(spec.strategy));
  return message;
}

// nullopt: a number or a word that we do not know. Not said means OnSpecUpdate and `stable`.
std::optional<Strategy> StrategyOf(const v1::ConfigurationSpec& message) {
  switch (message.strategy()) {
    case v1::ConfigurationSpec::STRATEGY_MANUAL:
      return Strategy::kManual;
    case v1::ConfigurationSpec::STRATEGY_UNSPECIFIED:
    case v1::ConfigurationSpec::STRATEGY_ON_SPEC_UPDATE:
      return Strategy::kOnSpecUpdate;
    case v1::ConfigurationSpec::STRATEGY_ALWAYS:
      return Strategy::kAlways;
    case v1::ConfigurationSpec_Strategy_ConfigurationSpec_Strategy_INT_MIN_SENTINEL_DO_NOT_USE_:
    case v1::ConfigurationSpec_Strategy_ConfigurationSpec_Strategy_INT_MAX_SENTINEL_DO_NOT_USE_:
      break;
  }
  return std::nullopt;
}

std::optional<Channel> TrainOf(const v1::ConfigurationSpec& message) {
  if (message.release_train().empty()) return Channel::kStable;
  return ParseChannel(message.release_train());
}

Spec FieldsOf(const v1::ConfigurationSpec& message) {
  return {.image_name = message.image_name(),
          .image_kernel = message.image_kernel(),
          .gpu_version = message.gpu_version(),
          .gpu = message.gpu(),
          .kubernetes = message.kubernetes()};
}

}  // namespace

v1::Release ToProto(const Release& row) {
  v1::Release message;
  message.set_name(row.Key());
  SetTimestamp(row.create_time, message.mutable_create_time());
  if (row.withdraw_time) SetTimestamp(*row.withdraw_time, message.mutable_withdraw_time());
  return message;
}

v1::NodeProfile ToProto(const NodeProfile& row) {
  v1::NodeProfile message;
  message.set_name(row.Key());
  message.set_image(row.image);
  message.set_kernel(row.kernel);
  message.set_release_train(std::string(Print(row.release_train)));
  message.set_gpu_driver(row.gpu_driver);
  message.set_kubernetes(row.kubernetes);
  return message;
}

v1::PoolConfiguration ToProto(const PoolConfiguration& row) {
  v1::PoolConfiguration message;
  message.set_name(row.Key());
  message.set_generation(row.generation);
  *message.mutable_spec() = ToProto(row.spec);
  message.set_active(row.active());
  if (row.has_pending()) *message.mutable_pending() = ToProto(row.pending);
  for (const Revision& revision : row.revisions) *message.add_revisions() = ToProto(revision);
  message.set_problem(row.problem);
  if (row.has_waiting()) *message.mutable_waiting() = ToProto(row.waiting);
  for (const std::string& profile : row.pinned) message.add_pinned(profile);
  for (const Order& order : row.orders) *message.add_orders() = ToProto(order);
  message.set_mid_delivery(row.mid_delivery);
  message.set_spec_unmet(row.spec_unmet);
  message.set_problem_of_spec(row.problem_of_spec);
  message.set_pool(row.pool);
  return message;
}

absl::StatusOr<Release> FromProto(const v1::Release& message) {
  auto row = ParseReleaseName(message.name());
  if (!row) return NotOurs(message);
  row->create_time = FromTimestamp(message.create_time());
  if (message.has_withdraw_time()) row->withdraw_time = FromTimestamp(message.withdraw_time());
  return *std::move(row);
}

absl::StatusOr<NodeProfile> FromProto(const v1::NodeProfile& message) {
  auto id = ParseNodeProfileName(message.name());
  const auto train = ParseChannel(message.release_train());
  if (!id || !train) return NotOurs(message);
  return NodeProfile{.id = *std::move(id),
                     .image = message.image(),
                     .kernel = message.kernel(),
                     .release_train = *train,
                     .gpu_driver = message.gpu_driver(),
                     .kubernetes = message.kubernetes()};
}

absl::StatusOr<PoolConfiguration> FromProto(const v1::PoolConfiguration& message) {
  auto pool_uid = ParsePoolConfigurationName(message.name());
  const auto train = TrainOf(message.spec());
  const auto strategy = StrategyOf(message.spec());
  if (!pool_uid || !train || !strategy) return NotOurs(message);
  PoolConfiguration row = {.pool_uid = *std::move(pool_uid),
                           .generation = message.generation(),
                           .spec = FieldsOf(message.spec()),
                           .problem = message.problem(),
                           .pinned = {message.pinned().begin(), message.pinned().end()},
                           .mid_delivery = message.mid_delivery(),
                           .spec_unmet = message.spec_unmet(),
                           .problem_of_spec = message.problem_of_spec(),
                           .pool = message.pool()};
  row.spec.release_train = *train;
  row.spec.strategy = *strategy;
  if (message.has_pending()) row.pending = FromProto(message.pending());
  if (message.has_waiting()) row.waiting = FromProto(message.waiting());
  for (const v1::Revision& revision : message.revisions()) {
    row.revisions.push_back(FromProto(revision));
  }
  for (const v1::ConfigurationOrder& order : message.orders()) {
    auto read = FromProto(order);
    if (!read) return NotOurs(message);
    row.orders.push_back(*std::move(read));
  }
  if (row.active() != message.active()) return NotOurs(message);
  return row;
}

SyncPool FromProto(const v1::ConfigurationRequest& request, absl::string_view path,
                   error::Faults& faults) {
  SyncPool command = {.pool_uid = request.pool_uid(),
                      .generation = request.generation(),
                      .release = request.release()};
  if (command.release) return command;
  command.nodes_in_delivery = request.nodes_in_delivery();
  command.running_profiles = {request.running_profiles().begin(), request.running_profiles().end()};
  command.orders_told = request.orders_told();
  command.pool = request.pool();
  if (request.has_boot_failures()) {
    const v1::BootFailures& failures = request.boot_failures();
    command.boot_failures = {failures.node_profile(),
                             failures.enable_count(),
                             {failures.machines().begin(), failures.machines().end()}};
  }
  const auto require = [&](bool holds, absl::string_view field, absl::string_view description) {
    faults.Require(holds, error::Below(path, field), description);
  };
  require(request.has_spec(), "spec", "is required unless `release` is true.");
  const auto train = TrainOf(request.spec());
  require(train.has_value(), "spec.release_train", "must be empty, \"stable\" or \"latest\".");
  const auto strategy = StrategyOf(request.spec());
  require(strategy.has_value(), "spec.strategy", "is no strategy that is known.");
  command.spec = FieldsOf(request.spec());
  command.spec.release_train = train.value_or(Channel::kStable);
  command.spec.strategy = strategy.value_or(Strategy::kOnSpecUpdate);
  return command;
}

}  // namespace muster::configuration
