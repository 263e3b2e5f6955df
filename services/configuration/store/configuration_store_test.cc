#include "services/configuration/store/configuration_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "services/common/testing/fake_memory.h"
#include "services/configuration/core/decide.h"
#include "services/configuration/core/limits.h"
#include "services/configuration/core/names.h"
#include "services/configuration/core/settle.h"
#include "storage/postgres/testing/plan_test_base.h"
#include "storage/postgres/testing/schema_test_base.h"
#include "storage/postgres/testing/store_test_base.h"
#include "tests/testing/cause_matchers.h"
#include "tests/testing/kept_requests.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"

namespace muster::storage {
namespace {

using ::muster::testing::IsOk;
using ::muster::testing::IsRefusedBy;
using ::muster::testing::StatusIs;

using configuration::Channel;
using configuration::Component;
using configuration::OrderKind;
using configuration::OrderPool;
using configuration::Policy;
using configuration::PoolConfiguration;
using configuration::PublishRelease;
using configuration::Spec;
using configuration::Strategy;
using configuration::SyncPool;

const absl::Time kNow = absl::FromUnixSeconds(1'760'000'000);

class ConfigurationStoreTest : public StagedStoreTest<configuration::State> {
 protected:
  ConfigurationStoreTest() : StagedStoreTest("configuration", NewConfigurationStore()) {}

  // Decides on state_, stores what changed, and remembers it.
  template <class Command>
  void Do(const Command& command) {
    const absl::Time now = absl::FromUnixMicros(1'750'000'000'000'001 + revision_);
    ASSERT_THAT(
        Put([&](auto& staged) {
          if constexpr (requires { configuration::Decide(staged, command, now, Policy{}); }) {
            ASSERT_THAT(
                configuration::Decide(staged, command, now, Policy{.boot_failures_to_disable = 1}),
                IsOk());
          } else {
            ASSERT_THAT(configuration::Decide(staged, command, now), IsOk());
          }
        }),
        IsOk());
  }

  // A release comes, and the pools are settled.
  void Publish(const PublishRelease& release) {
    Do(release);
    Converge();
  }
  void Converge() {
    const configuration::SettlePools command{configuration::UnsettledPools(FakeMemory(state_))};
    ASSERT_THAT(Put([&](auto& staged) { (void)configuration::Decide(staged, command, kNow); }),
                IsOk());
  }

  void ExpectAllTheSame() {
    const configuration::State loaded = Loaded();
    const configuration::State replayed = Replayed();
    EXPECT_EQ(ContentsOf(loaded), ContentsOf(state_));
    EXPECT_EQ(ContentsOf(replayed), ContentsOf(state_));
    EXPECT_TRUE(loaded.released() == state_.released());
    EXPECT_TRUE(loaded.kept() == state_.kept());
    EXPECT_TRUE(replayed.kept() == state_.kept());
    EXPECT_TRUE(replayed.released() == state_.released());
  }

  void PublishBasics() {
    Do(PublishRelease{Channel::kStable, Component::kNcoreImage, "2.10.1"});
    Do(PublishRelease{Channel::kStable, Component::kGpuDriver, "570.86.15"});
    Do(PublishRelease{Channel::kStable, Component::kKubernetes, "1.33"});
  }

  const PoolConfiguration& Pool(absl::string_view uid) const {
    return *state_.table<PoolConfiguration>().Find(configuration::PoolConfigurationName(uid));
  }
};

TEST_F(ConfigurationStoreTest, TablesAndJournalGiveBackTheState) {
  PublishBasics();
  const Spec odd = {.image_name = "an \"image\", with {odd} \\ 'letters' and NULL",
                    .image_kernel = "NULL",
                    .release_train = Channel::kLatest,
                    .gpu_version = "570",
                    .gpu = true,
                    .kubernetes = "1.33",
                    .strategy = Strategy::kAlways};
  Do(SyncPool{"odd", 1, odd});
  Do(SyncPool{"moves", 1, {.gpu = true, .strategy = Strategy::kAlways}});
  Do(SyncPool{"waits", 1, {.gpu = true, .strategy = Strategy::kManual}});
  Do(SyncPool{"stuck", 1, {.gpu_version = "999", .gpu = true}});
  Do(SyncPool{"gone", 1, {}});
  Publish({Channel::kStable, Component::kGpuDriver, "570.124.06"});
  Do(SyncPool{"gone", 2, {}, true});
  ASSERT_TRUE(Pool("waits").has_pending());
  ASSERT_NE(Pool("stuck").problem, "");
  ASSERT_TRUE(Pool("odd").problem_of_spec);
  ASSERT_EQ(Pool("moves").revisions.size(), 2u);
  ExpectAllTheSame();
  EXPECT_EQ(database_.QueryValue("SELECT count(*) FROM configuration.pool_configuration"), "4");
  EXPECT_EQ(database_.QueryValue("SELECT pending_summary FROM configuration.pool_configuration"
                                 " WHERE pool_uid = 'waits'"),
            "ncore image 2.10.1\nGPU driver 570.86.15 → 570.124.06\nKubernetes 1.33");
}

TEST_F(ConfigurationStoreTest, KeptAnswersComeBack) {
  PublishBasics();
  const std::string release = "channels/stable/components/kubernetes/releases/1.33";
  for (const KeptRequest& kept : testing::OddKeptRequests(release)) {
    ASSERT_THAT(Put([&](auto& staged) { staged.Put(kept); }), IsOk());
  }
  ExpectAllTheSame();
  EXPECT_EQ(Loaded().kept().ids().size(), 4u);
  ASSERT_THAT(Put([&](auto& staged) { staged.template Delete<KeptRequest>("gone"); }), IsOk());
  ExpectAllTheSame();
  EXPECT_EQ(Loaded().kept().ids().size(), 3u);
}

TEST_F(ConfigurationStoreTest, OrdersPinsAndFailuresGiveBackTheState) {
  PublishBasics();
  const Spec spec = {.gpu = true, .strategy = Strategy::kManual};
  Do(SyncPool{"p", 1, spec});
  const std::string first = Pool("p").active();
  Publish({Channel::kStable, Component::kGpuDriver, "570.124.06"});
  Do(OrderPool{"p", OrderKind::kPromote, "pending"});
  Do(OrderPool{"p", OrderKind::kRollback, "previous"});
  ASSERT_EQ(Pool("p").active(), first);
  ASSERT_EQ(Pool("p").pinned.size(), 1u);
  ASSERT_TRUE(Pool("p").has_pending());
  ExpectAllTheSame();
  // In delivery, an order waits, while others are refused; once they were told of, the oldest of
  // them go.
  Do(SyncPool{.pool_uid = "p", .generation = 1, .spec = spec, .nodes_in_delivery = 2});
  Do(OrderPool{"p", OrderKind::kPromote, "pending"});
  ASSERT_TRUE(Pool("p").has_waiting());
  ExpectAllTheSame();
  for (int i = 0; i < 12; ++i) Do(OrderPool{"p", OrderKind::kPromote, "np-000000000000"});
  ASSERT_EQ(Pool("p").orders.size(), 15u);
  ExpectAllTheSame();
  Do(SyncPool{.pool_uid = "p",
              .generation = 1,
              .spec = spec,
              .nodes_in_delivery = 2,
              .orders_told = 15,
              .pool = "organizations/acme/clusters/c1/nodePools/train"});
  ASSERT_EQ(Pool("p").orders.front().outcome, configuration::OrderOutcome::kWaiting);
  ASSERT_EQ(Pool("p").orders[1].number, 7);
  ExpectAllTheSame();
  EXPECT_EQ(database_.QueryValue("SELECT count(*) FROM configuration.pool_order"), "10");
  // The first one fails to boot.
  Do(SyncPool{.pool_uid = "p",
              .generation = 1,
              .spec = spec,
              .boot_failures = configuration::BootFailures{first, 0, {"g1"}}});
  ASSERT_FALSE(Pool("p").has_waiting());
  ASSERT_TRUE(Pool("p").revisions.front().disabled);
  ExpectAllTheSame();
  Do(configuration::EnableRevision{"p", first});
  Do(configuration::WithdrawRelease{Channel::kStable, Component::kGpuDriver, "570.124.06"});
  Converge();
  ASSERT_EQ(Pool("p").pending.node_profile, first);
  ExpectAllTheSame();
  Do(SyncPool{"p", 2, {}, true});
  EXPECT_EQ(database_.QueryValue("SELECT count(*) FROM configuration.pool_order"), "0");
  ExpectAllTheSame();
}

// The list of revisions moves: a profile comes back, and the oldest goes.
TEST_F(ConfigurationStoreTest, RevisionsMove) {
  PublishBasics();
  int64_t generation = 0;
  const auto to = [&](const std::string& image) {
    Do(PublishRelease{Channel::kStable, Component::kNcoreImage, image});
    Do(SyncPool{"p", ++generation, {.image_name = image}});
  };
  to("a");
  to("b");
  to("c");
  to("a");
  ExpectAllTheSame();
  for (size_t i = 0; i < configuration::kMaxRevisions + 2; ++i) to(absl::StrCat("image-", i));
  // The last one has come to those that the request left.
  ASSERT_EQ(Pool("p").revisions.size(), configuration::kMaxRevisions + 1);
  ExpectAllTheSame();
  to(absl::StrCat("image-", configuration::kMaxRevisions + 1));
  ASSERT_EQ(Pool("p").revisions.size(), configuration::kMaxRevisions);
  ExpectAllTheSame();
  to("image-20");
  ExpectAllTheSame();
}

// Within one batch a pool may go and come back: the tables see the last of it only.
TEST_F(ConfigurationStoreTest, AListGetsShorterWhenAPoolComesBack) {
  PublishBasics();
  for (const char* image : {"a", "b"})
    Do(PublishRelease{Channel::kStable, Component::kNcoreImage, image});
  Do(SyncPool{"p", 1, {.image_name = "a"}});
  Do(SyncPool{"p", 2, {.image_name = "b"}});
  ASSERT_EQ(Pool("p").revisions.size(), 2u);
  StagedState<configuration::State> staged(state_, revision_);
  ASSERT_TRUE(staged.Delete<PoolConfiguration>(Pool("p").Key()));
  ASSERT_THAT(configuration::Decide(staged, SyncPool{"p", 1, {.image_name = "b"}}, kNow), IsOk());
  ASSERT_EQ(staged.changes().size(), 2u);
  ASSERT_THAT(Write({staged.changes().back()}), IsOk());
  EXPECT_EQ(ContentsOf(Loaded()), ContentsOf(state_));
}

TEST_F(ConfigurationStoreTest, RandomHistories) {
  std::mt19937 random(11);
  const auto pick = [&](int below) {
    return static_cast<int>(random() % static_cast<unsigned>(below));
  };
  const std::string versions[] = {"1.33", "1.34", "570.86.15", "570.124.06", "580.1"};
  const std::string majors[] = {"", "570", "580", "999"};
  std::map<std::string, int64_t> generations;
  std::map<int, int> lives;
  // One of five pools; who was released comes again under another uid.
  const auto some_pool = [&] {
    const int pool = pick(5);
    while (FindReleased(state_, absl::StrCat("p-", pool, "-", lives[pool])) != nullptr)
      ++lives[pool];
    return absl::StrCat("p-", pool, "-", lives[pool]);
  };
  PublishBasics();
  Do(PublishRelease{Channel::kStable, Component::kNcoreImage, "mine"});
  for (const char* kernel : {"6.5", "6.5.13-65-650-4141"})
    Do(PublishRelease{Channel::kStable, Component::kKernel, kernel});
  for (int step = 0; step < 300; ++step) {
    SCOPED_TRACE(step);
    const int what = pick(8);
    if (what == 0) {
      Converge();
    } else if (what == 1) {
      const std::string uid = some_pool();
      if (state_.table<PoolConfiguration>().Find(configuration::PoolConfigurationName(uid)) !=
          nullptr) {
        const bool promote = pick(2) == 0;
        Do(OrderPool{uid, promote ? OrderKind::kPromote : OrderKind::kRollback,
                     promote ? "pending" : "previous"});
      }
    } else if (what < 4) {
      Do(PublishRelease{static_cast<Channel>(pick(2)), static_cast<Component>(pick(3)),
                        versions[pick(5)]});
    } else {
      const std::string uid = some_pool();
      const Spec spec = {.image_name = pick(4) == 0 ? "mine" : "",
                         .image_kernel = pick(4) == 0 ? "6.5" : "",
                         .release_train = static_cast<Channel>(pick(2)),
                         .gpu_version = majors[pick(4)],
                         .gpu = pick(2) == 0,
                         .kubernetes = pick(2) == 0 ? "1.33" : "",
                         .strategy = static_cast<Strategy>(pick(3))};
      Do(SyncPool{uid, ++generations[uid], spec, pick(8) == 0, pick(2)});
    }
    if (step % 10 == 0) ExpectAllTheSame();
    if (HasFailure()) return;
  }
  ExpectAllTheSame();
  EXPECT_GT(Loaded().released().uids().size(), 5u);
}

TEST_F(ConfigurationStoreTest, EveryKindCanGo) {
  PublishBasics();
  Do(SyncPool{"p", 1, {}});
  Do(SyncPool{"gone", 1, {}, true});
  ASSERT_THAT(Put([](auto& staged) { staged.Put(KeptRequest{.request_id = "r"}); }), IsOk());
  std::vector<std::string> keys;
  state_.ForEach([&](const auto& row) { keys.push_back(row.change.key); });
  StagedState<configuration::State> staged(state_, revision_);
  for (const std::string& key : keys) {
    staged.Delete<configuration::Release>(key);
    staged.Delete<configuration::NodeProfile>(key);
    staged.Delete<PoolConfiguration>(key);
    staged.Delete<ReleasedPool>(key);
    staged.Delete<KeptRequest>(key);
  }
  ASSERT_EQ(staged.changes().size(), 7u);
  EXPECT_THAT(Write(staged.changes()), IsOk());
  EXPECT_EQ(Loaded().size(), 0u);
}

TEST_F(ConfigurationStoreTest, TheTablesAreASecondFence) {
  PublishBasics();
  Do(SyncPool{"p", 1, {}});
  struct Case {
    const char* constraint = "";
    void (*change)(PoolConfiguration&) = nullptr;
  };
  const Case cases[] = {
      {"generation_positive", [](PoolConfiguration& p) { p.generation = 0; }},
      {"pending_exists", [](PoolConfiguration& p) { p.pending.node_profile = "np-000000000000"; }},
      {"pending_or_problem",
       [](PoolConfiguration& p) { p.pending.node_profile = p.active(), p.problem = "none"; }},
      {"waiting_for_delivery", [](PoolConfiguration& p) { p.waiting.node_profile = p.active(); }},
      {"unmet_is_a_problem", [](PoolConfiguration& p) { p.spec_unmet = true; }},
      {"of_spec_is_a_problem", [](PoolConfiguration& p) { p.problem_of_spec = true; }},
      {"enable_count_not_negative",
       [](PoolConfiguration& p) { p.revisions.back().enable_count = -1; }},
      {"number_positive",
       [](PoolConfiguration& p) { p.orders = {{.number = 0, .requested = "pending"}}; }},
      {"requested_not_empty", [](PoolConfiguration& p) { p.orders = {{.number = 1}}; }},
      {"profile_exists",
       [](PoolConfiguration& p) { p.revisions.back().node_profile = "np-000000000000"; }},
      {"profile_once", [](PoolConfiguration& p) { p.revisions.push_back(p.revisions.back()); }},
  };
  for (const Case& row : cases) {
    StagedState<configuration::State> staged(state_, revision_);
    PoolConfiguration pool = Pool("p");
    row.change(pool);
    staged.Put(pool);
    EXPECT_THAT(Write(staged.changes()), IsRefusedBy(row.constraint));
    staged.RollBack();
  }
  ExpectAllTheSame();
}

TEST_F(ConfigurationStoreTest, UnknownJournalEntriesAreInternalErrors) {
  const std::string garbage = "\xff\xff";
  for (const char* kind : {"Release", "NodeProfile", "PoolConfiguration", ReleasedPool::kKind}) {
    EXPECT_THAT(store_->Decode(kind, "x", &garbage), StatusIs(absl::StatusCode::kInternal));
    EXPECT_THAT(store_->Decode(kind, "x", nullptr), IsOk());
  }
  EXPECT_THAT(store_->Decode("castle", "x", nullptr), StatusIs(absl::StatusCode::kInternal));
}

TEST(ConfigurationSchema, IsWhatTheTablesAreDescribedAs) {
  ExpectDescribesSchema(*NewConfigurationStore(), "configuration");
}

TEST(ConfigurationSchema, RowsAreWrittenByIndex) {
  ExpectWritesByIndex(*NewConfigurationStore(), "configuration");
}

// Profiles never go.
TEST(ConfigurationSchema, WhoIsReferredToGoesByIndex) {
  EXPECT_THAT(
      ReferencesWithoutIndex("configuration"),
      ::testing::ElementsAre("pool_configuration_pending_exists",
                             "pool_configuration_waiting_exists", "pool_revision_profile_exists"));
}

}  // namespace
}  // namespace muster::storage
