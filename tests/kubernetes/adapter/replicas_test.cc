#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/kubernetes/adapter/failure_scenarios.h"

namespace muster::testing {
namespace {

using Json = nlohmann::json;

constexpr char kPool[] = "example-nodepool";
constexpr int64_t kNodes = 3;

std::string UserAgent(size_t replica) {
  return absl::StrCat("muster-kubernetes/replica-", replica);
}

// Two replicas, and a drain that one of them has begun.
class Replicas : public ::testing::Test {
 protected:
  // `lease_duration`: how long the other would wait for a leader that gives no sign. A leader that
  // is only slow, on a machine that is too busy, must not lose its lease.
  void Begin(absl::string_view lease_duration = "20s", absl::string_view renew_deadline = "19s") {
    AdapterStack::Options options;
    options.replicas = 2;
    options.adapter_flags = {absl::StrCat("--lease_duration=", lease_duration),
                             absl::StrCat("--lease_renew_deadline=", renew_deadline)};
    stack_ = std::make_unique<AdapterStack>(options);
    stack_->Create(WorkingPool(kPool, kNodes));
    ASSERT_TRUE(stack_->AwaitHealthy(kPool, kNodes)) << Describe(*stack_);
    const int leader = stack_->LeadingReplica();
    ASSERT_GE(leader, 0);
    leader_ = static_cast<size_t>(leader);
    other_ = 1 - leader_;
    uids_ = NodeUids(*stack_);
    for (const auto& [node, uid] : uids_) {
      for (std::string& pod : FillNode(*stack_, node)) pods_.push_back(std::move(pod));
    }
    BlockDrains(*stack_);
    stack_->PatchNodePool(kPool, {{"spec", {{"targetNodes", 1}}}});
    // Some Pods were asked to leave, some may not yet.
    ASSERT_TRUE(stack_->Await(kPodsPath, [](const AdapterStack::Objects& pods) {
      int leaving = 0;
      for (const auto& [name, pod] : pods)
        leaving += pod["metadata"].contains("deletionTimestamp") ? 1 : 0;
      return leaving >= 2;
    })) << Describe(*stack_);
  }

  bool AwaitLeader(size_t replica) {
    return stack_->Await(kAdapterLeasesPath, [&](const AdapterStack::Objects& leases) {
      const auto found = leases.find("muster-system/muster-kubernetes");
      return found != leases.end() &&
             found->second["spec"].value("holderIdentity", "") == absl::StrCat("replica-", replica);
    });
  }

  void ExpectTheRightEnd() {
    AllowDrains(*stack_);
    ASSERT_TRUE(stack_->AwaitHealthy(kPool, 1)) << Describe(*stack_);
    EXPECT_TRUE(stack_->Await(kNodesPath, [](const auto& nodes) { return nodes.size() == 1; }));
    for (const auto& [node, uid] : NodeUids(*stack_)) EXPECT_EQ(uids_.at(node), uid);
    EXPECT_EQ(AwaitEvents(*stack_), "");
    EXPECT_EQ(AwaitQuiet(*stack_), "");
    if (stack_->server().is_real()) return;
    int again = 0;
    for (const auto& [pod, times] : EvictionModes(*stack_, pods_)) again += std::max(0, times - 1);
    EXPECT_LE(again, lost_answers_);
  }

  std::unique_ptr<AdapterStack> stack_;
  size_t leader_ = 0;
  size_t other_ = 1;
  int lost_answers_ = 0;
  std::map<std::string, std::string> uids_;
  std::vector<std::string> pods_;
};

TEST_F(Replicas, TheOtherTakesOverFromOneThatWasKilled) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  stack_->KillAdapter(leader_);
  lost_answers_ = 1;
  EXPECT_TRUE(AwaitLeader(other_)) << Describe(*stack_);
  ExpectTheRightEnd();
}

// It would wait for ten minutes if the Lease had not been given back.
TEST_F(Replicas, TheOtherTakesOverAtOnceFromOneThatWasTerminated) {
  ASSERT_NO_FATAL_FAILURE(Begin("10m", "9m"));
  EXPECT_EQ(stack_->TerminateAdapter(leader_), 0);
  EXPECT_TRUE(AwaitLeader(other_)) << Describe(*stack_);
  ExpectTheRightEnd();
}

TEST_F(Replicas, OneThatWasFrozenPastItsLeaseWritesNothingMore) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  stack_->FreezeAdapter(leader_);
  lost_answers_ = 1;
  EXPECT_TRUE(AwaitLeader(other_)) << Describe(*stack_);
  // While it slept there was something to do for it.
  stack_->PatchNodePool(kPool, {{"spec", {{"nodeLabels", {{"tier", "gold"}}}}}});
  AllowDrains(*stack_);
  ASSERT_TRUE(stack_->AwaitHealthy(kPool, 1)) << Describe(*stack_);
  FakeApiServer* fake = stack_->server().fake_or_null();
  const int64_t writes = fake == nullptr ? 0 : fake->WritesBy(UserAgent(leader_));
  stack_->WakeAdapter(leader_);
  EXPECT_EQ(AwaitAdapterEnd(*stack_, leader_), 1);
  EXPECT_EQ(fake == nullptr ? writes : fake->WritesBy(UserAgent(leader_)), writes);
  EXPECT_EQ(stack_->LeadingReplica(), static_cast<int>(other_));

  stack_->StartAdapter(leader_);
  EXPECT_TRUE(AwaitRenewals(*stack_, 5));
  EXPECT_TRUE(stack_->AdapterRuns(leader_));
  EXPECT_EQ(stack_->LeadingReplica(), static_cast<int>(other_));
  EXPECT_EQ(fake == nullptr ? writes : fake->WritesBy(UserAgent(leader_)), writes);
  ExpectTheRightEnd();
}

}  // namespace
}  // namespace muster::testing
