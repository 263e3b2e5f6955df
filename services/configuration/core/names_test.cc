#include "services/configuration/core/names.h"

#include <gtest/gtest.h>

namespace muster::configuration {
namespace {

TEST(NamesTest, ReleaseNamesGoBothWays) {
  for (const Channel channel : {Channel::kStable, Channel::kLatest}) {
    for (const Component component : {Component::kGpuDriver, Component::kNcoreImage,
                                      Component::kKubernetes, Component::kKernel}) {
      const Release release = {.channel = channel, .component = component, .version = "570.124.06"};
      EXPECT_EQ(ParseReleaseName(release.Key()), release);
    }
  }
  EXPECT_EQ((Release{.version = "570.1"}).Key(),
            "channels/stable/components/gpu-driver/releases/570.1");
  // Images and kernels may have names.
  for (const Component component : {Component::kNcoreImage, Component::kKernel}) {
    const Release release = {.component = component, .version = "6.5.13-65_x:y+z"};
    EXPECT_EQ(ParseReleaseName(release.Key()), release);
  }
}

TEST(NamesTest, RefusesOtherReleaseNames) {
  for (const char* bad : {"", "channels/beta/components/gpu-driver/releases/1",
                          "channels/stable/components/cpu/releases/1",
                          "channels/stable/components/gpu-driver/releases/",
                          "channels/stable/components/gpu-driver/releases/x",
                          "channels/stable/components/kubernetes/releases/1.33-x",
                          "channels/stable/components/kernel/releases/-6.5",
                          "channels/stable/components/ncore-image/releases/mine~7",
                          "channels/stable/components/gpu-driver/releases/1/",
                          "/channels/stable/components/gpu-driver/releases/1",
                          "channels/Stable/components/gpu-driver/releases/1"}) {
    EXPECT_FALSE(ParseReleaseName(bad).has_value()) << bad;
  }
}

TEST(NamesTest, ProfilesAndPools) {
  EXPECT_EQ(ParseNodeProfileName("nodeProfiles/np-0123456789ab"), "np-0123456789ab");
  for (const char* bad : {"", "nodeProfiles/", "nodeProfiles/np-", "nodeProfiles/np-0123456789aB",
                          "nodeProfiles/np-0123456789abc", "nodeProfiles/0123456789ab",
                          "nodeProfiles/np-0123456789a", "np-0123456789ab"}) {
    EXPECT_FALSE(ParseNodeProfileName(bad).has_value()) << bad;
  }
  EXPECT_EQ(ParsePoolConfigurationName("poolConfigurations/p-1"), "p-1");
  for (const char* bad :
       {"", "poolConfigurations/", "poolConfigurations/P", "poolConfigurations/a/b"}) {
    EXPECT_FALSE(ParsePoolConfigurationName(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace muster::configuration
