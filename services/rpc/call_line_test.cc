#include "services/rpc/call_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <muster/capacity/v1/capacity_service.pb.h>
#include <muster/configuration/v1/configuration_service.pb.h>
#include <muster/debug/v1/debug_service.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.pb.h>
#include <muster/quota/v1/quota_service.pb.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "services/rpc/limits.h"

namespace muster::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A new RPC has to stand here, or begin with a reader's verb and be none of these.
TEST(KindOfTest, KnowsAllMutations) {
  const std::set<std::string> mutations = {"AllowRemovals",
                                           "ApplyNodePool",
                                           "BatchRegisterMachines",
                                           "BatchSyncClaims",
                                           "BatchSyncHoldings",
                                           "BatchSyncPoolConfigurations",
                                           "BindCluster",
                                           "CancelReconfiguration",
                                           "CordonNode",
                                           "CreateQuota",
                                           "DeleteCluster",
                                           "DeleteInstanceType",
                                           "DeleteMachine",
                                           "DeleteNodePool",
                                           "DeleteQuota",
                                           "DeleteRelease",
                                           "DeleteZone",
                                           "DrainNode",
                                           "EnableRevision",
                                           "PauseReconfiguration",
                                           "PromoteConfiguration",
                                           "PublishRelease",
                                           "RebootNode",
                                           "ReconfigureNodePool",
                                           "ReportNodes",
                                           "ResizeNodePool",
                                           "ResumeReconfiguration",
                                           "RollbackConfiguration",
                                           "SetLogLevel",
                                           "SetMachineState",
                                           "SyncClaim",
                                           "SyncHolding",
                                           "SyncPoolConfiguration",
                                           "UncordonNode",
                                           "UpdateCluster",
                                           "UpdateInstanceType",
                                           "UpdateNode",
                                           "UpdateNodePool",
                                           "UpdateQuota",
                                           "UpdateZone",
                                           "WithdrawRelease"};
  std::set<std::string> found;
  for (const auto* file : {capacity::v1::GetZoneRequest::descriptor()->file(),
                           configuration::v1::GetReleaseRequest::descriptor()->file(),
                           debug::v1::PingRequest::descriptor()->file(),
                           lifecycle::v1::GetNodeRequest::descriptor()->file(),
                           quota::v1::GetQuotaRequest::descriptor()->file()}) {
    for (int i = 0; i < file->service(0)->method_count(); ++i) {
      const auto& method = *file->service(0)->method(i);
      if (KindOf(absl::StrCat("/", file->service(0)->full_name(), "/", method.name())) ==
          CallKind::kMutation)
        found.insert(method.name());
    }
  }
  EXPECT_EQ(found, mutations);
}

TEST(LevelOfTest, MutationsAreToldAndReadsOnlyWhenSomethingIsWrong) {
  using log::Level;
  EXPECT_EQ(LevelOf(CallKind::kMutation, grpc::StatusCode::OK), Level::kInfo);
  EXPECT_EQ(LevelOf(CallKind::kMutation, grpc::StatusCode::NOT_FOUND), Level::kInfo);
  EXPECT_EQ(LevelOf(CallKind::kMutation, grpc::StatusCode::RESOURCE_EXHAUSTED), Level::kInfo);
  EXPECT_EQ(LevelOf(CallKind::kRead, grpc::StatusCode::OK), Level::kDebug);
  // musterctl asks whether it is there before it applies.
  EXPECT_EQ(LevelOf(CallKind::kRead, grpc::StatusCode::NOT_FOUND), Level::kDebug);
  EXPECT_EQ(LevelOf(CallKind::kRead, grpc::StatusCode::CANCELLED), Level::kDebug);
  EXPECT_EQ(LevelOf(CallKind::kRead, grpc::StatusCode::INVALID_ARGUMENT), Level::kInfo);
  for (const CallKind kind : {CallKind::kRead, CallKind::kMutation}) {
    EXPECT_EQ(LevelOf(kind, grpc::StatusCode::UNAVAILABLE), Level::kWarn);
    EXPECT_EQ(LevelOf(kind, grpc::StatusCode::INTERNAL), Level::kWarn);
  }
}

TEST(IsOnlyTriedTest, IsTheRequestsOwnWord) {
  lifecycle::v1::ApplyNodePoolRequest request;
  EXPECT_FALSE(IsOnlyTried(request));
  request.set_validate_only(true);
  EXPECT_TRUE(IsOnlyTried(request));
  EXPECT_FALSE(IsOnlyTried(quota::v1::DeleteQuotaRequest()));
}

TEST(SubjectsOfTest, AreNames) {
  lifecycle::v1::ResizeNodePoolRequest resize;
  resize.set_name("organizations/acme/clusters/c/nodePools/p");
  EXPECT_THAT(SubjectsOf(resize).first, ElementsAre("organizations/acme/clusters/c/nodePools/p"));
  lifecycle::v1::ApplyNodePoolRequest apply;
  EXPECT_THAT(SubjectsOf(apply).first, IsEmpty());
  apply.mutable_node_pool()->set_name("pool");
  EXPECT_THAT(SubjectsOf(apply).first, ElementsAre("pool"));
  lifecycle::v1::ListNodesRequest list;
  list.set_parent("parent");
  EXPECT_THAT(SubjectsOf(list).first, ElementsAre("parent"));
  quota::v1::CreateQuotaRequest create;
  create.set_parent("organizations/acme");
  create.mutable_quota()->set_limit(5);
  EXPECT_THAT(SubjectsOf(create).first, ElementsAre("organizations/acme"));
  lifecycle::v1::ReportNodesRequest report;
  report.add_reports()->set_node("node");
  EXPECT_THAT(SubjectsOf(report).first, ElementsAre("node"));
  capacity::v1::SyncClaimRequest claim;
  claim.mutable_claim()->set_pool_uid("uid");
  EXPECT_THAT(SubjectsOf(claim).first, ElementsAre("uid"));
  claim.mutable_claim()->set_pool("pool");
  EXPECT_THAT(SubjectsOf(claim).first, ElementsAre("pool"));
}

TEST(SubjectsOfTest, OfABatchTheFirstAndHowMany) {
  quota::v1::BatchSyncHoldingsRequest batch;
  for (int i = 0; i < 1000; ++i) batch.add_holdings()->set_name(absl::StrCat("h", i));
  const Subjects subjects = SubjectsOf(batch);
  EXPECT_EQ(subjects.count, 1000u);
  EXPECT_THAT(subjects.first, ElementsAre("h0", "h1", "h2"));
  EXPECT_EQ(subjects.first.size(), kMaxSubjectsTold);
}

}  // namespace
}  // namespace muster::rpc
