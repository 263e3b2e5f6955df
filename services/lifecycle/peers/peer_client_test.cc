#include "services/lifecycle/peers/peer_client.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "services/common/latch.h"
#include "services/common/log.h"
#include "services/lifecycle/peers/known_claims.h"
#include "services/lifecycle/peers/testing/fake_peers.h"
#include "services/lifecycle/peers/what_if_client.h"
#include "tests/testing/patience.h"

namespace muster::lifecycle {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using Holding = PeerReply<HoldingFacts>;
using Claim = PeerReply<ClaimFacts>;

constexpr absl::Duration kSoon = absl::Seconds(1);
constexpr absl::Duration kLong = absl::Seconds(30);

class PeerClientTest : public ::testing::Test {
 protected:
  ~PeerClientTest() override { peers_.capacity.SetSilent(false); }

  // Two pools that hold and claim one Node each.
  std::vector<PoolPass> Passes() const {
    std::vector<PoolPass> passes;
    for (const char* id : {"a", "b"}) {
      auto pool = std::make_shared<Pool>();
      pool->name = absl::StrCat("organizations/acme/clusters/c1/nodePools/", id);
      pool->uid = absl::StrCat("uid-", id);
      pool->zone = "US-EAST-04A";
      pool->spec.instance_type = "gd-8xa100-i128";
      auto cluster = std::make_shared<Cluster>();
      PoolPass pass;
      pass.snapshot.cluster = cluster.get();
      pass.snapshot.pool = pool.get();
      pass.snapshot.keeps = {std::move(cluster), std::move(pool)};
      pass.demand.holding = HoldingAsk{1, 7, false};
      pass.demand.claim = ClaimAsk{1, 7, {}, false};
      passes.push_back(std::move(pass));
    }
    return passes;
  }
  std::vector<PoolPass> Ask(absl::Duration timeout) {
    std::vector<PoolPass> passes = Passes();
    peer_client_.Ask(absl::MakeSpan(passes), timeout);
    return passes;
  }
  PeerBreaker::State Capacity() const { return peer_client_.breakers()[1]->state(); }
  void ProbeUntilCapacityAnswers() {
    while (Capacity() != PeerBreaker::State::kClosed) {
      clock_.Advance(PeerBreaker::kProbeEvery);
      peer_client_.Probe();
      std::this_thread::yield();
    }
  }

  FakeSteadyClock clock_;
  FakePeers peers_;
  Mutex mutex_;
  std::set<std::string> back_ MUSTER_GUARDED_BY(mutex_);
  PeerClient peer_client_{peers_.channels(), &clock_, [this](const std::set<std::string>& pools) {
                            MutexLock lock(mutex_);
                            back_ = pools;
                          }};
};

// However often it is asked: two timeouts, and nobody waits for it any more; the others answer.
TEST_F(PeerClientTest, AServiceThatStaysSilentIsNotWaitedFor) {
  peers_.capacity.SetSilent(true);
  for (int i = 0; i < PeerBreaker::kTimeoutsToOpen; ++i) {
    EXPECT_EQ(Ask(kSoon)[0].snapshot.answers.claim.state, Claim::State::kAway);
  }
  EXPECT_EQ(Capacity(), PeerBreaker::State::kOpen);
  for (int i = 0; i < 50; ++i) {
    const std::vector<PoolPass> passes = Ask(kLong);
    for (const PoolPass& pass : passes) {
      EXPECT_EQ(pass.snapshot.answers.holding.state, Holding::State::kHere);
      EXPECT_EQ(pass.snapshot.answers.claim.state, Claim::State::kAway);
      EXPECT_THAT(pass.snapshot.answers.claim.error, HasSubstr("did not answer in time"));
    }
    peer_client_.Probe();  // its time has not come
    ASSERT_EQ(peers_.capacity.syncs(), PeerBreaker::kTimeoutsToOpen);
  }
}

TEST_F(PeerClientTest, OneThatAnswersAgainIsAskedAgain) {
  peers_.capacity.SetSilent(true);
  for (int i = 0; i < PeerBreaker::kTimeoutsToOpen; ++i) Ask(kSoon);
  Ask(kLong);
  clock_.Advance(PeerBreaker::kProbeEvery);
  peer_client_.Probe();
  peer_client_.Probe();
  EXPECT_EQ(Capacity(), PeerBreaker::State::kHalfOpen);
  // The probe under way is answered as soon as it can be.
  peers_.capacity.SetSilent(false);
  while (Capacity() == PeerBreaker::State::kHalfOpen) std::this_thread::yield();
  ProbeUntilCapacityAnswers();
  // Told after the state has changed, by the thread of the call.
  testing::Until(
      [&] {
        MutexLock lock(mutex_);
        return !back_.empty();
      },
      "those who wait for it to be told");
  {
    MutexLock lock(mutex_);
    EXPECT_THAT(back_, ElementsAre(HasSubstr("nodePools/a"), HasSubstr("nodePools/b")));
  }
  EXPECT_EQ(Ask(kLong)[1].snapshot.answers.claim.state, Claim::State::kHere);
}

// A probe under way holds its channel. If that of the process's last channel outlived the client,
// gRPC's own threads would have to wait for their end.
TEST_F(PeerClientTest, EndsAfterItsProbes) {
  Awaited<bool> begun;
  Awaited<bool> gone;
  std::optional<bool> outlived;
  auto client =
      std::make_unique<PeerClient>(peers_.channels(), &clock_, [&](const std::set<std::string>&) {
        begun.Set(true);
        outlived = gone.WaitFor(absl::Milliseconds(200)).has_value();
      });
  peers_.quota.SetAway(true);
  std::vector<PoolPass> passes = Passes();
  client->Ask(absl::MakeSpan(passes), kLong);
  peers_.quota.SetAway(false);
  clock_.Advance(PeerBreaker::kProbeEvery);
  client->Probe();
  begun.Wait();
  client.reset();
  gone.Set(true);
  EXPECT_EQ(outlived, false);
}

// It hears of nothing else before: what its pool has taken back meanwhile would be carried out.
TEST_F(PeerClientTest, AProbeIsWhatIsWantedByNow) {
  const auto ask = [&](int64_t nodes, int64_t generation) {
    std::vector<PoolPass> passes = Passes();
    passes.pop_back();
    passes[0].demand.claim = ClaimAsk{nodes, generation, {}, false};
    peer_client_.Ask(absl::MakeSpan(passes), kSoon);
  };
  peers_.capacity.SetSilent(true);
  for (int i = 0; i < PeerBreaker::kTimeoutsToOpen; ++i) ask(20, 7);
  ASSERT_EQ(Capacity(), PeerBreaker::State::kOpen);
  ask(0, 8);
  testing::Until([&] { return peers_.capacity.waiting() == 0; }, "calls to be given up");
  peers_.capacity.SetSilent(false);
  ProbeUntilCapacityAnswers();
  EXPECT_THAT(peers_.capacity.claims().at("uid-a"), IsEmpty());
}

// While it was away it may have been restored to a past: what it forgot that others hold it would
// grant to the first who grows.
TEST_F(PeerClientTest, QuotaIsNotProbedByAGrowth) {
  const auto probed_after = [&](int64_t granted, int64_t generation, HoldingAsk ask) {
    std::vector<PoolPass> passes = Passes();
    passes.pop_back();
    auto pool = std::make_shared<Pool>(*passes[0].snapshot.pool);
    pool->account.granted_nodes = granted;
    pool->account.generation = generation;
    passes[0].snapshot.pool = pool.get();
    passes[0].snapshot.keeps.push_back(std::move(pool));
    passes[0].demand.holding = ask;
    peers_.quota.SetAway(true);
    peer_client_.Ask(absl::MakeSpan(passes), kLong);
    peers_.quota.Restore();
    peers_.quota.SetAway(false);
    clock_.Advance(PeerBreaker::kProbeEvery);
    peer_client_.Probe();
    testing::Until([&] { return peer_client_.breakers()[0]->unanswered() == 0; }, "its answer");
    const auto asked = peers_.quota.asked();
    EXPECT_THAT(asked, SizeIs(1));
    return asked.front();
  };
  const auto grows = probed_after(2, 7, {9, 7});
  EXPECT_TRUE(grows.at_least());
  EXPECT_EQ(grows.nodes(), 2);
  EXPECT_EQ(grows.generation(), 6);
  const auto is_new = probed_after(0, 1, {9, 1});
  EXPECT_TRUE(is_new.at_least());
  EXPECT_EQ(is_new.nodes(), 0);
  EXPECT_EQ(is_new.generation(), 1);
  EXPECT_TRUE(probed_after(0, 9, {0, 9, /*release=*/true}).release());
}

TEST_F(PeerClientTest, OneThatSaysThatItIsAwayIsAskedEveryTime) {
  peers_.quota.SetAway(true);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Ask(kLong)[0].snapshot.answers.holding.state, Holding::State::kAway);
  }
  peers_.quota.SetAway(false);
  EXPECT_EQ(Ask(kLong)[0].snapshot.answers.holding.state, Holding::State::kHere);
}

// Its policy knows us no more, or nobody at its address serves it: nothing comes of any pool.
TEST_F(PeerClientTest, OneThatRefusesUsIsAsGoodAsAway) {
  std::vector<std::string> lines;
  log::SetSink([&](absl::string_view line) { lines.emplace_back(line); });
  const absl::Cleanup logged = [] { log::SetSink({}); };
  const grpc::Status denied = rpc::ToGrpcStatus(muster::error::Make(
      absl::StatusCode::kPermissionDenied, "It may not.", {.reason = "PERMISSION_DENIED"}));
  for (const grpc::Status& refusal :
       {denied, grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "no such service")}) {
    lines.clear();
    peers_.quota.SetRefusal(refusal);
    for (int i = 0; i < 3; ++i) Ask(kLong);
    EXPECT_EQ(Ask(kLong)[0].snapshot.answers.holding.state, Holding::State::kAway);
    EXPECT_EQ(peer_client_.breakers()[0]->unanswered(), 2U);
    EXPECT_EQ(peer_client_.breakers()[0]->state(), PeerBreaker::State::kClosed);
    EXPECT_THAT(lines, ElementsAre(AllOf(HasSubstr("a service does not answer"),
                                         HasSubstr(refusal.error_message()))));
    peers_.quota.SetRefusal(grpc::Status::OK);
    Ask(kLong);
    EXPECT_EQ(peer_client_.breakers()[0]->unanswered(), 0U);
  }
}

// What it refuses is ours to mend, and not a sign that it is away.
TEST_F(PeerClientTest, ARequestThatIsRefusedIsAnswered) {
  for (const grpc::StatusCode code :
       {grpc::StatusCode::INVALID_ARGUMENT, grpc::StatusCode::FAILED_PRECONDITION}) {
    peers_.quota.SetRefusal({code, "not so"});
    Ask(kLong);
    EXPECT_EQ(peer_client_.breakers()[0]->unanswered(), 0U);
  }
}

// What the other half was answered does not speak for it.
TEST_F(PeerClientTest, HalfABatchThatQuotaDoesNotAnswerIsNotAnswered) {
  const grpc::Status too_large(grpc::StatusCode::RESOURCE_EXHAUSTED, "too large a message");
  const grpc::Status away(grpc::StatusCode::UNAVAILABLE, "away");
  const auto answers = [&](std::deque<grpc::Status> refusals) {
    peers_.quota.SetNextRefusals(std::move(refusals));
    std::vector<PoolPass> passes = Passes();
    return peer_client_.Ask(absl::MakeSpan(passes), kLong);
  };
  using Heard = PeerClient::Heard;
  const grpc::Status fails(grpc::StatusCode::INTERNAL, "It fails.");
  EXPECT_EQ(answers({}), Heard::kAnswered);
  EXPECT_EQ(answers({too_large}), Heard::kAnswered);
  EXPECT_EQ(answers({too_large, {grpc::StatusCode::INVALID_ARGUMENT, "malformed"}}),
            Heard::kAnswered);
  EXPECT_EQ(answers({away}), Heard::kAway);
  EXPECT_EQ(answers({too_large, away}), Heard::kAway);
  EXPECT_EQ(answers({too_large, grpc::Status::OK, away}), Heard::kAway);
  EXPECT_EQ(answers({fails}), Heard::kFailed);
  EXPECT_EQ(answers({too_large, fails}), Heard::kFailed);
  EXPECT_EQ(answers({too_large, fails, away}), Heard::kAway);
}

// Whose answer is missing is not known: none counts.
TEST_F(PeerClientTest, OneThatAnswersFewerThanItIsAskedHasNotAnswered) {
  peers_.quota.SetForgetful(true);
  std::vector<PoolPass> passes = Passes();
  EXPECT_EQ(peer_client_.Ask(absl::MakeSpan(passes), kLong), PeerClient::Heard::kFailed);
  EXPECT_EQ(peer_client_.breakers()[0]->unanswered(), 2U);
  for (const PoolPass& pass : passes) {
    EXPECT_EQ(pass.snapshot.answers.holding.state, Holding::State::kAway);
    EXPECT_THAT(pass.snapshot.answers.holding.error, HasSubstr("number of answers"));
  }
  peers_.quota.SetForgetful(false);
  EXPECT_EQ(peer_client_.Ask(absl::MakeSpan(passes), kLong), PeerClient::Heard::kAnswered);
  EXPECT_EQ(peer_client_.breakers()[0]->unanswered(), 0U);
}

// Some pools have so much in their claims that all of them are too much for one request.
TEST_F(PeerClientTest, ABatchThatIsTooLargeIsAskedInHalves) {
  peers_.capacity.SetMostClaims(1);
  for (const PoolPass& pass : Ask(kLong)) {
    EXPECT_EQ(pass.snapshot.answers.claim.state, Claim::State::kHere)
        << pass.snapshot.answers.claim.error;
    EXPECT_EQ(pass.snapshot.answers.holding.state, Holding::State::kHere);
  }
  EXPECT_EQ(peers_.capacity.syncs(), 3);
}

// What is asked of capacity pass by pass, for two pools with many machines.
class KnownClaimsTest : public PeerClientTest {
 protected:
  static constexpr int64_t kMany = KnownClaims::kFewMachines;

  // How many machines each claim holds by its answer; -1: there is none.
  std::vector<int64_t> Pass(ClaimAsk ask) {
    std::vector<PoolPass> passes = Passes();
    for (PoolPass& pass : passes) pass.demand.claim = ask;
    known_.Lend(absl::MakeSpan(passes));
    peer_client_.Ask(absl::MakeSpan(passes), kLong);
    std::vector<int64_t> held;
    for (const PoolPass& pass : passes) {
      const Claim& claim = pass.snapshot.answers.claim;
      held.push_back(claim.here() ? static_cast<int64_t>(claim.value.machines.size()) : -1);
    }
    known_.TakeBack(absl::MakeSpan(passes));
    return held;
  }
  // How many machines were told in that.
  int64_t Told(ClaimAsk ask) {
    const int64_t before = peers_.capacity.machines_told();
    EXPECT_THAT(Pass(ask), ElementsAre(ask.nodes, ask.nodes));
    return peers_.capacity.machines_told() - before;
  }

  int64_t Kept() const { return static_cast<int64_t>(known_.machines()); }

  KnownClaims known_;
};

TEST_F(KnownClaimsTest, MachinesThatAreKnownAreNotToldAgain) {
  EXPECT_EQ(Told({kMany, 7}), 2 * kMany);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Told({kMany, 7}), 0);
  EXPECT_EQ(Told({kMany + 1, 8}), 2 * kMany + 2);
  EXPECT_EQ(Told({kMany + 1, 8}), 0);
  // Another replica led meanwhile.
  known_.Clear();
  EXPECT_EQ(Told({kMany + 1, 8}), 2 * kMany + 2);
  // Halves of a batch send what the whole would have sent.
  peers_.capacity.SetMostClaims(1);
  EXPECT_EQ(Told({kMany + 1, 8}), 0);
  EXPECT_EQ(Kept(), 2 * kMany + 2);
}

TEST_F(KnownClaimsTest, AnOlderCapacityTellsAllOfThem) {
  peers_.capacity.SetKnowsPrints(false);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Told({kMany, 7}), 2 * kMany);
  EXPECT_EQ(Kept(), 0);
  // Both releases are behind one address during an upgrade.
  peers_.capacity.SetKnowsPrints(true);
  EXPECT_EQ(Told({kMany, 7}), 2 * kMany);
  peers_.capacity.SetKnowsPrints(false);
  EXPECT_EQ(Told({kMany, 7}), 2 * kMany);
}

TEST_F(KnownClaimsTest, WhatIsKnownOutlivesAnOutage) {
  Told({kMany, 7});
  peers_.capacity.SetHeldBack(true);
  EXPECT_THAT(Pass({kMany, 7}), ElementsAre(-1, -1));
  peers_.capacity.SetHeldBack(false);
  EXPECT_EQ(Told({kMany, 7}), 0);
}

// It would say that the claim holds nothing.
TEST_F(KnownClaimsTest, AnAnswerThatLeavesOutWhatIsNotKnownIsNone) {
  peers_.capacity.SetConfused(true);
  EXPECT_THAT(Pass({kMany, 7}), ElementsAre(-1, -1));
  peers_.capacity.SetConfused(false);
  EXPECT_EQ(Told({kMany, 7}), 2 * kMany);
  peers_.capacity.SetConfused(true);
  EXPECT_THAT(Pass({kMany, 7}), ElementsAre(-1, -1));
  peers_.capacity.SetConfused(false);
  EXPECT_EQ(Told({kMany, 7}), 2 * kMany) << "all of them, to begin anew";
}

TEST_F(KnownClaimsTest, OnlyLargeClaimsThatAreThereAreKept) {
  EXPECT_EQ(Told({kMany - 1, 7}), 2 * kMany - 2);
  EXPECT_EQ(Kept(), 0);
  Told({kMany, 8});
  EXPECT_EQ(Kept(), 2 * kMany);
  // Not at each call, for it looks at all of them.
  for (int i = 0; i < 3; ++i)
    known_.ForgetGone([](const std::string& uid) { return uid == "uid-a"; });
  EXPECT_EQ(Kept(), kMany);
  ClaimAsk release{0, 9, {}, /*release=*/true};
  for (const auto& [uid, held] : peers_.capacity.claims()) {
    for (const std::string& id : held) release.returns.push_back({id});
  }
  EXPECT_THAT(Pass(release), ElementsAre(0, 0));
  EXPECT_EQ(Kept(), 0);
}

// Half of a batch is one call more for somebody who takes none.
TEST_F(PeerClientTest, WhoIsHeldBackIsNotAskedInHalves) {
  peers_.capacity.SetHeldBack(true);
  for (const PoolPass& pass : Ask(kLong)) {
    EXPECT_EQ(pass.snapshot.answers.claim.state, Claim::State::kAway);
    EXPECT_EQ(pass.snapshot.answers.holding.state, Holding::State::kHere);
  }
  EXPECT_EQ(peers_.capacity.syncs(), 1);
}

TEST_F(PeerClientTest, ARefusalTellsWhyAndWhatTheServiceKnows) {
  peers_.quota.SetKnownGeneration(9);
  const std::vector<PoolPass> passes = Ask(kLong);
  const Holding& answer = passes[0].snapshot.answers.holding;
  EXPECT_EQ(answer.state, Holding::State::kRefused);
  EXPECT_TRUE(answer.away());
  EXPECT_TRUE(answer.refused("GENERATION_TOO_OLD"));
  EXPECT_EQ(answer.last_generation, 9);
  EXPECT_THAT(answer.error, HasSubstr("older"));
  EXPECT_EQ(passes[0].snapshot.answers.claim.state, Claim::State::kHere);
}

TEST_F(PeerClientTest, WhereAServiceIsIsLoggedOnceAnOutageAndNotTold) {
  std::vector<std::string> lines;
  log::SetSink([&](absl::string_view line) { lines.emplace_back(line); });
  const absl::Cleanup logged = [] { log::SetSink({}); };
  peers_.quota.SetAway(true);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(Ask(kLong)[0].snapshot.answers.holding.error, "It does not answer.");
  EXPECT_THAT(lines, ElementsAre(AllOf(HasSubstr("a service does not answer"), HasSubstr("quota"),
                                       HasSubstr("ipv4:10.0.0.2"))));
  peers_.quota.SetAway(false);
  Ask(kLong);
  peers_.quota.SetAway(true);
  Ask(kLong);
  EXPECT_THAT(lines, SizeIs(2)) << "another outage";

  const WhatIfClient client(peers_.channels());
  EXPECT_EQ(client.AskPlaces(*Passes()[0].snapshot.pool, 1, 0, kLong).problem(),
            "Capacity does not answer.");
  EXPECT_THAT(lines.back(), HasSubstr("ipv4:10.0.0.2"));
}

// What callers ask for, and how often, is theirs.
TEST_F(PeerClientTest, WhoAsksForCallersLogsAnOutageOnce) {
  std::vector<std::string> lines;
  log::SetSink([&](absl::string_view line) { lines.emplace_back(line); });
  const absl::Cleanup logged = [] { log::SetSink({}); };
  peers_.quota.SetAway(true);
  const PeerClient asked(peers_.channels());
  const WhatIfClient what_if(peers_.channels());
  for (int i = 0; i < 20; ++i) {
    std::vector<PoolPass> passes = Passes();
    asked.Check(absl::MakeSpan(passes), kLong);
    EXPECT_EQ(passes[0].snapshot.answers.holding.error, "It does not answer.");
    EXPECT_EQ(what_if.AskPlaces(*passes[0].snapshot.pool, 1, 0, kLong).problem(),
              "Capacity does not answer.");
  }
  EXPECT_THAT(lines, UnorderedElementsAre(HasSubstr(R"("service":"quota")"),
                                          HasSubstr(R"("service":"capacity")")));
}

// A rack that a pool has begun may lack any number of Nodes.
TEST_F(PeerClientTest, PlacesOfATypeInRacksAreAskedForInWholeOnes) {
  peers_.capacity.SetFree(36, 18);
  const WhatIfClient client(peers_.channels());
  for (const int64_t nodes : {1, 9, 18, 27}) {
    SCOPED_TRACE(nodes);
    const auto told = client.AskPlaces(*Passes()[0].snapshot.pool, nodes, 18, kLong);
    EXPECT_EQ(told.problem(), "");
    EXPECT_EQ(told.nodes(), nodes);
    EXPECT_EQ(told.free_nodes(), 36);
  }
}

TEST_F(PeerClientTest, WhatIsReclaimedForAPoolIsToldByCapacity) {
  Ask(kLong);
  const WhatIfClient client(peers_.channels());
  EXPECT_EQ(client.AskReclaimed("uid-a", kLong), ReclaimedFor());
  peers_.capacity.SetReclaimed(3);
  EXPECT_EQ(client.AskReclaimed("uid-a", kLong),
            (ReclaimedFor{3, {{"g1", absl::FromUnixSeconds(10)}}, absl::FromUnixSeconds(20)}));
  EXPECT_EQ(client.AskReclaimed("uid-unknown", kLong), ReclaimedFor());
}

}  // namespace
}  // namespace muster::lifecycle
