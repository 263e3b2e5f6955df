#include "services/rpc/watch_wire.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tests/testing/status_matchers.h"

namespace muster::rpc {
namespace {

using ::muster::testing::HasReason;
using ::muster::testing::IsOk;

struct WatchOptions {
  std::optional<int64_t> after_revision = {};
  std::string key_prefix = {};
  std::function<bool(absl::string_view key, int64_t revision)> sees = {};
  std::string sees_text = {};
};

std::shared_ptr<const access::Scope> ScopeOf(void (*add)(access::Scope&)) {
  auto scope = std::make_shared<access::Scope>();
  add(*scope);
  return scope;
}

// What is gone names no zone: who sees some zones alone and was away for long begins anew.
TEST(WatchWireTest, WhoSeesZonesResumesAsFarAsTheyAreKnown) {
  const auto zones = ScopeOf([](access::Scope& scope) { scope.AddZone("US-EAST-04A"); });
  const auto organization = ScopeOf([](access::Scope& scope) { scope.AddOrganization("acme"); });
  EXPECT_THAT(CheckResume(WatchOptions{99}, zones, 100), HasReason("REVISION_COMPACTED"));
  EXPECT_THAT(CheckResume(WatchOptions{100}, zones, 100), IsOk());
  EXPECT_THAT(CheckResume(WatchOptions{}, zones, 100), IsOk()) << "a snapshot";
  EXPECT_THAT(CheckResume(WatchOptions{99}, organization, 100), IsOk());
  EXPECT_THAT(CheckResume(WatchOptions{99}, nullptr, 100), IsOk()) << "he sees all";
}

TEST(WatchWireTest, NarrowedWatchesAreToldApartByWhatTheySee) {
  const auto narrowed = [](void (*add)(access::Scope&)) {
    WatchOptions options;
    Narrow(options, ScopeOf(add), [](absl::string_view, int64_t revision) {
      return std::string(revision < 100 ? "US-EAST-04A" : "US-WEST-01A");
    });
    return options;
  };
  const auto acme = [](access::Scope& scope) { scope.AddOrganization("acme"); };
  const auto beta = [](access::Scope& scope) { scope.AddOrganization("beta"); };
  const auto zone = [](access::Scope& scope) { scope.AddZone("US-EAST-04A"); };
  EXPECT_EQ(narrowed(acme).sees_text, narrowed(acme).sees_text);
  EXPECT_NE(narrowed(acme).sees_text, narrowed(beta).sees_text);
  EXPECT_NE(narrowed(acme).sees_text, narrowed(zone).sees_text);
  EXPECT_TRUE(narrowed(acme).sees("organizations/acme/clusters/c1", 100));
  EXPECT_FALSE(narrowed(beta).sees("organizations/acme/clusters/c1", 99));
  EXPECT_TRUE(narrowed(zone).sees("organizations/acme/clusters/c1", 99));
  EXPECT_FALSE(narrowed(zone).sees("organizations/acme/clusters/c1", 100)) << "it is elsewhere";
  EXPECT_EQ(narrowed([](access::Scope&) {}).sees_text, "nowhere") << "never that of all";
}

TEST(WatchWireTest, ANarrowedWatchBeginsWithNothingThatIsAnothers) {
  const auto narrowed = [](void (*add)(access::Scope&), const std::string& prefix) {
    WatchOptions options{.key_prefix = prefix};
    Narrow(options, ScopeOf(add), [](absl::string_view, int64_t) { return std::string(); });
    return options.key_prefix;
  };
  const auto acme = [](access::Scope& scope) { scope.AddOrganization("acme"); };
  const auto zone = [](access::Scope& scope) { scope.AddZone("US-EAST-04A"); };
  EXPECT_EQ(narrowed(acme, ""), "organizations/acme/");
  EXPECT_EQ(narrowed(acme, "organizations/acme/clusters/c1"), "organizations/acme/clusters/c1");
  for (const char* foreign : {"organizations/other/", "organizations/acme-2", "zones/"})
    EXPECT_EQ(narrowed(acme, foreign), kNoKey) << foreign;
  EXPECT_EQ(narrowed(zone, "organizations/other/"), "organizations/other/");
}

}  // namespace
}  // namespace muster::rpc
