#include "services/configuration/core/resolve.h"

#include <gtest/gtest.h>

#include "services/configuration/core/profile.h"
#include "services/configuration/core/test_world.h"

namespace muster::configuration {
namespace {

World Upstream() {
  World world;
  for (const char* version : {"570.86.15", "570.124.06", "570.9.99", "565.200", "58"}) {
    world.Publish(Component::kGpuDriver, version);
  }
  for (const char* version : {"2.9.1", "2.10.1"}) world.Publish(Component::kNcoreImage, version);
  for (const char* version : {"1.33", "1.9", "1.32", "1.32.5"}) {
    world.Publish(Component::kKubernetes, version);
  }
  (void)world.Run(PublishRelease{Channel::kLatest, Component::kGpuDriver, "580.1"});
  (void)world.Run(PublishRelease{Channel::kLatest, Component::kNcoreImage, "3.0"});
  (void)world.Run(PublishRelease{Channel::kLatest, Component::kKubernetes, "1.34"});
  return world;
}

NodeProfile Content(const Resolution& resolution) {
  NodeProfile profile = resolution.profile;
  EXPECT_EQ(resolution.problem, "");
  EXPECT_EQ(profile.id, ProfileId(profile));
  profile.id.clear();
  return profile;
}

struct Case {
  const char* name = "";
  Spec spec = {};
  NodeProfile profile = {};
};

const Case kFits[] = {
    {"newest by number",
     {.gpu = true},
     {.image = "2.10.1", .gpu_driver = "570.124.06", .kubernetes = "1.33"}},
    {"a major",
     {.gpu_version = "565", .gpu = true},
     {.image = "2.10.1", .gpu_driver = "565.200", .kubernetes = "1.33"}},
    {"a major is a whole number",
     {.gpu_version = "58", .gpu = true},
     {.image = "2.10.1", .gpu_driver = "58", .kubernetes = "1.33"}},
    {"no GPU, no driver", {.gpu_version = "565"}, {.image = "2.10.1", .kubernetes = "1.33"}},
    {"the cluster's Kubernetes", {.kubernetes = "1.9"}, {.image = "2.10.1", .kubernetes = "1.9"}},
    {"the newest patch of it", {.kubernetes = "1.32"}, {.image = "2.10.1", .kubernetes = "1.32.5"}},
    {"a kernel wins over gpu",
     {.image_kernel = "6.5", .gpu_version = "565", .gpu = true},
     {.image = "2.10.1", .kernel = "6.5", .gpu_driver = "570.124.06", .kubernetes = "1.33"}},
    {"a train wins over gpu",
     {.release_train = Channel::kLatest, .gpu_version = "565", .gpu = true},
     {.image = "3.0",
      .release_train = Channel::kLatest,
      .gpu_driver = "580.1",
      .kubernetes = "1.34"}},
    {"a name wins over all",
     {.image_name = "mine",
      .image_kernel = "6.5",
      .release_train = Channel::kLatest,
      .gpu_version = "565",
      .gpu = true},
     {.image = "mine", .gpu_driver = "570.124.06", .kubernetes = "1.33"}},
};

TEST(ResolveTest, TheNewestThatFits) {
  const World world = Upstream();
  for (const Case& row : kFits) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(Content(Resolve(world.state, WantsOf(row.spec))), row.profile);
  }
}

TEST(ResolveTest, SaysWhatIsMissing) {
  const World world = Upstream();
  const auto problem = [&](const Spec& spec) {
    return Resolve(world.state, WantsOf(spec)).problem;
  };
  EXPECT_EQ(problem({.gpu_version = "999", .gpu = true}),
            "No release of gpu-driver 999 in channel stable.");
  // 571 lies between what there is.
  EXPECT_EQ(problem({.gpu_version = "571", .gpu = true}),
            "No release of gpu-driver 571 in channel stable.");
  EXPECT_EQ(problem({.gpu_version = "0", .gpu = true, .kubernetes = "1.33.1"}),
            "No release of gpu-driver 0 in channel stable. No release of kubernetes 1.33.1 in "
            "channel stable.");
  EXPECT_EQ(
      Resolve(State(), {}).problem,
      "No release of ncore-image in channel stable. No release of kubernetes in channel stable.");
}

TEST(ResolveTest, AnIdNeverChangesItsContent) {
  World world = Upstream();
  const Wants wants = WantsOf({.gpu = true});
  NodeProfile other = Resolve(world.state, wants).profile;
  other.kernel = "something else";
  world.state.Apply({other.Key(), std::make_shared<const NodeProfile>(other)}, 99);
  EXPECT_EQ(Resolve(world.state, wants).problem,
            absl::StrCat("The id ", other.id, " already stands for another content."));
}

TEST(ResolveTest, AWithdrawnReleaseIsResolvedNoMore) {
  World world = Upstream();
  const Wants wants = WantsOf({.gpu_version = "570", .gpu = true});
  const Resolution before = Resolve(world.state, wants);
  EXPECT_EQ(before.profile.gpu_driver, "570.124.06");
  world.Withdraw(Component::kGpuDriver, "570.124.06");
  EXPECT_EQ(Resolve(world.state, wants).profile.gpu_driver, "570.86.15");
  world.Publish(Component::kGpuDriver, "570.124.06");
  EXPECT_EQ(Resolve(world.state, wants), before);
  for (const char* version : {"570.86.15", "570.124.06", "570.9.99"}) {
    world.Withdraw(Component::kGpuDriver, version);
  }
  EXPECT_EQ(Resolve(world.state, wants).problem, "No release of gpu-driver 570 in channel stable.");
}

}  // namespace
}  // namespace muster::configuration
