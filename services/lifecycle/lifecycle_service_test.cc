#include "services/lifecycle/lifecycle_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "services/common/cause.h"
#include "services/lifecycle/peers/known_claims.h"
#include "services/lifecycle/peers/peer_books.h"
#include "services/lifecycle/testing/service_test_base.h"
#include "tests/testing/metric_value.h"
#include "tests/testing/patience.h"

namespace muster::lifecycle {
namespace {

using ::muster::testing::HasFieldViolation;
using ::muster::testing::HasReason;
using ::muster::testing::IsOk;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

TEST_F(LifecycleServiceTest, APoolComesUpScalesAndGoes) {
  Reconcile();
  ASSERT_THAT(Apply(3), IsOk());
  const auto up = AwaitReason("AtTarget", "TargetMet", 3);
  ASSERT_TRUE(up.has_value());
  EXPECT_EQ(up->status().node_profile(), "np-000000000001");
  EXPECT_THAT(peers_.capacity.claims()[up->uid()], SizeIs(3));

  v1::ResizeNodePoolRequest resize;
  resize.set_name(kPool);
  resize.set_target_nodes(1);
  ASSERT_THAT(Call(*replica_->stub, &Stub::ResizeNodePool, resize), IsOk());
  ASSERT_TRUE(AwaitReason("AtTarget", "TargetMet", 1).has_value());

  v1::DeleteNodePoolRequest gone;
  gone.set_name(kPool);
  ASSERT_THAT(Call(*replica_->stub, &Stub::DeleteNodePool, gone), IsOk());
  EXPECT_FALSE(Await(*replica_->stub, [](const auto&) { return false; }).has_value());
  EXPECT_THAT(peers_.capacity.claims(), IsEmpty());
  EXPECT_THAT(peers_.quota.holdings(), IsEmpty());
}

// Whoever follows Nodes, and what counts their moves, sees each, as if they had come by calls of
// their own.
TEST_F(LifecycleServiceTest, ReportsOfANodeInOneCallAreAChangeEach) {
  ASSERT_THAT(replica_->service->StartReconciling(peers_.channels()), IsOk());
  ASSERT_THAT(Apply(1), IsOk());
  v1::ListNodesRequest list;
  list.set_parent(kPool);
  v1::Node node;
  testing::Until(
      [&] {
        const auto listed = Call(*replica_->stub, &Stub::ListNodes, list);
        if (listed.ok() && listed->nodes_size() == 1) node = listed->nodes(0);
        return node.desired().phase() == v1::NodeDesired::PHASE_RUNNING;
      },
      "a Node that is to run");
  const auto moves = [&] {
    return testing::MetricSum(*replica_->service->census_collectable(),
                              "muster_lifecycle_node_moves_total");
  };
  const double before = moves();
  v1::ReportNodesRequest request;
  // What only a newer release knows is refused, and the others go on.
  const auto newer = static_cast<v1::NodeReport::Observation>(99);
  for (const auto observation :
       {newer, v1::NodeReport::OBSERVATION_BOOT_STARTED, v1::NodeReport::OBSERVATION_REGISTERED,
        v1::NodeReport::OBSERVATION_READY}) {
    v1::NodeReport* report = request.add_reports();
    report->set_node(node.name());
    report->set_observation(observation);
    report->set_node_profile(node.desired().node_profile());
  }
  const auto reported = Call(*replica_->stub, &Stub::ReportNodes, request);
  ASSERT_THAT(reported, IsOk());
  ASSERT_EQ(reported->results_size(), 4);
  EXPECT_EQ(reported->results(0).code(), grpc::StatusCode::INVALID_ARGUMENT);
  for (int i = 1; i < 4; ++i)
    EXPECT_EQ(reported->results(i).code(), 0) << reported->results(i).message();
  ASSERT_TRUE(AwaitReason("AtTarget", "TargetMet", 1).has_value());
  EXPECT_EQ(moves() - before, 3);
}

// Agents time out first where the database is slow, and what they told is committed nevertheless.
TEST_F(LifecycleServiceTest, AReportCountsThoughItsCallerHasGivenUp) {
  ASSERT_THAT(replica_->service->StartReconciling(peers_.channels()), IsOk());
  ASSERT_THAT(Apply(1), IsOk());
  v1::ListNodesRequest list;
  list.set_parent(kPool);
  v1::Node node;
  const auto is = [&](auto so) {
    const auto listed = Call(*replica_->stub, &Stub::ListNodes, list);
    if (listed.ok() && listed->nodes_size() == 1) node = listed->nodes(0);
    return so(node);
  };
  testing::Until(
      [&] {
        return is([](const v1::Node& now) {
          return now.desired().phase() == v1::NodeDesired::PHASE_RUNNING;
        });
      },
      "a Node that is to run");
  v1::ReportNodesRequest request;
  request.add_reports()->set_node(node.name());
  request.mutable_reports(0)->set_observation(v1::NodeReport::OBSERVATION_BOOT_STARTED);
  // On a busy machine it may give up before its report is taken, which is then dropped.
  testing::Until(
      [&] {
        auto head = database_.Hold("SELECT * FROM lifecycle.journal_head FOR UPDATE");
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(300));
        v1::ReportNodesResponse response;
        EXPECT_EQ(replica_->stub->ReportNodes(&context, request, &response).error_code(),
                  grpc::StatusCode::DEADLINE_EXCEEDED);
        head.reset();
        testing::Until([&] { return replica_->service->lane().stats().queued == 0; },
                       "the lane to be idle");
        return is([](const v1::Node& now) { return now.state() == v1::Node::STATE_BOOTING; });
      },
      "a report that is committed after its call");
  testing::Until(
      [&] {
        return testing::MetricValue(*replica_->service->reports_collectable(),
                                    "muster_lifecycle_reports_total", "accepted") == 1;
      },
      "the report to be counted");
}

TEST_F(LifecycleServiceTest, CapacitysWordsOnNodeAffinityAreShown) {
  Reconcile();
  peers_.capacity.SetShort(0, capacity::v1::Claim::REASON_NONE_AVAILABLE_NODE_AFFINITY);
  ASSERT_THAT(Apply(3), IsOk());
  ASSERT_TRUE(AwaitReason("Capacity", "NoneAvailableNodeAffinity").has_value());
  peers_.capacity.SetShort(2, capacity::v1::Claim::REASON_PARTIAL_NODE_AFFINITY);
  v1::ResizeNodePoolRequest resize;
  resize.set_name(kPool);
  resize.set_target_nodes(4);
  ASSERT_THAT(Call(*replica_->stub, &Stub::ResizeNodePool, resize), IsOk());
  ASSERT_TRUE(AwaitReason("Capacity", "PartialNodeAffinity").has_value());
}

// Nobody waits for a resync.
TEST_F(LifecycleServiceTest, APoolHearsThatItsOwnMachineMatchesItsNodeAffinityNoMore) {
  Reconcile();
  v1::ApplyNodePoolRequest request = Pool(1);
  auto* expression = request.mutable_node_pool()
                         ->mutable_spec()
                         ->mutable_node_affinity()
                         ->add_terms()
                         ->add_expressions();
  expression->set_key("row");
  expression->set_operator_("In");
  expression->add_values("7");
  const auto pool = Call(*replica_->stub, &Stub::ApplyNodePool, request);
  ASSERT_THAT(pool, IsOk());
  peers_.capacity.ChangeMachine("g1", pool->uid(), "7");
  ASSERT_TRUE(AwaitReason("Ready", "Ready", 1).has_value());
  peers_.capacity.SetShort(0, capacity::v1::Claim::REASON_NONE_AVAILABLE_NODE_AFFINITY);
  peers_.capacity.ChangeMachine("g1", pool->uid(), "8");
  EXPECT_TRUE(AwaitReason("Validated", "Invalid", 1).has_value());
}

// "Why not all of them can come however long they wait": it stands in the queue all the same.
TEST_F(LifecycleServiceTest, APreviewSaysWhatCanNeverCome) {
  peers_.capacity.SetShort(3, capacity::v1::Claim::REASON_PARTIAL);
  Reconcile();
  ASSERT_THAT(Apply(3), IsOk());
  ASSERT_TRUE(AwaitReason("AtTarget", "TargetMet", 3).has_value());
  v1::ApplyNodePoolRequest only = Pool(5);
  only.set_validate_only(true);
  const auto tried = Call(*replica_->stub, &Stub::ApplyNodePool, only);
  ASSERT_THAT(tried, IsOk());
  EXPECT_EQ(tried->preview().capacity().nodes(), 2);
  EXPECT_EQ(tried->preview().capacity().place(), 1);
  ASSERT_THAT(Apply(5), IsOk());
  const auto partial = AwaitReason("Capacity", "Partial");
  ASSERT_TRUE(partial.has_value());
  for (const auto& condition : partial->status().conditions()) {
    if (condition.type() == "Capacity") {
      EXPECT_EQ(tried->preview().capacity().problem(), condition.message());
    }
  }
}

TEST_F(LifecycleServiceTest, AConvergedFleetWritesNothing) {
  replica_ = NewReplica(/*resync=*/absl::Milliseconds(10));
  Reconcile();
  ASSERT_THAT(Apply(2), IsOk());
  ASSERT_TRUE(AwaitReason("AtTarget", "TargetMet", 2).has_value());
  const auto empty = [&] { return replica_->Metric("muster_lifecycle_plans_total", "empty"); };
  const auto wait_for = [&](double plans) {
    while (empty() < plans) std::this_thread::yield();
  };
  // The holding and the ready reports may still be settled, on a busy machine for long; there a
  // lead ends, too, and the next one is a write.
  bool quiet = false;
  for (int tries = 0; tries < 20 && !quiet; ++tries) {
    const int64_t revision = replica_->service->lane().revision();
    wait_for(empty() + 100);
    quiet = replica_->service->lane().revision() == revision;
  }
  EXPECT_TRUE(quiet);
}

TEST_F(LifecycleServiceTest, AClaimThatStaysAsItIsIsNotToldInEachPass) {
  constexpr int64_t kMany = KnownClaims::kFewMachines;
  replica_ = NewReplica(/*resync=*/absl::Milliseconds(10));
  peers_.quota.SetLimit(kQuota, 2 * kMany);
  ASSERT_THAT(replica_->service->StartReconciling(peers_.channels()), IsOk());
  ASSERT_THAT(Apply(kMany), IsOk());
  const auto nodes = [&] {
    return replica_->service->lane().Peek([](const State& state, int64_t) {
      return static_cast<int64_t>(state.NodesOf(kPool).size());
    });
  };
  const auto told = [&] { return peers_.capacity.machines_told(); };
  testing::Until([&] { return nodes() == kMany; }, "its Nodes");
  // What came with them may still be settled; and a lead that ends forgets what it knew.
  bool quiet = false;
  for (int tries = 0; tries < 20 && !quiet; ++tries) {
    const int64_t before = told();
    const int passes = peers_.capacity.syncs() + 50;
    testing::Until([&] { return peers_.capacity.syncs() >= passes; }, "passes");
    quiet = told() == before;
  }
  EXPECT_TRUE(quiet);
  EXPECT_EQ(nodes(), kMany) << "they are held all the while";
  // Another request is answered with all.
  const int64_t before = told();
  ASSERT_THAT(Apply(kMany + 1), IsOk());
  testing::Until([&] { return nodes() == kMany + 1; }, "one more");
  EXPECT_GT(told() - before, kMany);
  // And so is each by an older release.
  peers_.capacity.SetKnowsPrints(false);
  const int64_t all = told() + 10 * kMany;
  testing::Until([&] { return told() > all; }, "all of them, again and again");
  EXPECT_EQ(nodes(), kMany + 1);
}

TEST_F(LifecycleServiceTest, ARaisedLimitWakesThePoolAtOnce) {
  peers_.quota.SetLimit(kQuota, 1);
  Reconcile();
  ASSERT_THAT(Apply(2), IsOk());
  ASSERT_TRUE(AwaitReason("Quota", "Over").has_value());
  // Capacity is asked, but for nothing.
  EXPECT_THAT(peers_.capacity.claims(), Each(Pair(::testing::_, IsEmpty())));
  peers_.quota.SetLimit(kQuota, 2);
  EXPECT_TRUE(AwaitReason("AtTarget", "TargetMet", 2).has_value());
}

TEST_F(LifecycleServiceTest, AServiceThatIsAwayIsSaidAndHeals) {
  peers_.quota.SetAway(true);
  Reconcile();
  ASSERT_THAT(Apply(1), IsOk());
  ASSERT_TRUE(AwaitReason("Quota", "InternalError").has_value());
  peers_.quota.SetAway(false);
  EXPECT_TRUE(AwaitReason("AtTarget", "TargetMet", 1).has_value());
}

TEST_F(LifecycleServiceTest, NobodyIsToldWhereTheOtherServicesAre) {
  peers_.quota.SetAway(true);
  Reconcile();
  ASSERT_THAT(Apply(1), IsOk());
  ASSERT_TRUE(AwaitReason("Quota", "InternalError").has_value());
  v1::ExplainNodePoolRequest why;
  why.set_name(kPool);
  const auto explained = Call(*replica_->stub, &Stub::ExplainNodePool, why);
  ASSERT_THAT(explained, IsOk());
  EXPECT_THAT(
      explained->ShortDebugString(),
      AllOf(HasSubstr("Quota could not be asked: It does not answer."), Not(HasSubstr("ipv4:"))));

  peers_.quota.SetAway(false);
  ASSERT_TRUE(AwaitReason("AtTarget", "TargetMet", 1).has_value());
  v1::ApplyNodePoolRequest only = Pool(3);
  only.set_validate_only(true);
  const auto preview = Call(*replica_->stub, &Stub::ApplyNodePool, only);
  ASSERT_THAT(preview, IsOk());
  EXPECT_EQ(preview->preview().capacity().problem(), "Capacity does not answer.");

  const absl::Status books =
      PeerBooks(peers_.channels(), &replica_->service->lane()).Read().status();
  EXPECT_EQ(books.message(), "Quota does not answer.");
  EXPECT_THAT(muster::error::CauseOf(books), HasSubstr("ipv4:"));
}

TEST_F(LifecycleServiceTest, AClockThatJumpsBackDelaysNothing) {
  peers_.quota.SetAway(true);
  Reconcile();
  ASSERT_THAT(Apply(1), IsOk());
  ASSERT_TRUE(AwaitReason("Quota", "InternalError").has_value());
  // All is said, and the pool waits for its next try.
  while (replica_->Metric("muster_lifecycle_plans_total", "empty") < 1) std::this_thread::yield();
  clock_.Jump(-absl::Hours(1));
  peers_.quota.SetAway(false);
  EXPECT_TRUE(AwaitReason("AtTarget", "TargetMet", 1).has_value());
}

TEST_F(LifecycleServiceTest, AMalformedPoolHoldsUpNoOther) {
  for (const char* name : {"a", "z"}) {
    v1::ApplyNodePoolRequest bad = Pool(1);
    bad.mutable_node_pool()->set_name(std::string(kCluster) + "/nodePools/" + name);
    bad.mutable_node_pool()->mutable_spec()->mutable_image()->set_kernel("malformed");
    ASSERT_THAT(Call(*replica_->stub, &Stub::ApplyNodePool, bad), IsOk());
  }
  ASSERT_THAT(Apply(1), IsOk());
  Reconcile();
  const auto up = AwaitReason("AtTarget", "TargetMet", 1);
  ASSERT_TRUE(up.has_value());
  EXPECT_EQ(up->name(), kPool);
}

// The leader asks under a newer generation between the reading of the rows and the question.
TEST_F(LifecycleServiceTest, APoolInMotionIsExplainedByItsRowsOfNow) {
  Reconcile();
  ASSERT_THAT(Apply(1), IsOk());
  ASSERT_TRUE(AwaitReason("AtTarget", "TargetMet", 1).has_value());
  peers_.quota.BeforeCheck([&] {
    peers_.quota.SetKnownGeneration(1'000);
    ASSERT_THAT(Apply(2), IsOk());
    ASSERT_TRUE(AwaitReason("AtTarget", "TargetMet", 2).has_value());
  });
  v1::ExplainNodePoolRequest why;
  why.set_name(kPool);
  const auto explained = Call(*replica_->stub, &Stub::ExplainNodePool, why);
  ASSERT_THAT(explained, IsOk());
  EXPECT_THAT(explained->ShortDebugString(), Not(HasSubstr("could not be asked")));
}

TEST_F(LifecycleServiceTest, AnotherReplicaTakesOver) {
  auto second = NewReplica();
  Reconcile();
  ASSERT_THAT(Apply(1), IsOk());
  ASSERT_TRUE(AwaitReason("AtTarget", "TargetMet", 1).has_value());
  ASSERT_THAT(second->service->StartReconciling(peers_.channels()), IsOk());
  EXPECT_EQ(second->Metric("muster_lifecycle_leading", ""), 0);
  replica_->service->StopReconciling();
  ASSERT_THAT(Apply(2), IsOk());
  EXPECT_TRUE(AwaitReason("AtTarget", "TargetMet", 2).has_value());
  EXPECT_EQ(second->Metric("muster_lifecycle_leading", ""), 1);
  EXPECT_EQ(database_.QueryValue("SELECT epoch FROM lifecycle.lease"), "2");
}

// Another replica makes the pool just then: the one that is asked has not seen it as it takes the
// calls.
TEST_F(LifecycleServiceTest, WhatIsAskedOfAPoolIsJudgedByTheTypeOfThePoolThatIsThereByThen) {
  peers_.capacity.ChangeType("of-racks", /*gpus=*/4, /*nodes_per_rack=*/4);
  v1::ApplyNodePoolRequest whole = Pool(8);
  whole.mutable_node_pool()->mutable_spec()->set_instance_type("of-racks");
  v1::ApplyNodePoolRequest part = whole;
  part.mutable_node_pool()->mutable_spec()->set_target_nodes(5);
  part.set_validate_only(true);
  v1::ResizeNodePoolRequest resize;
  resize.set_name(kPool);
  resize.set_target_nodes(5);
  v1::UpdateNodePoolRequest update;
  update.mutable_node_pool()->set_name(kPool);
  update.mutable_node_pool()->mutable_spec()->set_target_nodes(6);

  const auto other = NewReplica();
  const auto& lane = other->service->lane();
  const auto ask = [&](auto method, const auto& request) {
    return Call(*other->stub, method, request).status();
  };
  ASSERT_THAT(other->service->StartReconciling(peers_.channels()), IsOk());
  testing::Until([&] { return other->service->epoch() != 0; }, "a lead");
  testing::Until([&] { return absl::IsInvalidArgument(ask(&Stub::ApplyNodePool, part)); },
                 "the catalogue");
  // It keeps the catalogue, and writes nothing any more of its own accord.
  other->service->StopReconciling();
  testing::Until([&] { return lane.stats().queued == 0; }, "its last command");
  testing::Until([&] { return replica_->service->lane().revision() == lane.revision(); },
                 "the replica that makes the pool");

  std::future<absl::Status> made, resized, updated;
  testing::OpenTransaction head = database_.Hold("SELECT * FROM lifecycle.journal_head FOR UPDATE");
  made = std::async(std::launch::async,
                    [&] { return Call(*replica_->stub, &Stub::ApplyNodePool, whole).status(); });
  testing::Until(
      [&] {
        return replica_->service->lane().stats().queued == 1 &&
               database_.QueryValue(
                   "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND"
                   " wait_event_type = 'Lock' AND query LIKE '%journal_head%'") != "0";
      },
      "the pool to be next");
  resized = std::async(std::launch::async, [&] { return ask(&Stub::ResizeNodePool, resize); });
  updated = std::async(std::launch::async, [&] { return ask(&Stub::UpdateNodePool, update); });
  testing::Until([&] { return lane.stats().queued == 2; }, "the calls to be taken");
  head.reset();
  EXPECT_THAT(made.get(), IsOk());
  EXPECT_THAT(resized.get(), HasFieldViolation("target_nodes"));
  EXPECT_THAT(updated.get(), HasFieldViolation("spec.targetNodes"));
}

// Between the end of its loop and that of its calls a replica drains: what it answers is whole.
TEST_F(LifecycleServiceTest, AReplicaThatDrainsStillSaysWhatWouldHappen) {
  Reconcile();
  ASSERT_THAT(Apply(1), IsOk());
  ASSERT_TRUE(AwaitReason("AtTarget", "TargetMet", 1).has_value());
  replica_->service->StopReconciling();
  v1::ApplyNodePoolRequest only = Pool(3);
  only.set_validate_only(true);
  const auto tried = Call(*replica_->stub, &Stub::ApplyNodePool, only);
  ASSERT_THAT(tried, IsOk());
  EXPECT_EQ(tried->preview().quota().nodes(), 3);
  const auto beyond = Apply(12);  // of a limit of 10
  ASSERT_THAT(beyond, IsOk());
  EXPECT_THAT(beyond->warnings(), ElementsAre(HasSubstr("does not cover it")));
}

// No answer without a preview may pass for one that says that nothing would happen.
TEST_F(LifecycleServiceTest, WhoCannotAskTheOtherServicesTellsOnlyRefusals) {
  const auto grown = Apply(1);
  ASSERT_THAT(grown, IsOk());
  EXPECT_THAT(grown->warnings(), ElementsAre(HasSubstr("is not known: quota did not say")));
  v1::ApplyNodePoolRequest only = Pool(3);
  only.set_validate_only(true);
  const auto try_out = [&] { return Call(*replica_->stub, &Stub::ApplyNodePool, only).status(); };
  EXPECT_EQ(try_out().code(), absl::StatusCode::kUnavailable);
  only.mutable_node_pool()->mutable_spec()->set_instance_type("other");
  EXPECT_THAT(try_out(), HasFieldViolation("spec.instanceType"));
  Reconcile();
  replica_->service->StopReconciling();
  replica_->service->StopAdvising();
  only = Pool(3);
  only.set_validate_only(true);
  EXPECT_EQ(try_out().code(), absl::StatusCode::kUnavailable);
}

TEST_F(LifecycleServiceTest, AnOldCopyOfAnObjectIsRefusedAndALaterOneWatched) {
  v1::ApplyNodePoolRequest request = Pool(1);
  request.mutable_node_pool()->set_object_generation(5);
  const auto created = Call(*replica_->stub, &Stub::ApplyNodePool, request);
  ASSERT_THAT(created, IsOk());
  EXPECT_EQ(created->object_generation(), 5);
  request.mutable_node_pool()->set_object_generation(4);
  const absl::Status refused = Call(*replica_->stub, &Stub::ApplyNodePool, request).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(refused, HasReason("GENERATION_TOO_OLD"));
  request.mutable_node_pool()->set_object_generation(6);
  ASSERT_THAT(Call(*replica_->stub, &Stub::ApplyNodePool, request), IsOk());
  const auto seen = Await(*replica_->stub,
                          [](const v1::NodePool& pool) { return pool.object_generation() == 6; });
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->generation(), created->generation());
  EXPECT_EQ(seen->etag(), created->etag()) << "its owner wrote nothing else";
}

TEST_F(LifecycleServiceTest, RequestsAreJudgedAndNothingIsWritten) {
  const int64_t revision = replica_->service->lane().revision();
  v1::ApplyNodePoolRequest bad = Pool(-1);
  EXPECT_THAT(Call(*replica_->stub, &Stub::ApplyNodePool, bad).status(),
              HasFieldViolation("spec.targetNodes"));
  v1::ApplyNodePoolRequest only = Pool(1);
  only.set_validate_only(true);
  EXPECT_EQ(Call(*replica_->stub, &Stub::ApplyNodePool, only).status().code(),
            absl::StatusCode::kUnavailable)
      << "nobody to ask what would come of it";
  v1::GetNodePoolRequest get;
  get.set_name(kPool);
  EXPECT_THAT(Call(*replica_->stub, &Stub::GetNodePool, get).status(), HasReason("NOT_FOUND"));
  v1::ReportNodesRequest report;
  report.add_reports()->set_node(std::string(kPool) + "/nodes/g1");
  EXPECT_THAT(Call(*replica_->stub, &Stub::ReportNodes, report).status(),
              HasFieldViolation("reports[0].observation"));
  report.mutable_reports(0)->set_observation(v1::NodeReport::OBSERVATION_READY);
  const auto results = Call(*replica_->stub, &Stub::ReportNodes, report);
  ASSERT_THAT(results, IsOk());
  EXPECT_EQ(results->results(0).code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(replica_->service->lane().revision(), revision);
}

}  // namespace
}  // namespace muster::lifecycle
