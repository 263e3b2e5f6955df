#include "services/lifecycle/wire/lifecycle_wire.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/timestamp.h"
#include "services/lifecycle/core/etag.h"
#include "services/lifecycle/core/metadata.h"
#include "services/lifecycle/core/spec_fields.h"

namespace muster::lifecycle {
namespace {

constexpr char kPool[] = "organizations/acme/clusters/c1/nodePools/train";
const absl::Time kTime = absl::FromUnixMicros(1'750'000'000'123'456);

template <class Row>
Versioned<Row> At(const Row& row, int64_t revision = 1) {
  return {std::make_shared<const Row>(row), revision};
}

Pool FullPool() {
  Pool pool{.name = kPool,
            .uid = "u",
            .zone = "US-EAST-04A",
            .generation = 3,
            .object_generation = 7,
            .create_time = kTime,
            .delete_time = kTime + absl::Seconds(1)};
  pool.spec = {"spot",
               "t",
               5,
               1,
               9,
               {{"a", "b"}},
               {{"c", "d"}},
               {{"k", "v", "NoSchedule"}},
               Image{"k", "n", "latest"},
               Gpu{"570"},
               true,
               ScaleDownStrategy::kPreferIdle,
               false,
               "Always",
               "25%",
               {{{"disk", "In", {"nvme"}}, {"old", "DoesNotExist", {}}}},
               -3,
               true,
               Prefill{true, 60, 2},
               "training"};
  const NodeConfiguration configuration{kTime, "np-1", {"Kubernetes 1.33"}, 2, true, 3};
  pool.status = {1,
                 2,
                 3,
                 "np-1",
                 configuration,
                 {configuration},
                 {{"Quota", "True", "Under", "m", kTime, 3}},
                 {{"Ready", "False", "Over", "m", kTime, 3}},
                 configuration};
  pool.account = {4, 3, 2, 1, 5, {"np-1", 2, {"g1"}}, 6, true, {3, kTime, true}, 4, true, true};
  pool.account.released = true;
  pool.reconfiguration = Reconfiguration{2,
                                         Reconfiguration::State::kHalted,
                                         {"g1"},
                                         true,
                                         "10%",
                                         1,
                                         kTime,
                                         kTime,
                                         {"g2"},
                                         4,
                                         "1 boot failed (g2)"};
  return pool;
}

TEST(Wire, PoolsThereAndBack) {
  const Pool full = FullPool();
  EXPECT_EQ(FromProto(ToProto(At(full, 12))).value(), full);
  EXPECT_EQ(ToProto(At(full, 12)).etag(), ToProto(At(full, 13)).etag());
  const Pool bare{.name = kPool};
  EXPECT_EQ(FromProto(ToProto(bare)).value(), bare);
}

// A rollback may wait by a row of the release before, which does not say which order does.
TEST(Wire, AnOrderThatWaitedMayBeARollbackUnlessTheRowSaysItIsNot) {
  Pool promoted = FullPool();
  promoted.account.waiting_configuration_order = 6;
  promoted.account.rollback_waits = false;
  EXPECT_EQ(FromProto(ToProto(promoted)).value(), promoted);

  v1::NodePool before = ToProto(promoted);
  before.mutable_account()->clear_rollback_waits();
  EXPECT_TRUE(FromProto(before)->account.rollback_waits);
  before.mutable_account()->clear_waiting_configuration_order();
  EXPECT_FALSE(FromProto(before)->account.rollback_waits);
  before.mutable_account()->set_configuration_order_waiting(true);
  EXPECT_TRUE(FromProto(before)->account.rollback_waits);

  Pool none = promoted;
  none.account.waiting_configuration_order = 0;
  v1::NodePool told = ToProto(none);
  EXPECT_EQ(FromProto(told).value(), none);
  // As the release before does, which hands on what it does not know.
  told.mutable_account()->set_waiting_configuration_order(7);
  EXPECT_TRUE(FromProto(told)->account.rollback_waits);
}

TEST(Wire, NodesInEveryStateThereAndBack) {
  for (int i = 0; i < kNodeStates; ++i) {
    Node node{.name = "n",
              .machine = "g1",
              .pool_uid = "u",
              .state = static_cast<NodeState>(i),
              .state_time = kTime,
              .create_time = kTime};
    node.desired = {Phase::kRunning,
                    kTime,
                    "np-1",
                    true,
                    true,
                    kTime,
                    StringMap{{"a", "b"}},
                    StringMap{{"c", "d"}},
                    std::vector<Taint>{{"k", "v", "NoExecute"}},
                    true,
                    kTime};
    node.observed = {"np-1", true,  true,  true, true, {"p"}, kTime, 12,       "h",
                     kTime,  kTime, kTime, 2,    "b",  "s",   "r",   "boot-1", kTime};
    node.conditions = {{"CWActive", "True", "Active", "m", kTime, 0, "CWSome"}};
    node.removal_cause = static_cast<RemovalCause>(i % 5);
    node.preempt_time = node.protect_until_time = kTime;
    (node.state == NodeState::kTriage ? node.replace_time : node.asked_to_go_time) = kTime;
    node.reconfigure_time = kTime;
    node.removal_requested = true;
    node.rack = "r1";
    node.request_time = node.grant_time = kTime;
    node.orders = {kTime, kTime, i % 2 == 0, static_cast<Reboot>(i % 4), kTime};
    EXPECT_EQ(FromProto(ToProto(At(node))).value(), node);
  }
  EXPECT_FALSE(FromProto(v1::Node()).ok());
}

TEST(Wire, WhichCordonIsMeantIsToldWhileThereIsOneAndNotReadBack) {
  Node node{.name = "n",
            .machine = "g1",
            .pool_uid = "u",
            .state = NodeState::kProduction,
            .state_time = kTime};
  node.orders.cordon_time = kTime + absl::Seconds(1);
  EXPECT_FALSE(ToProto(At(node)).desired().has_cordon_time());
  node.desired.cordoned = true;
  v1::Node told = ToProto(At(node));
  EXPECT_EQ(FromTimestamp(told.desired().cordon_time()), kTime + absl::Seconds(1));
  // As the release before hands it on.
  told.mutable_desired()->mutable_cordon_time()->set_seconds(1);
  EXPECT_EQ(FromProto(told).value(), node);
  EXPECT_EQ(ToProto(At(FromProto(told).value())).desired().cordon_time().seconds(),
            absl::ToUnixSeconds(kTime) + 1);
}

// Releases before `asked_to_go_time` have both in `replace_time`.
TEST(Wire, WhyAReplaceTimeIsSetIsReadFromRowsOfEitherRelease) {
  const absl::Time in_triage = kTime + absl::Seconds(1);
  const absl::Time later = kTime + absl::Seconds(2);
  const auto written = [&](NodeState state, bool named, absl::Time replace, absl::Time ask) {
    Node node{.name = "n", .machine = "g1", .pool_uid = "u", .state = state};
    node.state_time = in_triage;
    node.removal_requested = named;
    node.replace_time = replace;
    v1::Node told = ToProto(At(node));
    if (ask != kNever) SetTimestamp(ask, told.mutable_asked_to_go_time());
    return FromProto(told).value();
  };
  struct Case {
    const char* what;
    Node read;
    absl::Time replace;
    absl::Time ask;
  };
  const NodeState triage = NodeState::kTriage;
  const NodeState up = NodeState::kProduction;
  for (const Case& c : std::initializer_list<Case>{
           {"asked", written(up, true, kTime, kTime), kNever, kTime},
           {"asked while ill", written(triage, true, later, later), kNever, later},
           {"before: asked", written(up, true, kTime, kNever), kNever, kTime},
           {"before: asked, then ill", written(triage, true, kTime, kNever), kNever, kTime},
           {"before: waits", written(triage, false, later, kNever), later, kNever},
           {"before: waits, or asked", written(triage, true, later, kNever), later, kNever},
           {"before: took it back", written(up, false, kNever, kTime), kNever, kNever},
           {"before: then named it", written(up, true, kNever, kTime), kNever, kNever},
           {"before: then asked it", written(up, true, later, kTime), kNever, later},
           {"before: then waits", written(triage, false, later, kTime), later, kNever}}) {
    SCOPED_TRACE(c.what);
    EXPECT_EQ(c.read.replace_time, c.replace);
    EXPECT_EQ(c.read.asked_to_go_time, c.ask);
    // What is written of that is read as that, and by a release before, too.
    const v1::Node told = ToProto(At(c.read));
    EXPECT_EQ(FromProto(told).value(), c.read);
    EXPECT_EQ(told.has_replace_time(), c.replace != kNever || c.ask != kNever);
  }
}

// It is shown as it is: an agent then leaves the machine alone.
TEST(Wire, APhaseThatIsNotDecidedIsToldAsNone) {
  const Node node{.name = "n", .machine = "g1", .pool_uid = "u", .state = NodeState::kAssigned};
  ASSERT_EQ(node.desired.phase, Phase::kUndecided);
  const v1::Node told = ToProto(At(node));
  EXPECT_EQ(told.desired().phase(), v1::NodeDesired::PHASE_UNSPECIFIED);
  EXPECT_EQ(told.desired().node_profile(), "");
  EXPECT_EQ(FromProto(told).value(), node);
}

TEST(Wire, TheOthersThereAndBack) {
  const Cluster cluster{"organizations/acme/clusters/c1", "US-EAST-04A", "1.33", kTime};
  EXPECT_EQ(FromProto(ToProto(At(cluster))).value(), cluster);
  const Event event{"n", "o", "u", "Warning", "r", "m", 3, kTime, kTime};
  EXPECT_EQ(FromProto(ToProto(At(event))).value(), event);
  const Lease lease{Lease::kName, "h", 7, "i", 8};
  EXPECT_EQ(FromProto(ToProto(At(lease))).value(), lease);
}

TEST(Wire, SpecsGetTheirWrittenDefaults) {
  const Spec spec = FromProto(v1::NodePoolSpec());
  EXPECT_EQ(spec.scale_down_strategy, ScaleDownStrategy::kIdleOnly);
  EXPECT_TRUE(spec.disable_unhealthy_node_eviction);
}

// Gives a field something that is not its default; a message its first field.
void SetField(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field) {
  using Field = google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& in = *message.GetReflection();
  if (field.cpp_type() == Field::CPPTYPE_MESSAGE) {
    google::protobuf::Message& part = field.is_repeated() ? *in.AddMessage(&message, &field)
                                                          : *in.MutableMessage(&message, &field);
    return SetField(part, *field.message_type()->field(0));
  }
  if (field.cpp_type() == Field::CPPTYPE_STRING) return in.SetString(&message, &field, "x");
  if (field.cpp_type() == Field::CPPTYPE_INT32) return in.SetInt32(&message, &field, 7);
  if (field.cpp_type() == Field::CPPTYPE_INT64) return in.SetInt64(&message, &field, 7);
  ASSERT_EQ(field.cpp_type(), Field::CPPTYPE_BOOL);
  in.SetBool(&message, &field, !field.has_presence());
}

// Each field of the spec, and each part of one, can be written by itself, and is part of the etag.
void CheckField(const google::protobuf::FieldDescriptor& field, const std::string& below,
                v1::NodePoolSpec& spec, google::protobuf::Message& message) {
  const std::string path = absl::StrCat(below, ".", field.name());
  const std::vector<absl::string_view> known = SpecPaths();
  const bool has_parts = std::any_of(known.begin(), known.end(), [&](absl::string_view other) {
    return absl::StartsWith(other, absl::StrCat(path, "."));
  });
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  if (has_parts) {
    google::protobuf::Message& part = *reflection.MutableMessage(&message, &field);
    for (int i = 0; i < field.message_type()->field_count(); ++i)
      CheckField(*field.message_type()->field(i), path, spec, part);
    reflection.ClearField(&message, &field);
    return;
  }
  EXPECT_NE(std::find(known.begin(), known.end(), path), known.end()) << path;
  const std::string before = EtagOf(Pool{.spec = FromProto(spec)});
  SetField(message, field);
  EXPECT_THAT(SetPaths(spec), ::testing::ElementsAre(path));
  EXPECT_NE(EtagOf(Pool{.spec = FromProto(spec)}), before) << path;
  reflection.ClearField(&message, &field);
}

TEST(Wire, EveryFieldOfTheSpecCanBeUpdatedAndIsPartOfTheEtag) {
  v1::NodePoolSpec spec;
  for (int i = 0; i < spec.GetDescriptor()->field_count(); ++i)
    CheckField(*spec.GetDescriptor()->field(i), "spec", spec, spec);
}

TEST(Wire, WhatSumsUpIsToldBehindTheOtherConditions) {
  Pool pool{.name = kPool};
  pool.status.conditions = {{.type = "Quota", .status = "True", .reason = "Under"}};
  pool.status.summary = {{.type = "Ready", .status = "False", .reason = "NotObserved"},
                         {.type = "Reconciling", .status = "True", .reason = "NotObserved"}};
  const v1::NodePool told = ToProto(pool);
  ASSERT_EQ(told.status().conditions_size(), 3);
  EXPECT_EQ(told.status().conditions(1).type(), "Ready");
  EXPECT_EQ(FromProto(told).value(), pool);
}

// Image: "image and gpu are mutually exclusive; if both are set, gpu will be ignored". One without
// any field set is not set, so gpu is not ignored.
TEST(Wire, AnEmptyImageCountsAsNotSet) {
  v1::NodePoolSpec spec;
  spec.mutable_gpu()->set_version("550");
  spec.mutable_image();
  EXPECT_FALSE(FromProto(spec).image);
  EXPECT_EQ(FromProto(spec).gpu->version, "550");
  spec.mutable_image()->set_release_train("stable");
  EXPECT_TRUE(FromProto(spec).image);
}

// UpdateNodePool with mask `*` is as ApplyNodePool: both have one form of a spec.
TEST(Wire, EmptyPartsCountAsNotSetAsInAnUpdate) {
  v1::NodePoolSpec said;
  said.mutable_image();
  said.mutable_gpu();
  said.mutable_prefill();
  const Spec applied = FromProto(said);
  EXPECT_EQ(applied, FromProto(v1::NodePoolSpec()));
  Spec updated = FullPool().spec;
  CopyFields({"*"}, applied, updated);
  EXPECT_EQ(updated, applied);
  EXPECT_EQ(EtagOf(Pool{.spec = updated}), EtagOf(Pool{.spec = applied}));
}

TEST(Wire, MalformedReportsNameTheirField) {
  v1::NodeReport report;
  const auto field = [&] {
    Faults faults;
    FromProto(report, "reports[2]", faults);
    return faults.named().at(0).field;
  };
  const auto parsed = [&] {
    Faults faults;
    return FromProto(report, "", faults);
  };
  EXPECT_EQ(field(), "reports[2].node");
  report.set_node(std::string(kPool) + "/nodes/g1");
  EXPECT_EQ(field(), "reports[2].observation");
  report.set_observation(static_cast<v1::NodeReport::Observation>(99));
  Faults none;
  EXPECT_TRUE(FromProto(report, "", none).is_unknown) << "a newer agent's";
  EXPECT_TRUE(none.empty());
  report.set_observation(v1::NodeReport::OBSERVATION_TERMINATED);
  EXPECT_EQ(parsed().observation, ReportNode::Observation::kTerminated);
  EXPECT_FALSE(parsed().is_unknown);
  report.set_message(std::string(2000, 'x'));
  EXPECT_EQ(field(), "reports[2].message");
  report.clear_message();
  report.set_active_pod_count(-1);
  EXPECT_EQ(field(), "reports[2].active_pod_count");
  report.clear_active_pod_count();
  EXPECT_EQ(parsed().node_create_time, kNever);
  report.mutable_node_create_time()->set_seconds(7);
  EXPECT_EQ(parsed().node_create_time, absl::FromUnixSeconds(7));
  EXPECT_EQ(parsed().desired_time, kNever);
  report.mutable_desired_time()->set_seconds(8);
  EXPECT_EQ(parsed().desired_time, absl::FromUnixSeconds(8));
}

}  // namespace
}  // namespace muster::lifecycle
