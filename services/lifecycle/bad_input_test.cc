// Every field of every RPC of the lifecycle service spoilt: INVALID_ARGUMENT names the field, and
// nothing is written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/lifecycle_service.h"
#include "services/lifecycle/testing/service_test_base.h"
#include "tests/testing/service_test.h"

namespace muster::lifecycle {
namespace {

using muster::testing::HasFieldViolation;
using muster::testing::IsOk;

constexpr char kNode[] = "organizations/acme/clusters/c1/nodePools/train/nodes/g1";
constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
const std::string kLongText(5'000, 'x');

template <class Request>
using Cases = std::vector<muster::testing::BadInput<Request>>;

class LifecycleBadInputTest
    : public muster::testing::ServiceTest<LifecycleService, v1::LifecycleService> {
 protected:
  LifecycleBadInputTest() : ServiceTest("lifecycle") {
    v1::UpdateClusterRequest cluster;
    cluster.mutable_cluster()->set_name(kCluster);
    cluster.mutable_cluster()->set_zone("US-EAST-04A");
    EXPECT_THAT(Call(&Stub::UpdateCluster, cluster), IsOk());
    EXPECT_THAT(Call(&Stub::ApplyNodePool, Apply()), IsOk());
  }
  static v1::ApplyNodePoolRequest Apply() {
    v1::ApplyNodePoolRequest request;
    request.mutable_node_pool()->set_name(kPool);
    request.mutable_node_pool()->mutable_spec()->set_instance_type("gd-8xa100-i128");
    request.mutable_node_pool()->mutable_spec()->set_target_nodes(1);
    return request;
  }
};

template <class Request>
Cases<Request> BadNames(const std::string& field) {
  return {{field, [](auto& r) { r.clear_name(); }},
          {field, [](auto& r) { r.set_name("castles/x"); }},
          {field, [](auto& r) { r.set_name(kLongText); }}};
}

TEST_F(LifecycleBadInputTest, Clusters) {
  v1::UpdateClusterRequest good;
  good.mutable_cluster()->set_name(kCluster);
  good.mutable_cluster()->set_zone("US-EAST-04A");
  ExpectRefused<v1::UpdateClusterRequest>(
      &Stub::UpdateCluster, good,
      {{"cluster.name", [](auto& r) { r.clear_cluster(); }},
       {"cluster.name",
        [](auto& r) { r.mutable_cluster()->set_name("organizations/A/clusters/c"); }},
       {"cluster.zone", [](auto& r) { r.mutable_cluster()->clear_zone(); }},
       {"cluster.zone", [](auto& r) { r.mutable_cluster()->set_zone("us east"); }},
       {"cluster.kubernetes_version",
        [](auto& r) { r.mutable_cluster()->set_kubernetes_version("1.33.1"); }}});
  v1::BindClusterRequest bind;
  bind.set_name(kCluster);
  bind.set_kubernetes_uid("k1");
  ExpectRefused<v1::BindClusterRequest>(
      &Stub::BindCluster, bind,
      {{"name", [](auto& r) { r.set_name("organizations/A/clusters/c"); }},
       {"kubernetes_uid", [](auto& r) { r.clear_kubernetes_uid(); }},
       {"kubernetes_uid", [](auto& r) { r.set_kubernetes_uid(kLongText); }},
       {"replaces", [](auto& r) { r.set_replaces("K 1"); }}});
  v1::AllowRemovalsRequest allow;
  allow.set_name(kCluster);
  allow.set_nodes(1);
  ExpectRefused<v1::AllowRemovalsRequest>(
      &Stub::AllowRemovals, allow,
      {{"name", [](auto& r) { r.clear_name(); }},
       {"node_pools", [](auto& r) { r.set_node_pools(-1); }},
       {"nodes", [](auto& r) { r.set_nodes(kHuge); }},
       {"ttl", [](auto& r) { r.mutable_ttl()->set_seconds(0); }},
       {"ttl", [](auto& r) { r.mutable_ttl()->set_seconds(24 * 3600 + 1); }},
       {"ttl", [](auto& r) { r.mutable_ttl()->set_seconds(INT64_MIN); }}});
  ExpectRefused<v1::GetClusterRequest>(&Stub::GetCluster, {},
                                       BadNames<v1::GetClusterRequest>("name"));
  ExpectRefused<v1::ListClustersRequest>(
      &Stub::ListClusters, {},
      {{"parent", [](auto& r) { r.set_parent("castles/x"); }},
       {"parent", [](auto& r) { r.set_parent("organizations/ACME"); }},
       {"page_size",
        [](auto& r) {
          r.set_parent("organizations/acme");
          r.set_page_size(-1);
        }},
       {"page_token", [](auto& r) {
          r.set_parent("organizations/acme");
          r.set_page_token("garbage");
        }}});
}

using Spoil = std::function<void(v1::NodePoolSpec&)>;

std::vector<std::pair<std::string, Spoil>> BadSpecs() {
  return {
      {"spec.computeClass", [](auto& s) { s.set_compute_class("Spot"); }},
      {"spec.instanceType", [](auto& s) { s.clear_instance_type(); }},
      {"spec.instanceType", [](auto& s) { s.set_instance_type("a b"); }},
      {"spec.targetNodes", [](auto& s) { s.clear_target_nodes(); }},
      {"spec.targetNodes", [](auto& s) { s.set_target_nodes(-1); }},
      {"spec.targetNodes", [](auto& s) { s.set_target_nodes(kHuge); }},
      {"spec.minNodes", [](auto& s) { s.set_min_nodes(-1); }},
      {"spec.description", [](auto& s) { s.set_description(std::string("a\0b", 3)); }},
      {"spec.minNodes", [](auto& s) { s.set_min_nodes(5); }},
      {"spec.maxNodes", [](auto& s) { s.set_max_nodes(kHuge); }},
      {"spec.maxNodes", [](auto& s) { s.set_autoscaling(true); }},
      {"spec.nodeLabels[coreweave.com/x]",
       [](auto& s) { (*s.mutable_node_labels())["coreweave.com/x"] = "y"; }},
      {"spec.nodeLabels[a]", [](auto& s) { (*s.mutable_node_labels())["a"] = "not a value"; }},
      {"spec.nodeAnnotations[-]", [](auto& s) { (*s.mutable_node_annotations())["-"] = "y"; }},
      {"spec.nodeTaints[0].key", [](auto& s) { s.add_node_taints()->set_effect("NoSchedule"); }},
      {"spec.nodeTaints[0].key",
       [](auto& s) {
         s.add_node_taints()->set_effect("NoSchedule");
         s.mutable_node_taints(0)->set_key("node.kubernetes.io/unreachable");
       }},
      {"spec.nodeTaints[0].effect", [](auto& s) { s.add_node_taints()->set_key("k"); }},
      {"spec.image.releaseTrain", [](auto& s) { s.mutable_image()->set_release_train("nightly"); }},
      {"spec.image.kernel",
       [](auto& s) {
         s.mutable_image()->set_name("n");
         s.mutable_image()->set_kernel("k");
       }},
      {"spec.image.name", [](auto& s) { s.mutable_image()->set_name(kLongText); }},
      {"spec.gpu.version", [](auto& s) { s.mutable_gpu()->set_version("570.86"); }},
      {"spec.lifecycle.scaleDownStrategy",
       [](auto& s) { s.mutable_lifecycle()->set_scale_down_strategy("Fast"); }},
      {"spec.lifecycle.maxUnavailable",
       [](auto& s) { s.mutable_lifecycle()->set_max_unavailable("0"); }},
      {"spec.lifecycle.maxUnavailable",
       [](auto& s) { s.mutable_lifecycle()->set_max_unavailable("101%"); }},
      {"spec.lifecycle.maxUnavailable",
       [](auto& s) { s.mutable_lifecycle()->set_max_unavailable("some"); }},
      {"spec.nodeConfigurationUpdateStrategy.type",
       [](auto& s) { s.mutable_node_configuration_update_strategy()->set_type("Never"); }},
      {"spec.nodeAffinity.terms[0].expressions",
       [](auto& s) { s.mutable_node_affinity()->add_terms(); }},
      {"spec.nodeAffinity.terms[0].expressions[0].operator",
       [](auto& s) { s.mutable_node_affinity()->add_terms()->add_expressions()->set_key("k"); }},
      {"spec.nodeAffinity.terms[0].expressions[0].values",
       [](auto& s) {
         auto* e = s.mutable_node_affinity()->add_terms()->add_expressions();
         e->set_key("k");
         e->set_operator_("In");
       }},
      {"spec.prefill.maxNodes", [](auto& s) { s.mutable_prefill()->set_max_nodes(5); }},
      {"spec.prefill.timeoutSeconds",
       [](auto& s) { s.mutable_prefill()->set_timeout_seconds(-1); }},
      {"spec.prefill.enabled",
       [](auto& s) {
         s.mutable_prefill()->set_enabled(true);
         s.set_autoscaling(true);
         s.set_max_nodes(5);
       }},
  };
}

TEST_F(LifecycleBadInputTest, Specs) {
  Cases<v1::ApplyNodePoolRequest> cases = {
      {"node_pool.name", [](auto& r) { r.clear_node_pool(); }},
      {"node_pool.name", [](auto& r) { r.mutable_node_pool()->set_name(kCluster); }},
      {"node_pool.uid", [](auto& r) { r.mutable_node_pool()->set_uid("A_B"); }},
      {"node_pool.uid", [](auto& r) { r.mutable_node_pool()->set_uid(std::string(64, 'a')); }},
      {"node_pool.uid", [](auto& r) { r.mutable_node_pool()->set_uid("a-"); }},
      {"node_pool.object_generation",
       [](auto& r) { r.mutable_node_pool()->set_object_generation(-1); }}};
  for (const auto& [field, spoil] : BadSpecs()) {
    cases.push_back(
        {field, [spoil = spoil](auto& r) { spoil(*r.mutable_node_pool()->mutable_spec()); }});
    // As well when it is only tried.
    cases.push_back({field, [spoil = spoil](auto& r) {
                       spoil(*r.mutable_node_pool()->mutable_spec());
                       r.set_validate_only(true);
                     }});
  }
  constexpr bool kInThisState = true;
  for (const bool only_tried : {false, true}) {
    cases.push_back({"spec.computeClass",
                     [only_tried](auto& r) {
                       r.mutable_node_pool()->mutable_spec()->set_compute_class("spot");
                       r.set_validate_only(only_tried);
                     },
                     kInThisState});
    cases.push_back({"spec.instanceType",
                     [only_tried](auto& r) {
                       r.mutable_node_pool()->mutable_spec()->set_instance_type("other");
                       r.set_validate_only(only_tried);
                     },
                     kInThisState});
  }
  ExpectRefused<v1::ApplyNodePoolRequest>(&Stub::ApplyNodePool, Apply(), cases);
}

// What is wrong in any state and what is wrong in this one: one answer, before the lane.
TEST_F(LifecycleBadInputTest, AllFaultsAreToldAtOnce) {
  v1::ApplyNodePoolRequest apply = Apply();
  apply.mutable_node_pool()->mutable_spec()->set_instance_type("other");
  apply.mutable_node_pool()->mutable_spec()->set_min_nodes(-1);
  apply.mutable_node_pool()->set_uid("A_B");
  v1::ResizeNodePoolRequest resize;
  resize.set_name(kPool);
  resize.set_target_nodes(-1);
  resize.add_remove_machines("nobody");
  const int64_t decided = service_->lane().stats().commands;
  for (const char* field : {"node_pool.uid", "spec.minNodes", "spec.instanceType"}) {
    EXPECT_THAT(Call(&Stub::ApplyNodePool, apply), HasFieldViolation(field));
  }
  for (const char* field : {"target_nodes", "remove_machines[0]"}) {
    EXPECT_THAT(Call(&Stub::ResizeNodePool, resize), HasFieldViolation(field));
  }
  EXPECT_EQ(service_->lane().stats().commands, decided);
}

TEST_F(LifecycleBadInputTest, WhatIsAskedOfAPool) {
  v1::ResizeNodePoolRequest resize;
  resize.set_name(kPool);
  resize.set_target_nodes(2);
  auto resizes = BadNames<v1::ResizeNodePoolRequest>("name");
  resizes.push_back({"target_nodes", [](auto& r) { r.clear_target_nodes(); }});
  resizes.push_back({"target_nodes", [](auto& r) { r.set_target_nodes(-1); }});
  resizes.push_back({"target_nodes", [](auto& r) { r.set_target_nodes(kHuge); }});
  resizes.push_back({"remove_machines[0]", [](auto& r) { r.add_remove_machines("nobody"); }, true});
  resizes.push_back({"remove_machines[1]", [](auto& r) {
                       r.add_remove_machines("g1");
                       r.add_remove_machines("g1");
                     }});
  resizes.push_back({"remove_machines", [](auto& r) {
                       for (int i = 0; i < 1'001; ++i) r.add_remove_machines("g1");
                     }});
  ExpectRefused<v1::ResizeNodePoolRequest>(&Stub::ResizeNodePool, resize, resizes);

  v1::ReconfigureNodePoolRequest reconfigure;
  reconfigure.set_name(kPool);
  auto reconfigures = BadNames<v1::ReconfigureNodePoolRequest>("name");
  reconfigures.push_back({"max_unavailable", [](auto& r) { r.set_max_unavailable("0%"); }});
  reconfigures.push_back({"allowed_failures", [](auto& r) { r.set_allowed_failures(-1); }});
  reconfigures.push_back({"machines", [](auto& r) {
                            for (int i = 0; i < 1'001; ++i) r.add_machines("g1");
                          }});
  ExpectRefused<v1::ReconfigureNodePoolRequest>(&Stub::ReconfigureNodePool, reconfigure,
                                                reconfigures);
  ExpectRefused<v1::PauseReconfigurationRequest>(&Stub::PauseReconfiguration, {},
                                                 BadNames<v1::PauseReconfigurationRequest>("name"));
  ExpectRefused<v1::ResumeReconfigurationRequest>(
      &Stub::ResumeReconfiguration, {}, BadNames<v1::ResumeReconfigurationRequest>("name"));
  ExpectRefused<v1::CancelReconfigurationRequest>(
      &Stub::CancelReconfiguration, {}, BadNames<v1::CancelReconfigurationRequest>("name"));
  ExpectRefused<v1::DeleteNodePoolRequest>(&Stub::DeleteNodePool, {},
                                           BadNames<v1::DeleteNodePoolRequest>("name"));
  ExpectRefused<v1::GetNodePoolRequest>(&Stub::GetNodePool, {},
                                        BadNames<v1::GetNodePoolRequest>("name"));
  ExpectRefused<v1::ExplainNodePoolRequest>(&Stub::ExplainNodePool, {},
                                            BadNames<v1::ExplainNodePoolRequest>("name"));
}

TEST_F(LifecycleBadInputTest, NodesAndReports) {
  v1::UpdateNodeRequest update;
  update.mutable_node()->set_name(kNode);
  ExpectRefused<v1::UpdateNodeRequest>(
      &Stub::UpdateNode, update,
      {{"node.name", [](auto& r) { r.clear_node(); }},
       {"node.name", [](auto& r) { r.mutable_node()->set_name(kPool); }},
       {"update_mask", [](auto& r) { r.mutable_update_mask()->add_paths("state"); }},
       {"node.reserved_desired",
        [](auto& r) {
          r.mutable_update_mask()->add_paths("reserved_desired");
          r.mutable_node()->set_reserved_desired("acme");
        }},
       {"node.protect_until_time",
        [](auto& r) { r.mutable_node()->mutable_protect_until_time()->set_nanos(-1); }}});
  ExpectRefused<v1::GetNodeRequest>(&Stub::GetNode, {}, BadNames<v1::GetNodeRequest>("name"));
  ExpectRefused<v1::CordonNodeRequest>(&Stub::CordonNode, {},
                                       BadNames<v1::CordonNodeRequest>("name"));
  ExpectRefused<v1::UncordonNodeRequest>(&Stub::UncordonNode, {},
                                         BadNames<v1::UncordonNodeRequest>("name"));
  ExpectRefused<v1::DrainNodeRequest>(&Stub::DrainNode, {}, BadNames<v1::DrainNodeRequest>("name"));
  v1::RebootNodeRequest reboot;
  reboot.set_name(kNode);
  reboot.set_mode(v1::NodeOrders::REBOOT_WHEN_IDLE);
  ExpectRefused<v1::RebootNodeRequest>(
      &Stub::RebootNode, reboot,
      {{"name", [](auto& r) { r.set_name(kPool); }},
       {"mode", [](auto& r) { r.clear_mode(); }},
       {"mode", [](auto& r) { r.set_mode(static_cast<v1::NodeOrders::Reboot>(99)); }}});
  v1::ReportNodesRequest report;
  report.add_reports()->set_node(kNode);
  report.mutable_reports(0)->set_observation(v1::NodeReport::OBSERVATION_IDLE);
  const auto of = [](std::function<void(v1::NodeReport&)> spoil) {
    return [spoil](v1::ReportNodesRequest& r) { spoil(*r.mutable_reports(0)); };
  };
  ExpectRefused<v1::ReportNodesRequest>(
      &Stub::ReportNodes, report,
      {{"reports", [](auto& r) { r.clear_reports(); }},
       {"reports",
        [](auto& r) {
          for (int i = 0; i < 1'000; ++i) *r.add_reports() = r.reports(0);
        }},
       {"reports[0].node", of([](auto& r) { r.set_node("x"); })},
       {"reports[0].observation", of([](auto& r) { r.clear_observation(); })},
       {"reports[0].node_profile", of([](auto& r) { r.set_node_profile(kLongText); })},
       {"reports[0].message", of([](auto& r) { r.set_message(kLongText); })},
       {"reports[0].message", of([](auto& r) { r.set_message(std::string("\0", 1)); })},
       {"reports[0].active_pods", of([](auto& r) { r.add_active_pods(""); })},
       {"reports[0].active_pods", of([](auto& r) {
          for (int i = 0; i < 11; ++i) r.add_active_pods("p");
        })},
       {"reports[0].active_pod_count", of([](auto& r) { r.set_active_pod_count(kHuge); })}});
}

// What cannot be is not answered as if there was none.
TEST_F(LifecycleBadInputTest, ParentsOfLists) {
  ExpectRefused<v1::ListNodePoolsRequest>(
      &Stub::ListNodePools, {},
      {{"parent", [](auto& r) { r.set_parent("organizations/acme/clusters/C 1"); }},
       {"parent", [](auto& r) { r.set_parent("organizations/-/clusters/C1"); }}});
  ExpectRefused<v1::ListNodesRequest>(
      &Stub::ListNodes, {},
      {{"parent", [](auto& r) { r.set_parent(absl::StrCat(kCluster, "/nodePools/Train")); }}});
  ExpectRefused<v1::ListEventsRequest>(
      &Stub::ListEvents, {},
      {{"parent", [](auto& r) { r.set_parent("organizations/acme/clusters/C1"); }},
       {"pool_uid", [](auto& r) {
          r.set_parent(kCluster);
          r.set_pool_uid("NOT A UID");
        }}});
  v1::ListNodesRequest dotted;
  dotted.set_parent("organizations/-/clusters/-/nodePools/train.v2");
  EXPECT_THAT(Call(&Stub::ListNodes, dotted), IsOk());
}

}  // namespace
}  // namespace muster::lifecycle
