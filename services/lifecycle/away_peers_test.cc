// Services that are away, or silent, and are asked again once they answer.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/testing/leadership_test_base.h"
#include "tests/testing/status_matchers.h"

namespace muster::lifecycle {
namespace {

using ::muster::testing::IsOk;

// What it did not get an answer to is another's to ask, who leads now.
TEST_F(Leadership, WhoLeadsNoMoreHasNobodyWithoutAnAnswer) {
  ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
  AwaitLead(*a_);
  peers_.quota.SetAway(true);
  Apply("p", 1);
  const auto unanswered = [&] { return Metric(*a_, "muster_lifecycle_peer_unanswered_pools"); };
  Until([&] { return unanswered() == 1; });
  database_.Execute(
      "UPDATE lifecycle.lease_heartbeat SET holder = 'another', epoch = epoch + 1,"
      " write_time = now(), expire_time = now() + interval '1 hour'");
  Until([&] { return a_->epoch() == 0; });
  Until([&] { return unanswered() == 0; });
}

// Nobody who was told that a service is away waits for a time of its own to ask again.
TEST_F(Leadership, WhoIsToldThatAServiceIsAwayAsksAgainOnceItIsBack) {
  retry_ = absl::Hours(1);
  const auto leader = NewReplica(nullptr);
  ASSERT_THAT(leader->StartReconciling(peers_.channels()), IsOk());
  peers_.quota.SetAway(true);
  const std::string pool = Apply("first", 1);
  const auto quota = [&] {
    return b_->lane().Peek([&](const State& state, int64_t) {
      return std::string(ReasonOf(state.table<Pool>().Find(pool)->status.conditions, "Quota"));
    });
  };
  Until([&] { return quota() == "InternalError"; }, "word that quota is away");
  peers_.quota.SetAway(false);
  Until([&] { return quota() == "Under"; }, "quota's answer");
  Until([&] { return NodesOf(*b_, pool) == 1; });
  leader->StopReconciling();
}

class SilentPeer : public Leadership {
 protected:
  SilentPeer() { ask_timeout_ = absl::Milliseconds(100); }
  ~SilentPeer() override { peers_.capacity.SetSilent(false); }
};

// Quota goes on being told of new pools; then capacity speaks again, and is asked for them all.
TEST_F(SilentPeer, HoldsUpNothingThatItIsNotNeededForAndIsAskedAgainOnceItAnswers) {
  const auto leader = NewReplica(nullptr);
  ASSERT_THAT(leader->StartReconciling(peers_.channels()), IsOk());
  const std::string first = Apply("first", 1);
  Until([&] { return NodesOf(*b_, first) == 1; });
  peers_.capacity.SetSilent(true);
  std::vector<std::string> pools;
  for (size_t i = 0; i < 5; ++i) {
    pools.push_back(Apply(absl::StrCat("p", i), 1));
    Until([&] { return peers_.quota.holdings().size() == i + 2; }, "a holding");
  }
  peers_.capacity.SetSilent(false);
  for (const std::string& pool : pools) Until([&] { return NodesOf(*b_, pool) == 1; });
  leader->StopReconciling();
}

}  // namespace
}  // namespace muster::lifecycle
