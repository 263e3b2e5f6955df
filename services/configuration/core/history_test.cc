// Random histories: what must hold after every command, whatever came before.
#include "services/configuration/core/testing/history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "services/common/error.h"
#include "services/common/testing/fake_memory.h"
#include "services/configuration/core/profile.h"
#include "services/configuration/core/resolve.h"
#include "services/configuration/core/testing/world.h"

namespace muster::configuration {
namespace {

constexpr int kHistories = 10'000;
constexpr int kSteps = 40;

const std::string kPools[] = {"a", "b", "c"};

class History {
 public:
  explicit History(uint64_t seed) : random_(seed) {
    world_.policy.boot_failures_to_disable = 2;
    // Mostly there is something to boot from the start.
    if (Pick(5) == 0) return;
    world_.PublishBasics();
    world_.Publish(Component::kNcoreImage, "mine");
    for (const Channel channel : {Channel::kStable, Channel::kLatest})
      world_.Settled(PublishRelease{channel, Component::kKernel, "6.5"});
  }

  void Step() {
    world_.now += absl::Seconds(Pick(3));
    world_.written = 0;
    const State before = world_.state;
    switch (Pick(9)) {
      case 8:
        StepLate();
        break;
      case 0:
      case 1:
        StepRelease(before);
        break;
      case 2:
        StepSettle(before);
        break;
      case 3:
      case 4:
        StepOrder();
        break;
      case 5:
        StepEnable();
        break;
      default:
        StepSync(before);
    }
    for (const auto& [key, row] : world_.state.table<PoolConfiguration>().rows()) {
      SCOPED_TRACE(key);
      CheckPool(world_, *row.row);
      const PoolConfiguration* was = before.table<PoolConfiguration>().Find(key);
      if (was != nullptr) CheckChange(*was, *row.row);
    }
    CheckWrittenRowsDiffer(before);
  }

  void Finish() {
    (void)world_.SettleAll();
    EXPECT_TRUE(UnsettledPools(FakeMemory(world_.state)).empty());
    for (const auto& [key, row] : world_.state.table<PoolConfiguration>().rows()) {
      SCOPED_TRACE(key);
      CheckPool(world_, *row.row);
      CheckSettled(world_, *row.row);
    }
    for (const auto& [key, row] : world_.state.table<NodeProfile>().rows()) {
      EXPECT_EQ(row.row->id, ProfileId(*row.row));
    }
    // The journal alone gives the same state, and its revisions have no gaps.
    State replica;
    int64_t revision = 0;
    for (const auto& entry : world_.journal) {
      EXPECT_EQ(entry.revision, ++revision);
      replica.Apply(entry.change, entry.revision);
    }
    EXPECT_TRUE(SameState(replica, world_.state));
  }

 private:
  int Pick(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }
  template <class T, size_t N>
  T PickOf(const T (&values)[N]) {
    return values[Pick(static_cast<int>(N))];
  }

  // A release that comes or goes is one row, and none the second time.
  void StepRelease(const State& before) {
    static const std::string kVersions[4][5] = {
        {"570.86.15", "570.124.06", "570.124.6", "580.1", "565"},
        {"2.9", "2.10.1", "mine", "3", "3.0"},
        {"1", "1.9", "1.33", "1.34", "1.33.4"},
        {"6.5", "6.5", "6.5-a", "6.8", "6.8"}};
    const auto channel = PickOf({Channel::kStable, Channel::kStable, Channel::kLatest});
    const auto component = PickOf({Component::kGpuDriver, Component::kNcoreImage,
                                   Component::kKubernetes, Component::kKernel});
    const std::string version = PickOf(kVersions[static_cast<size_t>(component)]);
    const std::string key = ReleaseName(channel, component, version);
    const Release* known = before.table<Release>().Find(key);
    const bool withdraw = Pick(4) == 0;
    const bool news = withdraw ? known != nullptr && !known->withdraw_time
                               : known == nullptr || known->withdraw_time.has_value();
    for (int i = 0; i < 2; ++i) {
      if (withdraw) {
        EXPECT_EQ(world_.Run(WithdrawRelease{channel, component, version}).ok(), known != nullptr);
      } else {
        EXPECT_TRUE(world_.Run(PublishRelease{channel, component, version}).ok());
      }
      EXPECT_EQ(world_.written, news && i == 0 ? 1u : 0u);
    }
    if (Pick(3) != 0) return;
    const State with_it = world_.state;
    StepSettle(with_it);
  }

  void StepSettle(const State& before) {
    (void)world_.SettleAll(1 + static_cast<size_t>(Pick(3)));
    EXPECT_TRUE(UnsettledPools(FakeMemory(world_.state)).empty());
    // Upstream stages nothing but first profiles, under Always, or at the end of a problem that
    // held up the spec; and in the place of what an order made wait, or of what is withdrawn.
    for (const auto& [key, row] : world_.state.table<PoolConfiguration>().rows()) {
      CheckSettled(world_, *row.row);
      const PoolConfiguration* was = before.table<PoolConfiguration>().Find(key);
      if (was == nullptr || was->active().empty()) continue;
      const bool stages = was->spec.strategy == Strategy::kAlways ||
                          (was->spec.strategy == Strategy::kOnSpecUpdate && was->spec_unmet);
      EXPECT_TRUE(stages || row.row->active() == was->active());
      EXPECT_TRUE(stages || WaitingOrder(*was) != nullptr || !row.row->has_waiting() ||
                  row.row->waiting == was->waiting ||
                  IsWithdrawn(world_.state, was->waiting.node_profile));
    }
    (void)world_.SettleAll();
    EXPECT_EQ(world_.written, 0u);
  }

  void StepSync(const State& before) {
    const SyncPool command = AnySync();
    const PoolConfiguration* was =
        before.table<PoolConfiguration>().Find(PoolConfigurationName(command.pool_uid));
    const auto answer = world_.Run(command);
    const PoolConfiguration* is = world_.Pool(command.pool_uid);
    if (was != nullptr && command.generation < was->generation) {
      EXPECT_EQ(answer.status().code(), absl::StatusCode::kAborted);
      EXPECT_EQ(world_.written, 0u);
      return;
    }
    ASSERT_TRUE(answer.ok());
    if (command.release) {
      EXPECT_EQ(is, nullptr);
      EXPECT_NE(FindReleased(world_.state, command.pool_uid), nullptr);
      return;
    }
    EXPECT_EQ(*answer, *is);
    EXPECT_EQ(is->generation, command.generation);
    EXPECT_EQ(is->spec, command.spec);
    EXPECT_EQ(is->mid_delivery, command.nodes_in_delivery > 0);
    SCOPED_TRACE(was == nullptr ? "new" : Describe(*was));
    SCOPED_TRACE(Describe(*is));
    CheckSettled(world_, *is);
    if (was != nullptr && is->active() != was->active() && !was->active().empty()) {
      EXPECT_TRUE(command.spec.strategy != Strategy::kManual || was->has_waiting());
    }
    // Twice has the effect of once.
    const size_t written = world_.written;
    world_.now += absl::Seconds(1);
    (void)world_.Run(command);
    EXPECT_EQ(world_.written, 0u);
    world_.written = written;
  }

  void StepOrder() {
    const std::string uid = AnyPool();
    const PoolConfiguration* known = world_.Pool(uid);
    const OrderKind kind = PickOf({OrderKind::kPromote, OrderKind::kRollback});
    OrderPool command = {uid, kind, kind == OrderKind::kPromote ? "pending" : "previous"};
    if (known != nullptr && Pick(2) == 0) {
      command.requested = known->pending.node_profile;
      const int revisions = static_cast<int>(known->revisions.size());
      if (command.requested.empty() || Pick(2) == 0) {
        command.requested =
            revisions == 0 ? "np-000000000000"
                           : known->revisions[static_cast<size_t>(Pick(revisions))].node_profile;
      }
    }
    const PoolConfiguration was = known == nullptr ? PoolConfiguration() : *known;
    const auto answer = world_.Run(command);
    EXPECT_EQ(answer.ok(), known != nullptr);
    if (!answer.ok()) return;
    const PoolConfiguration& pool = answer->pool;
    EXPECT_EQ(pool, *world_.Pool(uid));
    CheckSettled(world_, pool);
    EXPECT_FALSE(pool.orders.empty());
    if (!answer->refusal.ok()) {
      EXPECT_EQ(answer->refusal.code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_GT(pool.orders.back().number, was.orders.empty() ? 0 : was.orders.back().number);
    } else if (world_.written == 0) {
      EXPECT_NE(WaitingOrder(pool), nullptr);
    } else {
      ++carried_;
      const std::string to = pool.orders.back().node_profile;
      EXPECT_FALSE(IsDisabled(pool, to));
      EXPECT_NE(to, was.active());
    }
  }

  void StepEnable() {
    const std::string uid = AnyPool();
    const PoolConfiguration* known = world_.Pool(uid);
    if (known == nullptr || known->revisions.empty()) return;
    const Revision was =
        known->revisions[static_cast<size_t>(Pick(static_cast<int>(known->revisions.size())))];
    const auto pool = world_.Run(EnableRevision{uid, was.node_profile});
    ASSERT_TRUE(pool.ok());
    const Revision* is = FindRevision(*pool, was.node_profile);
    ASSERT_NE(is, nullptr);
    EXPECT_FALSE(is->disabled);
    EXPECT_EQ(is->enable_count, was.enable_count + (was.disabled ? 1 : 0));
    enabled_ += was.disabled ? 1 : 0;
  }

  Spec AnySpec() {
    static const std::string kImages[] = {"", "", "", "mine", "2.10.1"};
    static const std::string kKernels[] = {"", "", "", "6.5"};
    static const std::string kMajors[] = {"", "", "570", "580", "999"};
    static const std::string kClusters[] = {"", "1.33", "1.34", "1"};
    return {.image_name = PickOf(kImages),
            .image_kernel = PickOf(kKernels),
            .release_train = PickOf({Channel::kStable, Channel::kStable, Channel::kLatest}),
            .gpu_version = PickOf(kMajors),
            .gpu = Pick(4) != 0,
            .kubernetes = PickOf(kClusters),
            .strategy = PickOf({Strategy::kManual, Strategy::kOnSpecUpdate, Strategy::kAlways})};
  }

  BootFailures AnyFailures(const PoolConfiguration& pool) {
    if (pool.revisions.empty()) return {.node_profile = "np-000000000000", .machines = {"x", "y"}};
    const Revision& revision =
        pool.revisions[static_cast<size_t>(Pick(static_cast<int>(pool.revisions.size())))];
    BootFailures failures = {revision.node_profile, revision.enable_count - Pick(2), {"x"}};
    if (Pick(2) == 0) failures.machines.push_back("y");
    return failures;
  }

  // A pool of today: once it was released, its name stands for another with a new uid.
  std::string AnyPool() {
    const std::string name = PickOf(kPools);
    while (FindReleased(world_.state, absl::StrCat(name, lives_[name])) != nullptr) ++lives_[name];
    return absl::StrCat(name, lives_[name]);
  }

  // What comes too late for a pool that was released before.
  void StepLate() {
    const auto& released = world_.state.released().uids();
    if (released.empty()) return;
    const auto it = std::next(released.begin(), Pick(static_cast<int>(released.size())));
    SyncPool late = AnySync();
    late.pool_uid = it->second;
    late.generation = 1 + Pick(9);
    const auto answer = world_.Run(late);
    EXPECT_EQ(world_.written, 0u);
    EXPECT_EQ(world_.Pool(late.pool_uid), nullptr);
    if (late.release) {
      EXPECT_TRUE(answer.ok());
    } else {
      ++late_;
      EXPECT_EQ(error::ReasonOf(answer.status()), "POOL_RELEASED");
    }
    EXPECT_FALSE(world_.Run(OrderPool{late.pool_uid, OrderKind::kPromote, "pending"}).ok());
    EXPECT_FALSE(world_.Run(EnableRevision{late.pool_uid, "np-000000000000"}).ok());
    EXPECT_EQ(world_.Run(SettlePools{{PoolConfigurationName(late.pool_uid)}}), 0u);
  }

  SyncPool AnySync() {
    const std::string uid = AnyPool();
    const PoolConfiguration* known = world_.Pool(uid);
    const int64_t last = known == nullptr ? 1 : known->generation;
    // Mostly the spec stays as it was, so that there is time for the rest.
    Spec spec = known != nullptr && Pick(2) == 0 ? known->spec : AnySpec();
    return {.pool_uid = uid,
            .generation = std::max<int64_t>(1, last + Pick(4) - 1),
            .spec = std::move(spec),
            .release = Pick(12) == 0,
            .nodes_in_delivery = Pick(2) * Pick(3),
            .boot_failures = known == nullptr || Pick(3) != 0
                                 ? std::nullopt
                                 : std::optional<BootFailures>(AnyFailures(*known))};
  }

  // No row was written as it was, and profiles and releases only come.
  void CheckWrittenRowsDiffer(const State& before) {
    for (size_t i = world_.journal.size() - world_.written; i < world_.journal.size(); ++i) {
      const State::Change& change = world_.journal[i].change;
      if (const auto* row = std::get_if<std::shared_ptr<const PoolConfiguration>>(&change.row)) {
        const PoolConfiguration* was = before.table<PoolConfiguration>().Find(change.key);
        EXPECT_FALSE(*row != nullptr && was != nullptr && **row == *was);
      } else {
        EXPECT_FALSE(change.deleted());  // not even a released uid: a history is short
      }
    }
  }

  std::mt19937_64 random_;
  World world_;
  std::map<std::string, int> lives_ = {};

 public:
  int late_ = 0;
  int carried_ = 0;  // orders
  int enabled_ = 0;
};

TEST(HistoryTest, RandomHistories) {
  int carried = 0;
  int enabled = 0;
  int late = 0;
  for (int seed = 0; seed < kHistories && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    History history(static_cast<uint64_t>(seed));
    for (int step = 0; step < kSteps && !::testing::Test::HasFailure(); ++step) history.Step();
    history.Finish();
    carried += history.carried_;
    enabled += history.enabled_;
    late += history.late_;
  }
  EXPECT_GT(late, kHistories / 5);
  // They did come to something.
  EXPECT_GT(carried, kHistories / 5);
  EXPECT_GT(enabled, kHistories / 30);
}

// Whoever asks, and in whatever order upstream published: the same content has the same id.
TEST(HistoryTest, IdsDoNotDependOnTheOrder) {
  std::mt19937_64 random(7);
  std::vector<std::pair<Component, std::string>> releases = {
      {Component::kGpuDriver, "570.86.15"}, {Component::kGpuDriver, "570.124.06"},
      {Component::kGpuDriver, "570.124.6"}, {Component::kNcoreImage, "2.9"},
      {Component::kNcoreImage, "2.10"},     {Component::kKubernetes, "1.33"},
      {Component::kKubernetes, "1.9"}};
  std::set<std::string> ids;
  for (int i = 0; i < 500; ++i) {
    std::shuffle(releases.begin(), releases.end(), random);
    World world;
    const SyncPool sync = {
        .pool_uid = "p", .generation = 1, .spec = {.gpu = true, .strategy = Strategy::kAlways}};
    if (i % 2 == 0) (void)world.Run(sync);
    for (const auto& [component, version] : releases) world.Publish(component, version);
    if (i % 2 == 1) (void)world.Run(sync);
    (void)world.SettleAll();
    ids.insert(world.Pool("p")->active());
  }
  EXPECT_EQ(ids.size(), 1u);
}

}  // namespace
}  // namespace muster::configuration
