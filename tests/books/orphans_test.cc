// What belongs to no pool: found, and given back once nothing can be under way for it any more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <optional>
#include <set>
#include <thread>

#include "absl/strings/match.h"
#include "services/common/log.h"
#include "services/lifecycle/core/decide.h"
#include "tests/books/cloud.h"
#include "tests/testing/metric_value.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

using lifecycle::OrphanCollector;
using lifecycle::OrphanPolicy;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kGrace = absl::Minutes(15);

class Orphans : public Cloud {
 protected:
  std::unique_ptr<OrphanCollector> NewCollector(const OrphanPolicy& policy = {},
                                                lifecycle::LifecycleService* service = nullptr) {
    OrphanCollector::Options options;
    options.lane = service == nullptr ? &lifecycle_->lane() : &service->lane();
    options.orphans.policy = policy;
    options.epoch = [this] { return epoch_.load(); };
    options.steady = &steady_;
    auto collector = std::make_unique<OrphanCollector>(std::move(options));
    collector->SetPeers(Peers());
    return collector;
  }
  void RoundAt(OrphanCollector& collector, absl::Duration at) {
    steady_.Advance(begin_ + at - steady_.Now());
    collector.Round();
  }
  // The value of a metric with that one label.
  static double Metric(const OrphanCollector& collector, const std::string& name,
                       const std::string& label = "") {
    const std::optional<double> value = MetricValue(*collector.collectable(), name, label);
    EXPECT_TRUE(value) << "no metric " << name << " " << label;
    return value.value_or(-1);
  }
  static void ExpectMetrics(const OrphanCollector& collector, const std::string& name,
                            double value) {
    for (const char* service : {"quota", "capacity", "configuration"})
      EXPECT_EQ(Metric(collector, name, service), value) << name << " of " << service;
  }
  // Once the books of a round are read, before anything is given back.
  void AtTheSecondLook(std::function<void()> f) {
    // The first barrier is the books'.
    LaneTrap& trap = traps_["lifecycle"];
    trap.Set(storage::LanePoint::kBeforeBarrier, [&trap, f = std::move(f)]() mutable {
      trap.Set(storage::LanePoint::kBeforeBarrier, std::move(f));
    });
  }
  void ExpectInAllBooks(const std::vector<std::string>& uids) {
    EXPECT_EQ(Holders(), uids);
    EXPECT_EQ(Claimants(), uids);
    EXPECT_EQ(Configured(), uids);
  }

  std::atomic<int64_t> epoch_ = 1;
  FakeSteadyClock steady_;
  absl::Duration begin_ = steady_.Now();  // RoundAt counts from here
};

TEST_F(Orphans, AreGivenBackAfterTheGrace) {
  AddMachines("m", 5);
  Haunt("ghost", 3);
  ASSERT_EQ(MachinesHeld(), "3");
  const auto collector = NewCollector();
  RoundAt(*collector, absl::Minutes(0));
  ExpectMetrics(*collector, "muster_lifecycle_orphans", 1);
  RoundAt(*collector, kGrace - absl::Seconds(1));
  ExpectInAllBooks({"ghost"});
  ExpectMetrics(*collector, "muster_lifecycle_orphans_released_total", 0);
  EXPECT_EQ(collector->stats().violations, 0);

  RoundAt(*collector, kGrace);
  ExpectInAllBooks({});
  EXPECT_EQ(MachinesHeld(), "0");
  EXPECT_EQ(database_.QueryValue("SELECT count(*) FROM capacity.machine WHERE state = 'FREE'"), "5")
      << "given back as not broken";
  ExpectMetrics(*collector, "muster_lifecycle_orphans_released_total", 1);
  EXPECT_EQ(Metric(*collector, "muster_lifecycle_books_differences", "orphan_claim"), 1);
  EXPECT_EQ(collector->stats().violations, 0) << "nothing is broken";

  RoundAt(*collector, kGrace + absl::Minutes(5));
  ExpectMetrics(*collector, "muster_lifecycle_orphans", 0);
  EXPECT_EQ(Metric(*collector, "muster_lifecycle_books_differences", "orphan_claim"), 0);
  EXPECT_EQ(collector->stats().audits, 4);
  // And it never comes back.
  EXPECT_THAT(SyncHolding("ghost", 3, 9), HasReason("POOL_RELEASED"));
  EXPECT_THAT(SyncClaim("ghost", 3, 9), HasReason("POOL_RELEASED"));
  EXPECT_THAT(SyncConfiguration("ghost", 9), HasReason("POOL_RELEASED"));
  ExpectInAllBooks({});
}

TEST_F(Orphans, EachOfTheThreeIsFoundAlone) {
  AddMachines("m", 5);
  for (int i = 0; i < 17; ++i)
    ASSERT_THAT(SyncHolding(AddPool(absl::StrCat("p", i)).uid(), 0), IsOk());
  const auto sound = Holders();
  ASSERT_THAT(SyncHolding("zz-holding", 2), IsOk());
  ASSERT_THAT(SyncClaim("zz-claim", 2), IsOk());
  ASSERT_THAT(SyncConfiguration("zz-configuration"), IsOk());
  const auto collector = NewCollector();
  RoundAt(*collector, absl::Minutes(0));
  RoundAt(*collector, kGrace);
  EXPECT_EQ(Holders(), sound);
  EXPECT_THAT(Claimants(), IsEmpty());
  EXPECT_THAT(Configured(), IsEmpty());
  EXPECT_EQ(MachinesHeld(), "0");
}

TEST_F(Orphans, WithMoreMachinesThanARequestTakes) {
  AddMachines("m", 2500);
  ASSERT_THAT(SyncClaim("ghost", 2500), IsOk());
  ASSERT_EQ(MachinesHeld(), "2500");
  const auto collector = NewCollector();
  RoundAt(*collector, absl::Minutes(0));
  RoundAt(*collector, kGrace);
  EXPECT_THAT(Claimants(), IsEmpty());
  EXPECT_EQ(MachinesHeld(), "0");
}

TEST_F(Orphans, WhatBelongsToAPoolIsLeftAlone) {
  AddMachines("m", 9);
  const std::string uid = AddPool("train").uid();
  Haunt(uid, 3);
  const auto collector = NewCollector({.grace = absl::ZeroDuration(), .mass_percent = 100});
  for (int i = 0; i < 3; ++i) RoundAt(*collector, absl::Hours(i));
  ExpectInAllBooks({uid});
  ExpectMetrics(*collector, "muster_lifecycle_orphans", 0);
}

// Quota's book is asked for, and right then a pool comes to be, with all that is its own: the book
// shows it, so the pools, which are read last, must too.
TEST_F(Orphans, APoolThatComesWhileTheBooksAreReadIsInAllOfThemOrInItsOwn) {
  AddMachines("m", 5);
  const auto collector = NewCollector({.grace = absl::ZeroDuration(), .mass_percent = 100});
  std::string uid;
  traps_["quota"].Set(storage::LanePoint::kBeforeBarrier, [&] {
    uid = AddPool("train").uid();
    Haunt(uid, 3);
  });
  RoundAt(*collector, absl::Minutes(0));
  ExpectMetrics(*collector, "muster_lifecycle_orphans", 0);
  ExpectInAllBooks({uid});
}

// A uid that no pool had when the books were read has one when the second look is taken.
TEST_F(Orphans, TheSecondLookSavesWhatGotItsPoolMeanwhile) {
  AddMachines("m", 5);
  Haunt("late", 3);
  const auto collector = NewCollector({.grace = absl::ZeroDuration(), .mass_percent = 100});
  AtTheSecondLook([&] {
    lifecycle::ApplyNodePool apply{.name = absl::StrCat(kCluster, "/nodePools/late"),
                                   .new_uid = "late",
                                   .type = lifecycle::TypeFacts{kType, 8, false, 0}};
    apply.spec.instance_type = kType;
    apply.spec.target_nodes = 3;
    apply.target_nodes = 3;
    const auto told = std::make_shared<std::promise<absl::Status>>();
    lifecycle_->lane().Submit(
        [apply](StagedState<lifecycle::State>& staged, absl::Time now) {
          return lifecycle::Decide(staged, apply, now).status();
        },
        [told](const absl::Status& status, int64_t) { told->set_value(status); });
    EXPECT_THAT(Await(told->get_future(), "a pool"), IsOk());
  });
  RoundAt(*collector, absl::Minutes(0));
  ExpectMetrics(*collector, "muster_lifecycle_orphans", 1);
  ExpectInAllBooks({"late"});
  EXPECT_EQ(MachinesHeld(), "3");
}

// Pools come to be all the while, and what is theirs right after them; the grace is nothing, so
// only the order of reading and the second look keep the collector from them.
TEST_F(Orphans, APoolThatIsBeingCreatedIsNeverTaken) {
  constexpr int kCreators = 3;
  constexpr int kPoolsEach = 30;
  std::atomic<int> creating = kCreators;
  std::vector<std::thread> creators;
  std::vector<std::vector<absl::Status>> refused(kCreators);
  for (int creator = 0; creator < kCreators; ++creator) {
    creators.emplace_back([&, creator] {
      for (int i = 0; i < kPoolsEach; ++i) {
        const std::string uid = AddPool(absl::StrCat("p", creator, "-", i)).uid();
        for (const absl::Status& status :
             {SyncHolding(uid, 1), SyncClaim(uid, 1), SyncConfiguration(uid)}) {
          if (!status.ok()) refused[static_cast<size_t>(creator)].push_back(status);
        }
      }
      --creating;
    });
  }
  const auto collector =
      NewCollector({.grace = absl::ZeroDuration(), .most_a_round = 1000, .mass_percent = 100});
  int rounds = 0;
  for (; creating > 0; ++rounds) RoundAt(*collector, absl::Minutes(rounds));
  for (std::thread& creator : creators) creator.join();
  RoundAt(*collector, absl::Hours(99));
  for (const auto& statuses : refused) EXPECT_THAT(statuses, IsEmpty());
  EXPECT_GT(rounds, 3);
  EXPECT_THAT(Claimants(), SizeIs(kCreators * kPoolsEach));
  EXPECT_THAT(Holders(), SizeIs(kCreators * kPoolsEach));
  EXPECT_THAT(Configured(), SizeIs(kCreators * kPoolsEach));
  ExpectMetrics(*collector, "muster_lifecycle_orphans_released_total", 0);
}

TEST_F(Orphans, OnlyTheLeaderLooks) {
  Haunt("ghost", 1);
  epoch_ = 0;
  const auto collector = NewCollector();
  RoundAt(*collector, absl::Minutes(0));
  RoundAt(*collector, absl::Hours(1));
  ExpectInAllBooks({"ghost"});
  EXPECT_EQ(collector->stats().audits, 0);
  ExpectMetrics(*collector, "muster_lifecycle_orphans", 0);
}

TEST_F(Orphans, ANewLeaderBeginsTheGraceAnew) {
  Haunt("ghost", 1);
  const auto second = Create<lifecycle::LifecycleService>("lifecycle");
  const auto a = NewCollector();
  RoundAt(*a, absl::Minutes(0));
  RoundAt(*a, absl::Minutes(14));
  epoch_ = 0;
  RoundAt(*a, absl::Minutes(15));
  ExpectInAllBooks({"ghost"});
  ExpectMetrics(*a, "muster_lifecycle_orphans", 0);
  epoch_ = 2;
  const auto b = NewCollector({}, second.get());
  RoundAt(*b, absl::Minutes(16));
  RoundAt(*b, absl::Minutes(30));
  // The first one again, under another epoch: what it remembers of its former one counts no more.
  epoch_ = 3;
  RoundAt(*a, absl::Minutes(31));
  ExpectInAllBooks({"ghost"});
  epoch_ = 2;
  RoundAt(*b, absl::Minutes(31));
  ExpectInAllBooks({});
}

// Whoever loses the lead in the middle of a round gives nothing back after it.
TEST_F(Orphans, WhoLosesTheLeadInARoundGivesNothingBack) {
  for (int i = 0; i < 3; ++i) Haunt(absl::StrCat("ghost-", i), 0);
  for (int looks = 0; looks < 4; ++looks) {
    SCOPED_TRACE(looks);
    int left = 1000;
    OrphanCollector::Options options;
    options.lane = &lifecycle_->lane();
    options.orphans.policy.mass_percent = 100;
    options.epoch = [&] { return left-- > 0 ? 7 : 0; };
    options.steady = &steady_;
    OrphanCollector collector(std::move(options));
    collector.SetPeers(Peers());
    begin_ = steady_.Now();
    RoundAt(collector, absl::Minutes(0));
    // Its looks: at the beginning, once the books are read, before each release.
    left = looks;
    RoundAt(collector, kGrace);
    EXPECT_EQ(Holders().size(), looks < 3 ? 3u : 2u);
  }
}

// Whoever stops it does not wait for lifecycle's own state, which may not be to be had for long.
TEST_F(Orphans, WhoIsStoppedInTheMidstOfARoundWaitsForNoRead) {
  std::promise<void> reached, open;
  std::shared_future<void> opened = open.get_future().share();
  traps_["lifecycle"].Set(storage::LanePoint::kBeforeBarrier, [&reached, opened] {
    reached.set_value();
    opened.wait();
  });
  std::atomic<bool> told = false;
  log::SetSink([&](absl::string_view line) {
    if (absl::StrContains(line, "the books could not be read")) told = true;
  });
  OrphanCollector::Options options;
  options.lane = &lifecycle_->lane();
  options.epoch = [this] { return epoch_.load(); };
  OrphanCollector collector(std::move(options));
  collector.Start(Peers());
  reached.get_future().wait();
  collector.Stop();
  log::SetSink({});
  open.set_value();
  EXPECT_FALSE(told) << "it waited for as long as it may";
}

TEST_F(Orphans, ARoundIsSlowWorkOfTheProcessUntilItsThreadHasRested) {
  std::promise<void> reached, open;
  std::shared_future<void> opened = open.get_future().share();
  LaneTrap& trap = traps_["lifecycle"];
  trap.Set(storage::LanePoint::kBeforeBarrier, [&reached, opened] {
    reached.set_value();
    opened.wait();
  });
  OrphanCollector::Options options;
  options.lane = &lifecycle_->lane();
  options.cpu = std::make_shared<CpuShare>();
  options.epoch = [this] { return epoch_.load(); };
  const std::shared_ptr<CpuShare> cpu = options.cpu;
  OrphanCollector collector(std::move(options));
  collector.Start(Peers());
  reached.get_future().wait();
  EXPECT_EQ(cpu->at_it(), 1);
  open.set_value();
  Until([&] { return cpu->at_it() == 0; }, "the end of the round and of the rest");
  collector.Stop();
}

TEST_F(Orphans, AMassIsOnlyToldUntilAPersonHasLooked) {
  for (int i = 0; i < 5; ++i) Haunt(absl::StrCat("ghost-", i), 1);
  const auto collector = NewCollector();
  RoundAt(*collector, absl::Minutes(0));
  EXPECT_EQ(Metric(*collector, "muster_lifecycle_orphans_withheld"), 0);
  for (int i = 1; i < 5; ++i) RoundAt(*collector, kGrace * i);
  EXPECT_THAT(Holders(), SizeIs(5));
  EXPECT_EQ(Metric(*collector, "muster_lifecycle_orphans_withheld"), 1);
  ExpectMetrics(*collector, "muster_lifecycle_orphans", 5);

  const auto told = NewCollector({.most_a_round = 2, .mass_percent = 100});
  begin_ = steady_.Now();
  RoundAt(*told, absl::Minutes(0));
  RoundAt(*told, kGrace);
  EXPECT_THAT(Holders(), SizeIs(3));
  RoundAt(*told, kGrace + absl::Minutes(5));
  EXPECT_THAT(Holders(), SizeIs(1));
  RoundAt(*told, kGrace + absl::Minutes(10));
  ExpectInAllBooks({});
  EXPECT_EQ(Metric(*told, "muster_lifecycle_orphans_withheld"), 0);
}

TEST_F(Orphans, ABookThatCannotBeReadIsNoReasonToGiveAnythingBack) {
  Haunt("ghost", 1);
  const auto collector = NewCollector();
  RoundAt(*collector, absl::Minutes(0));
  lifecycle::Peers peers = Peers();
  peers.configuration = grpc::CreateChannel("unix:/nowhere", grpc::InsecureChannelCredentials());
  collector->SetPeers(peers);
  RoundAt(*collector, kGrace);
  ExpectInAllBooks({"ghost"});
  EXPECT_EQ(collector->stats().failed, 1);
  collector->SetPeers(Peers());
  RoundAt(*collector, kGrace + absl::Minutes(1));
  ExpectInAllBooks({});
}

// One of the three is asked for anew after its book was read, and so refuses to be given back: what
// comes after it stays, too, and nothing is charged for less than is held. The next round gives
// back what is left, and that alone.
TEST_F(Orphans, ARefusalKeepsWhatComesAfterItUntilTheNextRound) {
  AddMachines("m", 5);
  const std::vector<std::string> order = {"configuration", "capacity", "quota"};
  for (size_t refusing = 0; refusing < order.size(); ++refusing) {
    SCOPED_TRACE(order[refusing]);
    const std::string uid = absl::StrCat("ghost-", order[refusing]);
    Haunt(uid, 3);
    const auto collector = NewCollector({.grace = absl::ZeroDuration(), .mass_percent = 100});
    AtTheSecondLook([&] {
      EXPECT_THAT(refusing == 0   ? SyncConfiguration(uid, 9)
                  : refusing == 1 ? SyncClaim(uid, 3, 9)
                                  : SyncHolding(uid, 3, 9),
                  IsOk());
    });
    begin_ = steady_.Now();
    RoundAt(*collector, absl::Minutes(0));
    EXPECT_THAT(Configured(), SizeIs(refusing > 0 ? 0 : 1));
    EXPECT_THAT(Claimants(), SizeIs(refusing > 1 ? 0 : 1));
    EXPECT_EQ(MachinesHeld(), refusing > 1 ? "0" : "3");
    EXPECT_THAT(Holders(), ElementsAre(uid));
    EXPECT_EQ(collector->stats().violations, 1);

    RoundAt(*collector, absl::Minutes(1));
    ExpectInAllBooks({});
    EXPECT_EQ(MachinesHeld(), "0");
    ExpectMetrics(*collector, "muster_lifecycle_orphans_released_total", 1);
    EXPECT_EQ(collector->stats().violations, 1);
  }
}

// Configuration with one book to read, which answers every request with the same.
class Unwilling final : public configuration::v1::ConfigurationService::Service {
 public:
  explicit Unwilling(grpc::StatusCode code) : code_(code) {
    grpc::ServerBuilder builder;
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  std::shared_ptr<grpc::Channel> channel() { return server_->InProcessChannel({}); }

  grpc::Status ListPoolConfigurations(
      grpc::ServerContext*, const configuration::v1::ListPoolConfigurationsRequest*,
      configuration::v1::ListPoolConfigurationsResponse* response) override {
    auto* configuration = response->add_configurations();
    configuration->set_name("poolConfigurations/ghost");
    configuration->set_generation(1);
    return grpc::Status::OK;
  }
  grpc::Status SyncPoolConfiguration(grpc::ServerContext*,
                                     const configuration::v1::SyncPoolConfigurationRequest*,
                                     configuration::v1::PoolConfiguration*) override {
    return {code_, "not so"};
  }

 private:
  const grpc::StatusCode code_;
  std::unique_ptr<grpc::Server> server_;
};

// It breaks no rule: the next round tries again. Nor does whoever stops in the middle of a round.
TEST_F(Orphans, WhoIsAwayHasRefusedNothing) {
  const auto violations_with = [&](grpc::StatusCode code) {
    Unwilling configuration(code);
    lifecycle::Peers peers = Peers();
    peers.configuration = configuration.channel();
    const auto collector = NewCollector({.grace = absl::ZeroDuration()});
    collector->SetPeers(peers);
    begin_ = steady_.Now();
    RoundAt(*collector, absl::Minutes(0));
    return collector->stats().violations;
  };
  EXPECT_EQ(violations_with(grpc::StatusCode::UNAVAILABLE), 0);
  EXPECT_EQ(violations_with(grpc::StatusCode::DEADLINE_EXCEEDED), 0);
  EXPECT_EQ(violations_with(grpc::StatusCode::CANCELLED), 0);
  EXPECT_EQ(violations_with(grpc::StatusCode::FAILED_PRECONDITION), 1);
}

// The whole of it: the service's own loop, lease and thread.
TEST_F(Orphans, TheServiceItselfFindsThem) {
  Haunt("ghost", 1);
  ASSERT_THAT(lifecycle_->StartReconciling(Peers()), IsOk());
  while (lifecycle_->audit_stats().audits == 0) std::this_thread::yield();
  EXPECT_NE(lifecycle_->epoch(), 0);
  lifecycle_->StopReconciling();
  EXPECT_EQ(MetricSum(*lifecycle_->books_collectable(), "muster_lifecycle_orphans"), 3);
}

}  // namespace
}  // namespace muster::testing
