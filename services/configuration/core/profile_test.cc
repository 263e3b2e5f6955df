#include "services/configuration/core/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace muster::configuration {
namespace {

using ::testing::ElementsAre;
using ::testing::MatchesRegex;

const NodeProfile kProfile = {.image = "2.10.1", .gpu_driver = "570.86.15", .kubernetes = "1.33"};

using Change = std::function<void(NodeProfile&)>;
const Change kChanges[] = {
    [](NodeProfile& p) { p.image = "2.10.2"; },
    [](NodeProfile& p) { p.kernel = "6.5"; },
    [](NodeProfile& p) { p.release_train = Channel::kLatest; },
    [](NodeProfile& p) { p.gpu_driver = ""; },
    [](NodeProfile& p) { p.kubernetes = "1.34"; },
    // What stands in one field must not read as another.
    [](NodeProfile& p) { p.image = "", p.kernel = "2.10.1"; },
};

TEST(ProfileIdTest, NeverChanges) {
  // Ids are stored and named by people: this value is a promise.
  EXPECT_EQ(ProfileId(kProfile), "np-babb6b3b4777");
  EXPECT_THAT(ProfileId(NodeProfile{}), MatchesRegex("np-[0-9a-f]{12}"));
}

TEST(ProfileIdTest, IsTheContents) {
  std::set<std::string> ids = {ProfileId(kProfile)};
  for (const Change& change : kChanges) {
    NodeProfile other = kProfile;
    change(other);
    EXPECT_TRUE(ids.insert(ProfileId(other)).second);
  }
  NodeProfile named = kProfile;
  named.id = "np-something";
  EXPECT_EQ(ProfileId(named), ProfileId(kProfile));
}

TEST(SummaryTest, FirstOneStatesFacts) {
  EXPECT_THAT(Summary(nullptr, kProfile),
              ElementsAre("ncore image 2.10.1", "GPU driver 570.86.15", "Kubernetes 1.33"));
  const NodeProfile cpu = {.image = "mine:7", .kernel = "6.5", .kubernetes = "1.33"};
  EXPECT_THAT(Summary(nullptr, cpu), ElementsAre("image mine:7", "kernel 6.5", "Kubernetes 1.33"));
  const NodeProfile latest = {
      .image = "3", .release_train = Channel::kLatest, .kubernetes = "1.33"};
  EXPECT_THAT(Summary(nullptr, latest),
              ElementsAre("ncore image 3", "release train latest", "Kubernetes 1.33"));
}

TEST(SummaryTest, LaterOnesShowWhatDiffers) {
  NodeProfile next = kProfile;
  next.gpu_driver = "570.124.06";
  EXPECT_THAT(
      Summary(&kProfile, next),
      ElementsAre("ncore image 2.10.1", "GPU driver 570.86.15 → 570.124.06", "Kubernetes 1.33"));
  next = {
      .image = "mine", .kernel = "6.5", .release_train = Channel::kLatest, .kubernetes = "1.34"};
  EXPECT_THAT(Summary(&kProfile, next),
              ElementsAre("image 2.10.1 → mine", "kernel 6.5", "release train stable → latest",
                          "GPU driver 570.86.15 → none", "Kubernetes 1.33 → 1.34"));
  EXPECT_THAT(Summary(&next, kProfile),
              ElementsAre("image mine → 2.10.1", "kernel 6.5 → the image's own",
                          "release train latest → stable", "GPU driver 570.86.15",
                          "Kubernetes 1.34 → 1.33"));
}

}  // namespace
}  // namespace muster::configuration
