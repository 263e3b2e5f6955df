// Many releases while a Node runs an old one.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/configuration/v1/configuration_service.grpc.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "services/common/timestamp.h"
#include "tests/integration/mini_muster.h"

namespace muster::testing {
namespace {

namespace lv1 = lifecycle::v1;
namespace cv1 = configuration::v1;

// More than a pool's revisions are kept.
constexpr int kReleases = 55;

const lv1::NodeConfiguration* RevisionOf(const lv1::NodePool& pool, const std::string& profile) {
  const auto& revisions = pool.status().node_configuration_revisions();
  const auto found = std::find_if(revisions.begin(), revisions.end(),
                                  [&](const auto& one) { return one.node_profile() == profile; });
  return found == revisions.end() ? nullptr : &*found;
}

// What a Node runs stays among the pool's revisions, is counted, and can be rolled back to, however
// many came after it.
TEST(Revisions, WhatANodeRunsIsNeverForgotten) {
  MiniMuster muster;
  muster.ApplyCatalogue();
  muster.ApplyExample();
  ASSERT_TRUE(muster.AwaitSettled(1)) << muster.LogEnds();
  lv1::NodePool pool = muster.GetPool().value();
  const std::string running = pool.status().node_profile();
  const auto configuration = cv1::ConfigurationService::NewStub(muster.channel());
  const std::string name = absl::StrCat("poolConfigurations/", pool.uid());
  for (int i = 1; i <= kReleases; ++i) {
    grpc::ClientContext context;
    cv1::PublishReleaseRequest publish;
    publish.mutable_release()->set_name(
        absl::StrCat("channels/stable/components/gpu-driver/releases/999.", i));
    cv1::Release release;
    ASSERT_TRUE(configuration->PublishRelease(&context, publish, &release).ok());
    ASSERT_TRUE(muster.Await([&](const lv1::NodePool* now) {
      return now->status().has_pending_node_configuration();
    })) << muster.LogEnds();
    grpc::ClientContext another;
    cv1::PromoteConfigurationRequest promote;
    promote.set_name(name);
    cv1::PoolConfiguration promoted;
    ASSERT_TRUE(configuration->PromoteConfiguration(&another, promote, &promoted).ok());
    ASSERT_TRUE(muster.Await([&](const lv1::NodePool* now) {
      return !now->status().has_pending_node_configuration();
    })) << muster.LogEnds();
  }
  pool = muster.GetPool().value();
  EXPECT_LT(pool.status().node_configuration_revisions_size(), kReleases);
  const lv1::NodeConfiguration* revision = RevisionOf(pool, running);
  ASSERT_NE(revision, nullptr) << pool.DebugString();
  EXPECT_EQ(revision->active_nodes(), 1);

  grpc::ClientContext context;
  cv1::RollbackConfigurationRequest back;
  back.set_name(name);
  back.set_node_profile(running);
  cv1::PoolConfiguration answer;
  const grpc::Status status = configuration->RollbackConfiguration(&context, back, &answer);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(muster.Await([&](const lv1::NodePool* now) {
    return now->status().node_profile() == running;
  })) << muster.LogEnds();
  // Reference, Node Configuration Revisions: "The list is sorted by creation timestamp".
  pool = muster.GetPool().value();
  const auto& revisions = pool.status().node_configuration_revisions();
  EXPECT_TRUE(std::is_sorted(revisions.begin(), revisions.end(), [](const auto& a, const auto& b) {
    return FromTimestamp(a.created_at()) < FromTimestamp(b.created_at());
  })) << pool.DebugString();
  EXPECT_EQ(revisions[0].node_profile(), running);
}

}  // namespace
}  // namespace muster::testing
