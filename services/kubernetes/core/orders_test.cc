#include "services/kubernetes/core/orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/kubernetes/core/names.h"

namespace muster::kubernetes {
namespace {

using configuration::v1::ConfigurationOrder;
using configuration::v1::PoolConfiguration;
using Kind = OrderStep::Kind;

// np-a was active, np-b is, np-c waits to be promoted.
PoolConfiguration MakeConfiguration() {
  PoolConfiguration configuration;
  configuration.add_revisions()->set_node_profile("np-a");
  configuration.add_revisions()->set_node_profile("np-b");
  configuration.set_active("np-b");
  configuration.mutable_pending()->set_node_profile("np-c");
  return configuration;
}

void AddOrder(PoolConfiguration& configuration, ConfigurationOrder::Kind kind,
              const std::string& profile, ConfigurationOrder::Outcome outcome) {
  ConfigurationOrder& order = *configuration.add_orders();
  order.set_kind(kind);
  order.set_node_profile(profile);
  order.set_outcome(outcome);
}

// What the configuration service does with an order that it takes.
void CarryOut(PoolConfiguration& configuration, ConfigurationOrder::Kind kind,
              const std::string& profile) {
  AddOrder(configuration, kind, profile, ConfigurationOrder::OUTCOME_DONE);
  configuration.add_revisions()->set_node_profile(profile);
  configuration.set_active(profile);
  if (kind == ConfigurationOrder::KIND_PROMOTE) configuration.clear_pending();
}

OrderStep Promote(const std::string& value, const PoolConfiguration& configuration) {
  NodePoolObject object;
  object.promote = value;
  return NextOrder(object, configuration, "np-a");
}

OrderStep Rollback(const std::string& value, const PoolConfiguration& configuration,
                   const std::string& previous = "np-a") {
  NodePoolObject object;
  object.rollback = value;
  return NextOrder(object, configuration, previous);
}

TEST(NextOrder, NothingIsAskedFor) {
  EXPECT_EQ(NextOrder(NodePoolObject(), MakeConfiguration(), "np-a").kind, Kind::kNone);
}

// An empty annotation is an order that is none: told, and removed.
TEST(NextOrder, AnEmptyAnnotationIsNonsense) {
  const OrderStep promote = Promote("", MakeConfiguration());
  EXPECT_EQ(promote.kind, Kind::kNonsense);
  EXPECT_EQ(promote.annotation, kPromoteAnnotation);
  const OrderStep rollback = Rollback("", MakeConfiguration());
  EXPECT_EQ(rollback.kind, Kind::kNonsense);
  EXPECT_EQ(rollback.annotation, kRollbackAnnotation);
  // It is no conflict with one that is meant.
  NodePoolObject both;
  both.promote = "pending";
  both.rollback = "";
  EXPECT_EQ(NextOrder(both, MakeConfiguration(), "np-a").annotation, kRollbackAnnotation);
  EXPECT_EQ(NextOrder(both, MakeConfiguration(), "np-a").kind, Kind::kNonsense);
}

TEST(NextOrder, AWordIsFirstReplacedByWhatItMeans) {
  const OrderStep promote = Promote("pending", MakeConfiguration());
  EXPECT_EQ(promote.kind, Kind::kReplace);
  EXPECT_EQ(promote.annotation, kPromoteAnnotation);
  EXPECT_EQ(promote.value, "pending");
  EXPECT_EQ(promote.profile, "np-c");
  const OrderStep rollback = Rollback("previous", MakeConfiguration());
  EXPECT_EQ(rollback.kind, Kind::kReplace);
  EXPECT_EQ(rollback.annotation, kRollbackAnnotation);
  EXPECT_EQ(rollback.profile, "np-a");
}

TEST(NextOrder, AWordThatMeansNothingIsAskedForAsItIs) {
  const OrderStep promote = Promote("pending", PoolConfiguration());
  EXPECT_EQ(promote.kind, Kind::kPromote);
  EXPECT_EQ(promote.profile, "pending");
  PoolConfiguration one;
  one.add_revisions()->set_node_profile("np-a");
  const OrderStep rollback = Rollback("previous", one, "");
  EXPECT_EQ(rollback.kind, Kind::kRollback);
  EXPECT_EQ(rollback.profile, "previous");
}

// What it was told then holds, whatever it would mean by now.
TEST(NextOrder, AWordThatWasAskedForAsItIsStaysSo) {
  NodePoolObject object;
  object.promote = "pending";
  EXPECT_FALSE(NextOrder(object, MakeConfiguration(), "").by_word);
  const OrderStep promote = NextOrder(object, MakeConfiguration(), "", true);
  EXPECT_EQ(promote.kind, Kind::kPromote);
  EXPECT_EQ(promote.profile, "pending");
  EXPECT_TRUE(promote.by_word);
  object.promote.reset();
  object.rollback = "previous";
  EXPECT_TRUE(NextOrder(object, MakeConfiguration(), "").by_word);
  const OrderStep rollback = NextOrder(object, MakeConfiguration(), "np-a", true);
  EXPECT_EQ(rollback.kind, Kind::kRollback);
  EXPECT_EQ(rollback.profile, "previous");
}

// The one that was active last may have been withdrawn or disabled since: which one is
// configuration's to say.
TEST(NextOrder, PreviousIsWhatConfigurationSaysAndNotTheLastButOne) {
  PoolConfiguration configuration = MakeConfiguration();
  configuration.add_revisions()->set_node_profile("np-d");
  configuration.set_active("np-d");
  const OrderStep step = Rollback("previous", configuration, "np-a");
  EXPECT_EQ(step.kind, Kind::kReplace);
  EXPECT_EQ(step.profile, "np-a");
  const OrderStep none = Rollback("previous", configuration, "");
  EXPECT_EQ(none.kind, Kind::kRollback);
  EXPECT_EQ(none.profile, "previous");
}

TEST(AsksForPrevious, OnlyWhereThatWordIsTheWholeOrder) {
  NodePoolObject object;
  EXPECT_FALSE(AsksForPrevious(object));
  object.rollback = "np-a";
  EXPECT_FALSE(AsksForPrevious(object));
  object.rollback = "previous";
  EXPECT_TRUE(AsksForPrevious(object));
  object.promote = "pending";
  EXPECT_FALSE(AsksForPrevious(object)) << "a conflict, whatever it means";
  object.rollback.reset();
  object.promote = "previous";
  EXPECT_FALSE(AsksForPrevious(object));
}

TEST(NextOrder, TheOthersWordIsNoWord) {
  EXPECT_EQ(Promote("previous", MakeConfiguration()).kind, Kind::kPromote);
  EXPECT_EQ(Rollback("pending", MakeConfiguration()).kind, Kind::kRollback);
}

TEST(NextOrder, AProfileIsAskedFor) {
  const OrderStep promote = Promote("np-c", MakeConfiguration());
  EXPECT_EQ(promote.kind, Kind::kPromote);
  EXPECT_EQ(promote.profile, "np-c");
  EXPECT_EQ(Rollback("np-a", MakeConfiguration()).kind, Kind::kRollback);
}

// "Both asked while the other is not yet settled → both dropped"
TEST(NextOrder, BothAreAConflict) {
  NodePoolObject object;
  object.promote = "pending";
  object.rollback = "previous";
  const OrderStep step = NextOrder(object, MakeConfiguration(), "np-a");
  EXPECT_EQ(step.kind, Kind::kConflict);
  Json both = RemoveAnnotation(kPromoteAnnotation, "pending");
  for (const Json& operation : RemoveAnnotation(kRollbackAnnotation, "previous"))
    both.push_back(operation);
  EXPECT_EQ(RemovalOf(step, object), both);
  EXPECT_EQ(
      RemovalOf({.kind = Kind::kPromote, .annotation = kPromoteAnnotation, .value = "pending"},
                object),
      RemoveAnnotation(kPromoteAnnotation, "pending"));
}

// The process may end between any two steps: each is taken again from what is there then.
TEST(NextOrder, HasTheEffectOfOnceWhereverItIsInterrupted) {
  for (const bool promote : {true, false}) {
    for (int crash_after = 0; crash_after < 4; ++crash_after) {
      PoolConfiguration configuration = MakeConfiguration();
      std::string annotation = promote ? "pending" : "previous";
      int step_number = 0;
      for (int step = 0; step < 10 && !annotation.empty(); ++step) {
        const OrderStep next =
            promote ? Promote(annotation, configuration) : Rollback(annotation, configuration);
        // The first half of a step has effect, the second is lost by the crash.
        const bool crash = step_number++ == crash_after;
        if (next.kind == Kind::kReplace) annotation = next.profile;
        if (next.kind == Kind::kPromote || next.kind == Kind::kRollback) {
          CarryOut(configuration,
                   promote ? ConfigurationOrder::KIND_PROMOTE : ConfigurationOrder::KIND_ROLLBACK,
                   next.profile);
          if (!crash) annotation.clear();
        }
        if (next.kind == Kind::kRemove) annotation.clear();
      }
      EXPECT_EQ(annotation, "");
      EXPECT_EQ(configuration.orders_size(), 1) << promote << crash_after;
      EXPECT_EQ(configuration.active(), promote ? "np-c" : "np-a");
    }
  }
}

TEST(NextOrder, OneThatWaitsForItsTurnIsCarriedOut) {
  PoolConfiguration configuration = MakeConfiguration();
  AddOrder(configuration, ConfigurationOrder::KIND_PROMOTE, "np-c",
           ConfigurationOrder::OUTCOME_WAITING);
  EXPECT_EQ(Promote("np-c", configuration).kind, Kind::kRemove);
  EXPECT_EQ(Promote("np-d", configuration).kind, Kind::kPromote) << "not another than that";
}

TEST(NextOrder, OneThatWasRefusedOrReplacedIsAskedForAgain) {
  for (const auto outcome :
       {ConfigurationOrder::OUTCOME_NO_PENDING, ConfigurationOrder::OUTCOME_CONFLICT,
        ConfigurationOrder::OUTCOME_REPLACED}) {
    PoolConfiguration configuration = MakeConfiguration();
    AddOrder(configuration, ConfigurationOrder::KIND_PROMOTE, "np-c", outcome);
    EXPECT_EQ(Promote("np-c", configuration).kind, Kind::kPromote);
    configuration.set_active("np-c");
    EXPECT_EQ(Promote("np-c", configuration).kind, Kind::kPromote) << "not by that order";
  }
}

TEST(NextOrder, AnotherOrderIsNotTakenForThisOne) {
  PoolConfiguration configuration = MakeConfiguration();
  CarryOut(configuration, ConfigurationOrder::KIND_PROMOTE, "np-c");
  EXPECT_EQ(Rollback("np-c", configuration).kind, Kind::kRollback);
  EXPECT_EQ(Rollback("np-a", configuration).kind, Kind::kRollback);
}

// Rolled back to np-a, then a change of the spec made np-d active, which is no order: somebody who
// asks for np-a once more means it.
TEST(NextOrder, WhatWasOvertakenSinceIsAskedForAgain) {
  PoolConfiguration configuration = MakeConfiguration();
  CarryOut(configuration, ConfigurationOrder::KIND_ROLLBACK, "np-a");
  EXPECT_EQ(Rollback("np-a", configuration).kind, Kind::kRemove);
  configuration.add_revisions()->set_node_profile("np-d");
  configuration.set_active("np-d");
  EXPECT_EQ(Rollback("np-a", configuration).kind, Kind::kRollback);
}

TEST(Annotations, ChangeOnlyIfTheyAreStillTheSame) {
  EXPECT_EQ(ReplaceAnnotation(kPromoteAnnotation, "pending", "np-c"), Json::parse(R"([
    {"op": "test", "path": "/metadata/annotations/compute.coreweave.com~1promote-configuration", "value": "pending"},
    {"op": "replace", "path": "/metadata/annotations/compute.coreweave.com~1promote-configuration", "value": "np-c"}])"));
  EXPECT_EQ(RemoveAnnotation("a~b/c", "x"), Json::parse(R"([
    {"op": "test", "path": "/metadata/annotations/a~0b~1c", "value": "x"},
    {"op": "remove", "path": "/metadata/annotations/a~0b~1c"}])"));
}

TEST(Annotations, ArePatchesThatJsonTakes) {
  Json object = {
      {"metadata", {{"annotations", {{kPromoteAnnotation, "pending"}, {"other", "x"}}}}}};
  object = object.patch(ReplaceAnnotation(kPromoteAnnotation, "pending", "np-c"));
  EXPECT_THROW(object.patch(RemoveAnnotation(kPromoteAnnotation, "pending")), Json::exception);
  object = object.patch(RemoveAnnotation(kPromoteAnnotation, "np-c"));
  EXPECT_EQ(object, Json({{"metadata", {{"annotations", {{"other", "x"}}}}}}));
}

}  // namespace
}  // namespace muster::kubernetes
