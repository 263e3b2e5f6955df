#include "services/lifecycle/wire/lifecycle_wire.h"

#include <gtest/gtest.h>

#include "services/common/error.h"
#include "services/lifecycle/core/metadata.h"

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
                 configuration};
  pool.account = {4, 3, 2, 1, 5, {"np-1", 2, {"g1"}}, 6, true, {3, kTime, true}, 4};
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
  EXPECT_EQ(ToProto(At(full, 12)).etag(), "12");
  const Pool bare{.name = kPool};
  EXPECT_EQ(FromProto(ToProto(bare, 1)).value(), bare);
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
    node.observed = {"np-1", true,  {"p"}, kTime, true, 12,  true, "h",
                     kTime,  kTime, kTime, 2,     true, "b", "s",  "r"};
    node.conditions = {{"CWActive", "True", "Active", "m", kTime, 0, "CWSome"}};
    node.removal_cause = static_cast<RemovalCause>(i % 5);
    node.preempt_time = node.protect_until_time = node.replace_time = kTime;
    node.reconfigure_time = kTime;
    node.removal_requested = true;
    node.rack = "r1";
    node.request_time = kTime;
    EXPECT_EQ(FromProto(ToProto(At(node))).value(), node);
  }
  EXPECT_FALSE(FromProto(v1::Node()).ok());
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
  report.set_observation(v1::NodeReport::OBSERVATION_TERMINATED);
  EXPECT_EQ(parsed().observation, ReportNode::Observation::kTerminated);
  report.set_message(std::string(2000, 'x'));
  EXPECT_EQ(field(), "reports[2].message");
  report.clear_message();
  report.set_active_pod_count(-1);
  EXPECT_EQ(field(), "reports[2].active_pod_count");
  report.clear_active_pod_count();
  EXPECT_EQ(parsed().node_create_time, kNever);
  report.mutable_node_create_time()->set_seconds(7);
  EXPECT_EQ(parsed().node_create_time, absl::FromUnixSeconds(7));
}

}  // namespace
}  // namespace muster::lifecycle
