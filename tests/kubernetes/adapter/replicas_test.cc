#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/kubernetes/adapter/trial.h"

namespace muster::testing {
namespace {

using Json = nlohmann::json;

constexpr char kPool[] = "example-nodepool";
constexpr char kLeases[] = "/apis/coordination.k8s.io/v1/namespaces/muster-system/leases";
constexpr int64_t kNodes = 3;

std::string UserAgent(size_t replica) {
  return absl::StrCat("muster-kubernetes/replica-", replica);
}

// Two replicas, and a drain that one of them has begun.
class Replicas : public ::testing::Test {
 protected:
  // `lease_duration`: how long the other would wait for a leader that gives no sign.
  void Begin(absl::string_view lease_duration = "3s") {
    Stage::Options options;
    options.replicas = 2;
    options.adapter_flags = {absl::StrCat("--lease_duration=", lease_duration),
                             "--lease_renew_deadline=2s"};
    stage_ = std::make_unique<Stage>(options);
    stage_->Create(WorkingPool(kPool, kNodes));
    ASSERT_TRUE(stage_->AwaitHealthy(kPool, kNodes)) << Describe(*stage_);
    const int leader = stage_->LeadingReplica();
    ASSERT_GE(leader, 0);
    leader_ = static_cast<size_t>(leader);
    other_ = 1 - leader_;
    uids_ = NodeUids(*stage_);
    for (const auto& [node, uid] : uids_) {
      for (std::string& pod : FillNode(*stage_, node)) pods_.push_back(std::move(pod));
    }
    BlockDrains(*stage_);
    stage_->PatchNodePool(kPool, {{"spec", {{"targetNodes", 1}}}});
    // Some Pods were asked to leave, some may not yet.
    ASSERT_TRUE(stage_->Await(kPodsPath, [](const Stage::Objects& pods) {
      int leaving = 0;
      for (const auto& [name, pod] : pods)
        leaving += pod["metadata"].contains("deletionTimestamp") ? 1 : 0;
      return leaving >= 2;
    })) << Describe(*stage_);
  }

  bool AwaitLeader(size_t replica) {
    return stage_->Await(kLeases, [&](const Stage::Objects& leases) {
      const auto found = leases.find("muster-system/muster-kubernetes");
      return found != leases.end() &&
             found->second["spec"].value("holderIdentity", "") == absl::StrCat("replica-", replica);
    });
  }

  void ExpectTheRightEnd() {
    AllowDrains(*stage_);
    ASSERT_TRUE(stage_->AwaitHealthy(kPool, 1)) << Describe(*stage_);
    EXPECT_TRUE(stage_->Await(kNodesPath, [](const auto& nodes) { return nodes.size() == 1; }));
    for (const auto& [node, uid] : NodeUids(*stage_)) EXPECT_EQ(uids_.at(node), uid);
    EXPECT_EQ(AwaitEvents(*stage_), "");
    EXPECT_EQ(AwaitQuiet(*stage_), "");
    if (stage_->server().is_real()) return;
    int again = 0;
    for (const auto& [pod, times] : EvictionModes(*stage_, pods_)) again += std::max(0, times - 1);
    EXPECT_LE(again, lost_answers_);
  }

  std::unique_ptr<Stage> stage_;
  size_t leader_ = 0;
  size_t other_ = 1;
  int lost_answers_ = 0;
  std::map<std::string, std::string> uids_;
  std::vector<std::string> pods_;
};

TEST_F(Replicas, TheOtherTakesOverFromOneThatWasKilled) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  stage_->KillAdapter(leader_);
  lost_answers_ = 1;
  EXPECT_TRUE(AwaitLeader(other_)) << Describe(*stage_);
  ExpectTheRightEnd();
}

// It would wait for ten minutes if the Lease had not been given back.
TEST_F(Replicas, TheOtherTakesOverAtOnceFromOneThatWasTerminated) {
  ASSERT_NO_FATAL_FAILURE(Begin("10m"));
  EXPECT_EQ(stage_->TerminateAdapter(leader_), 0);
  EXPECT_TRUE(AwaitLeader(other_)) << Describe(*stage_);
  ExpectTheRightEnd();
}

TEST_F(Replicas, OneThatWasFrozenPastItsLeaseWritesNothingMore) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  stage_->FreezeAdapter(leader_);
  lost_answers_ = 1;
  EXPECT_TRUE(AwaitLeader(other_)) << Describe(*stage_);
  // While it slept there was something to do for it.
  stage_->PatchNodePool(kPool, {{"spec", {{"nodeLabels", {{"tier", "gold"}}}}}});
  AllowDrains(*stage_);
  ASSERT_TRUE(stage_->AwaitHealthy(kPool, 1)) << Describe(*stage_);
  FakeApiServer* fake = stage_->server().fake_or_null();
  const int64_t writes = fake == nullptr ? 0 : fake->WritesBy(UserAgent(leader_));
  stage_->WakeAdapter(leader_);
  EXPECT_EQ(AwaitAdapterEnd(*stage_, leader_), 1);
  EXPECT_EQ(fake == nullptr ? writes : fake->WritesBy(UserAgent(leader_)), writes);
  EXPECT_EQ(stage_->LeadingReplica(), static_cast<int>(other_));

  stage_->StartAdapter(leader_);
  EXPECT_TRUE(AwaitRenewals(*stage_, 5));
  EXPECT_TRUE(stage_->AdapterRuns(leader_));
  EXPECT_EQ(stage_->LeadingReplica(), static_cast<int>(other_));
  EXPECT_EQ(fake == nullptr ? writes : fake->WritesBy(UserAgent(leader_)), writes);
  ExpectTheRightEnd();
}

}  // namespace
}  // namespace muster::testing
