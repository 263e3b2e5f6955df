// Random histories: what must hold after every command, whatever came before.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "services/configuration/core/limits.h"
#include "services/configuration/core/profile.h"
#include "services/configuration/core/resolve.h"
#include "services/configuration/core/test_world.h"

namespace muster::configuration {
namespace {

constexpr int kHistories = 2'000;
constexpr int kSteps = 30;

class History {
 public:
  explicit History(uint64_t seed) : random_(seed) {}

  void Step() {
    world_.now += absl::Seconds(Pick(3));
    const State before = world_.state;
    if (Pick(3) == 0) {
      StepPublish(before);
    } else {
      StepSync(before);
    }
    CheckState();
    CheckReplay();
  }

  void Finish() {
    while (world_.revision > 0 && !world_.journal.empty()) {
      // Revisions have no gaps.
      EXPECT_EQ(world_.journal.back().revision, static_cast<int64_t>(world_.journal.size()));
      world_.journal.pop_back();
    }
  }

 private:
  int Pick(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }
  template <class T, size_t N>
  T PickOf(const T (&values)[N]) {
    return values[Pick(static_cast<int>(N))];
  }

  void StepPublish(const State& before) {
    static const std::string kVersions[] = {"1",          "1.9",       "1.33",  "1.34", "570.86.15",
                                            "570.124.06", "570.124.6", "580.1", "565",  "2.10.1"};
    const PublishRelease command = {
        PickOf({Channel::kStable, Channel::kStable, Channel::kLatest}),
        PickOf({Component::kGpuDriver, Component::kNcoreImage, Component::kKubernetes}),
        PickOf(kVersions)};
    (void)world_.Run(command);
    // An upstream release stages nothing but first profiles, under Always, or at the end of a
    // problem.
    for (const auto& [key, row] : world_.state.table<PoolConfiguration>().rows()) {
      const PoolConfiguration& was = *before.table<PoolConfiguration>().Find(key);
      if (row.row->active() == was.active() || was.active().empty()) continue;
      const bool held_up = was.spec.strategy == Strategy::kOnSpecUpdate && !was.problem.empty();
      EXPECT_TRUE(was.spec.strategy == Strategy::kAlways || held_up);
    }
    CheckWrittenRowsDiffer(before);
    (void)world_.Run(command);
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
      EXPECT_TRUE(SameState(before, world_.state));
      return;
    }
    ASSERT_TRUE(answer.ok());
    if (command.release) {
      EXPECT_EQ(is, nullptr);
    } else {
      EXPECT_EQ(*answer, *is);
      EXPECT_EQ(is->generation, command.generation);
      EXPECT_EQ(is->spec, command.spec);
      if (was != nullptr && !was->active().empty() && command.spec.strategy == Strategy::kManual) {
        EXPECT_EQ(is->active(), was->active());
      }
      if (command.spec.strategy == Strategy::kAlways) {
        EXPECT_FALSE(is->has_pending());
      }
    }
    CheckWrittenRowsDiffer(before);
    // Twice has the effect of once.
    world_.now += absl::Seconds(1);
    (void)world_.Run(command);
    EXPECT_EQ(world_.written, 0u);
  }

  SyncPool AnySync() {
    static const std::string kPools[] = {"a", "b", "c", "d", "e"};
    static const std::string kImages[] = {"", "", "", "mine", "2.10.1"};
    static const std::string kKernels[] = {"", "", "", "6.5"};
    static const std::string kMajors[] = {"", "570", "580", "999"};
    static const std::string kClusters[] = {"", "1.33", "1.34", "1"};
    const std::string uid = PickOf(kPools);
    const PoolConfiguration* known = world_.Pool(uid);
    const int64_t last = known == nullptr ? 1 : known->generation;
    return {
        .pool_uid = uid,
        .generation = std::max<int64_t>(1, last + Pick(4) - 1),
        .spec = {.image_name = PickOf(kImages),
                 .image_kernel = PickOf(kKernels),
                 .release_train = PickOf({Channel::kStable, Channel::kStable, Channel::kLatest}),
                 .gpu_version = PickOf(kMajors),
                 .gpu = Pick(4) != 0,
                 .kubernetes = PickOf(kClusters),
                 .strategy =
                     PickOf({Strategy::kManual, Strategy::kOnSpecUpdate, Strategy::kAlways})},
        .release = Pick(12) == 0};
  }

  // No row was written as it was, and profiles and releases only come.
  void CheckWrittenRowsDiffer(const State& before) {
    std::set<std::string> seen;
    for (size_t i = world_.journal.size() - world_.written; i < world_.journal.size(); ++i) {
      const State::Change& change = world_.journal[i].change;
      EXPECT_TRUE(seen.insert(change.key).second) << change.key << " written twice";
      if (const auto* row = std::get_if<std::shared_ptr<const PoolConfiguration>>(&change.row)) {
        const PoolConfiguration* was = before.table<PoolConfiguration>().Find(change.key);
        EXPECT_FALSE(*row != nullptr && was != nullptr && **row == *was);
      } else {
        EXPECT_FALSE(change.deleted());
      }
    }
  }

  void CheckState() {
    std::map<std::string, std::string> contents;
    for (const auto& [key, row] : world_.state.table<NodeProfile>().rows()) {
      EXPECT_EQ(row.row->id, ProfileId(*row.row));
    }
    size_t followers = 0;
    for (const auto& [wants, pools] : world_.state.followers()) followers += pools.size();
    EXPECT_EQ(followers, world_.state.table<PoolConfiguration>().size());
    for (const auto& [key, row] : world_.state.table<PoolConfiguration>().rows())
      CheckPool(*row.row);
  }

  void CheckPool(const PoolConfiguration& pool) {
    SCOPED_TRACE(pool.Key());
    const Resolution wanted = Resolve(world_.state, WantsOf(pool.spec));
    EXPECT_EQ(pool.problem, wanted.problem);
    if (pool.problem.empty()) {
      // What is active, or waits, is the newest answer.
      EXPECT_EQ(pool.has_pending() ? pool.pending.node_profile : pool.active(), wanted.profile.id);
      EXPECT_NE(pool.pending.node_profile, pool.active());
      EXPECT_FALSE(pool.active().empty());
      CheckNewest(wanted.profile, pool.spec);
    } else {
      EXPECT_FALSE(pool.has_pending());
    }
    std::set<std::string> profiles;
    absl::Time last = absl::InfinitePast();
    for (const Revision& revision : pool.revisions) {
      EXPECT_TRUE(profiles.insert(revision.node_profile).second);
      EXPECT_NE(world_.Profile(revision.node_profile), nullptr);
      EXPECT_FALSE(revision.summary.empty());
      EXPECT_LE(last, revision.create_time);
      last = revision.create_time;
    }
    if (pool.has_pending()) {
      EXPECT_NE(world_.Profile(pool.pending.node_profile), nullptr);
    }
  }

  // By hand, over all releases: nothing newer would fit.
  void CheckNewest(const NodeProfile& profile, const Spec& spec) {
    for (const auto& [key, row] : world_.state.table<Release>().rows()) {
      const Release& release = *row.row;
      if (release.channel != profile.release_train) continue;
      const Version version = *ParseVersion(release.version);
      const auto not_newer = [&](const std::string& chosen) {
        const Version other = *ParseVersion(chosen);
        EXPECT_TRUE(version.numbers < other.numbers ||
                    (version.numbers == other.numbers && version.text <= other.text))
            << release.version << " is newer than " << chosen;
      };
      if (release.component == Component::kNcoreImage && spec.image_name.empty()) {
        not_newer(profile.image);
      }
      if (release.component == Component::kGpuDriver && spec.gpu) {
        const bool image = !spec.image_name.empty() || !spec.image_kernel.empty() ||
                           spec.release_train != Channel::kStable;
        const bool fits =
            image || spec.gpu_version.empty() || version.numbers[0] == std::stoll(spec.gpu_version);
        if (fits) not_newer(profile.gpu_driver);
      }
      if (release.component == Component::kKubernetes &&
          absl::string_view(release.version + ".").substr(0, spec.kubernetes.size() + 1) ==
              (spec.kubernetes.empty() ? release.version.substr(0, 1) : spec.kubernetes + ".")) {
        not_newer(profile.kubernetes);
      }
    }
  }

  // The journal alone gives the same state.
  void CheckReplay() {
    for (; replayed_ < world_.journal.size(); ++replayed_) {
      replica_.Apply(world_.journal[replayed_].change, world_.journal[replayed_].revision);
    }
    EXPECT_TRUE(SameState(replica_, world_.state));
  }

  std::mt19937_64 random_;
  World world_;
  State replica_;
  size_t replayed_ = 0;
};

TEST(HistoryTest, RandomHistories) {
  for (int seed = 0; seed < kHistories && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    History history(static_cast<uint64_t>(seed));
    for (int step = 0; step < kSteps && !::testing::Test::HasFailure(); ++step) history.Step();
    history.Finish();
  }
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
    ids.insert(world.Pool("p")->active());
  }
  EXPECT_EQ(ids.size(), 1u);
}

}  // namespace
}  // namespace muster::configuration
