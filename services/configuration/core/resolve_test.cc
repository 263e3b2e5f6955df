#include "services/configuration/core/resolve.h"

#include <gtest/gtest.h>

#include "services/configuration/core/profile.h"
#include "services/configuration/core/testing/world.h"

namespace muster::configuration {
namespace {

World Upstream() {
  World world;
  for (const char* version : {"570.86.15", "570.124.06", "570.9.99", "565.200", "58"}) {
    world.Publish(Component::kGpuDriver, version);
  }
  for (const char* version : {"2.9.1", "2.10.1"}) world.Publish(Component::kNcoreImage, version);
  world.Publish(Component::kNcoreImage, "mine");
  for (const char* kernel : {"6.5", "6.5.13-65-650-4141"})
    world.Publish(Component::kKernel, kernel);
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

struct FitCase {
  const char* name = "";
  Spec spec = {};
  NodeProfile profile = {};
};

const FitCase kFits[] = {
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
    {"an older image by its version",
     {.image_name = "2.9.1"},
     {.image = "2.9.1", .kubernetes = "1.33"}},
    {"a kernel with a name",
     {.image_kernel = "6.5.13-65-650-4141"},
     {.image = "2.10.1", .kernel = "6.5.13-65-650-4141", .kubernetes = "1.33"}},
};

TEST(ResolveTest, TheNewestThatFits) {
  const World world = Upstream();
  for (const FitCase& row : kFits) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(Content(Resolve(world.state, WantsOf(row.spec))), row.profile);
  }
}

// "What depends on releases (gpu.version, image.name, kernel, release train that resolve to
// nothing) ... an event that names what there is".
TEST(ResolveTest, SaysWhatIsMissingAndWhatThereIs) {
  World world = Upstream();
  const auto problem = [&](const Spec& spec) {
    return Resolve(world.state, WantsOf(spec)).problem;
  };
  EXPECT_EQ(problem({.gpu_version = "999", .gpu = true}),
            "No release of gpu-driver 999 in channel stable: there are 570, 565, 58.");
  // 571 lies between what there is.
  EXPECT_EQ(problem({.gpu_version = "571", .gpu = true}),
            "No release of gpu-driver 571 in channel stable: there are 570, 565, 58.");
  EXPECT_EQ(problem({.gpu_version = "0", .gpu = true, .kubernetes = "1.33.1"}),
            "No release of gpu-driver 0 in channel stable: there are 570, 565, 58. No release of "
            "kubernetes 1.33.1 in channel stable: there are 1.33, 1.32.5, 1.32, 1.9.");
  EXPECT_EQ(problem({.image_name = "2.9"}),
            "No release of ncore-image 2.9 in channel stable: there are 2.10.1, 2.9.1, mine.");
  EXPECT_EQ(problem({.image_kernel = "5.15"}),
            "No release of kernel 5.15 in channel stable: there are 6.5, 6.5.13-65-650-4141.");
  EXPECT_EQ(problem({.image_kernel = "6.5", .release_train = Channel::kLatest}),
            "No release of kernel 6.5 in channel latest: there is none.");
  (void)world.Run(WithdrawRelease{Channel::kLatest, Component::kNcoreImage, "3.0"});
  EXPECT_EQ(problem({.release_train = Channel::kLatest}),
            "No release of ncore-image in channel latest; channel stable has 2.10.1.");
  for (int minor = 0; minor < 30; ++minor)
    world.Publish(Component::kGpuDriver, absl::StrCat("1", minor, ".1"));
  EXPECT_EQ(problem({.gpu_version = "999", .gpu = true}),
            "No release of gpu-driver 999 in channel stable: there are 570, 565, 129, 128, 127, "
            "126, 125, 124, 123, 122 and more.");
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

TEST(ResolveTest, WhatALaterReleaseSaidOfAProfileIsNoOtherContent) {
  World world = Upstream();
  const Wants wants = WantsOf({.gpu = true});
  NodeProfile told = Resolve(world.state, wants).profile;
  told.later = "\x40\x01";
  world.state.Apply({told.Key(), std::make_shared<const NodeProfile>(told)}, 99);
  EXPECT_EQ(Resolve(world.state, wants).problem, "");
  EXPECT_EQ(Resolve(world.state, wants).profile, told) << "it stays";
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
  EXPECT_EQ(Resolve(world.state, wants).problem,
            "No release of gpu-driver 570 in channel stable: there are 565, 58.");
  world.Withdraw(Component::kNcoreImage, "mine");
  EXPECT_EQ(Resolve(world.state, WantsOf({.image_name = "mine"})).problem,
            "No release of ncore-image mine in channel stable: there are 2.10.1, 2.9.1.");
}

// What the spec leaves open, and what is the cluster's, is no fault of the spec.
TEST(ResolveTest, TellsWhoseProblemItIs) {
  const auto of_spec = [](const Spec& spec) { return Resolve(State(), WantsOf(spec)).of_spec; };
  EXPECT_FALSE(of_spec({}));
  EXPECT_FALSE(of_spec({.gpu = true, .kubernetes = "1.33"}));
  EXPECT_TRUE(of_spec({.gpu_version = "570", .gpu = true}));
  EXPECT_FALSE(of_spec({.gpu_version = "570"})) << "it needs no driver";
  EXPECT_TRUE(of_spec({.image_name = "mine"}));
  EXPECT_TRUE(of_spec({.image_kernel = "6.5"}));
  EXPECT_TRUE(of_spec({.release_train = Channel::kLatest}));
  World world;
  world.PublishBasics();
  world.Withdraw(Component::kKubernetes, "1.33");
  EXPECT_FALSE(Resolve(world.state, WantsOf({.gpu_version = "570", .gpu = true})).of_spec);
}

// "release train that resolve to nothing"
TEST(ResolveTest, WhateverANamedTrainLacksIsTheSpecsProblem) {
  const std::pair<Component, const char*> kOnly[] = {{Component::kNcoreImage, "3.0"},
                                                     {Component::kGpuDriver, "580.1"},
                                                     {Component::kKubernetes, "1.34"}};
  for (const auto& [component, version] : kOnly) {
    SCOPED_TRACE(version);
    World world = Upstream();
    (void)world.Run(WithdrawRelease{Channel::kLatest, component, version});
    const Resolution told =
        Resolve(world.state, WantsOf({.release_train = Channel::kLatest, .gpu = true}));
    EXPECT_NE(told.problem, "");
    EXPECT_TRUE(told.of_spec);
  }
}

}  // namespace
}  // namespace muster::configuration
