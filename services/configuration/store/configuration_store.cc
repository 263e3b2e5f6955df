#include "services/configuration/store/configuration_store.h"

#include <memory>

#include "services/configuration/core/names.h"
#include "services/configuration/wire/configuration_wire.h"
#include "storage/postgres/kept_request_table.h"
#include "storage/postgres/released_pool_table.h"
#include "storage/postgres/table_store.h"

namespace muster::storage {

using configuration::NodeProfile;
using configuration::Order;
using configuration::PoolConfiguration;
using configuration::Release;
using configuration::Revision;
using configuration::Spec;

template <class Enum, int count>
using Printed = SqlWords<Enum, count, [](Enum word) { return configuration::Print(word); }>;
template <>
struct SqlValue<configuration::Channel> : Printed<configuration::Channel, 2> {};
template <>
struct SqlValue<configuration::Component> : Printed<configuration::Component, 4> {};
template <>
struct SqlValue<configuration::Strategy> : Printed<configuration::Strategy, 3> {};
template <>
struct SqlValue<configuration::OrderKind> : Printed<configuration::OrderKind, 2> {};
template <>
struct SqlValue<configuration::OrderOutcome> : Printed<configuration::OrderOutcome, 6> {};

namespace {

SqlTable<Release> Releases() {
  return {"release",
          KeyForm::kName,
          {Key<Release>("name"), Field<&Release::channel>("channel"),
           Field<&Release::component>("component"), Field<&Release::version>("version"),
           Field<&Release::create_time>("create_time"),
           Optional<&Release::withdraw_time>("withdraw_time")}};
}

SqlTable<NodeProfile> Profiles() {
  return {
      "node_profile",
      KeyForm::kId,
      {Key<&NodeProfile::id>("id"), Field<&NodeProfile::image>("image"),
       Field<&NodeProfile::kernel>("kernel"), Field<&NodeProfile::release_train>("release_train"),
       Field<&NodeProfile::gpu_driver>("gpu_driver"),
       Field<&NodeProfile::kubernetes>("kubernetes")}};
}

template <auto Revision>
bool IsNone(const PoolConfiguration& row) {
  return (row.*Revision).node_profile.empty();
}

auto PoolRevisions() {
  return std::make_shared<ListTable<&PoolConfiguration::revisions>>(
      "pool_revision", "pool_uid",
      std::vector<SqlColumn<Revision>>{
          Field<&Revision::node_profile>("node_profile"),
          Field<&Revision::create_time>("create_time"), Lines<&Revision::summary>("summary"),
          Field<&Revision::disabled>("disabled"), Field<&Revision::enable_count>("enable_count")},
      "position");
}

auto PoolOrders() {
  return std::make_shared<ListTable<&PoolConfiguration::orders>>(
      "pool_order", "pool_uid",
      std::vector<SqlColumn<Order>>{
          Key<&Order::number>("number"), Field<&Order::kind>("kind"),
          Field<&Order::requested>("requested"), Field<&Order::node_profile>("node_profile"),
          Field<&Order::outcome>("outcome"), Field<&Order::message>("message"),
          Field<&Order::create_time>("create_time")});
}

SqlTable<PoolConfiguration> Pools() {
  using P = PoolConfiguration;
  return {
      "pool_configuration",
      KeyForm::kId,
      {Key<&P::pool_uid>("pool_uid"),
       Field<&P::generation>("generation"),
       Field<&P::spec, &Spec::image_name>("image_name"),
       Field<&P::spec, &Spec::image_kernel>("image_kernel"),
       Field<&P::spec, &Spec::release_train>("release_train"),
       Field<&P::spec, &Spec::gpu_version>("gpu_version"),
       Field<&P::spec, &Spec::gpu>("gpu"),
       Field<&P::spec, &Spec::kubernetes>("kubernetes"),
       Field<&P::spec, &Spec::strategy>("strategy"),
       Field<&P::problem>("problem"),
       NullIf(IsNone<&P::pending>, Field<&P::pending, &Revision::node_profile>("pending_profile")),
       NullIf(IsNone<&P::pending>, Field<&P::pending, &Revision::create_time>("pending_time")),
       NullIf(IsNone<&P::pending>, Lines<&P::pending, &Revision::summary>("pending_summary")),
       NullIf(IsNone<&P::waiting>, Field<&P::waiting, &Revision::node_profile>("waiting_profile")),
       NullIf(IsNone<&P::waiting>, Field<&P::waiting, &Revision::create_time>("waiting_time")),
       NullIf(IsNone<&P::waiting>, Lines<&P::waiting, &Revision::summary>("waiting_summary")),
       Lines<&P::pinned>("pinned"),
       Field<&P::mid_delivery>("mid_delivery"),
       Field<&P::spec_unmet>("spec_unmet"),
       Field<&P::problem_of_spec>("problem_of_spec"),
       Field<&P::pool>("pool")},
      {PoolRevisions(), PoolOrders()}};
}

template <class Message, class Row>
Stored<Row> Kind(SqlTable<Row> table) {
  return StoredAs<Message>(
      std::move(table), [](const Versioned<Row>& row) { return configuration::ToProto(*row.row); },
      [](const Message& message) { return configuration::FromProto(message); });
}

}  // namespace

std::unique_ptr<const Store<configuration::State>> NewConfigurationStore() {
  namespace v1 = configuration::v1;
  return std::make_unique<TableStore<configuration::State>>(
      Kind<v1::Release>(Releases()), Kind<v1::NodeProfile>(Profiles()),
      Kind<v1::PoolConfiguration>(Pools()), StoredReleasedPools(), StoredKeptRequests());
}

}  // namespace muster::storage
