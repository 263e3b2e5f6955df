#include "services/rpc/watch_wire.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "tests/testing/status_matchers.h"

namespace muster::rpc {
namespace {

using ::muster::testing::HasReason;
using ::muster::testing::IsOk;

struct Options {
  std::optional<int64_t> after_revision = {};
};

std::shared_ptr<const access::Scope> Of(void (*add)(access::Scope&)) {
  auto scope = std::make_shared<access::Scope>();
  add(*scope);
  return scope;
}

// What is gone names no zone: who sees some zones alone and was away for long begins anew.
TEST(WatchWireTest, WhoSeesZonesResumesAsFarAsTheyAreKnown) {
  const auto zones = Of([](access::Scope& scope) { scope.AddZone("US-EAST-04A"); });
  const auto organization = Of([](access::Scope& scope) { scope.AddOrganization("acme"); });
  EXPECT_THAT(CheckResume(Options{99}, zones, 100), HasReason("REVISION_COMPACTED"));
  EXPECT_THAT(CheckResume(Options{100}, zones, 100), IsOk());
  EXPECT_THAT(CheckResume(Options{}, zones, 100), IsOk()) << "a snapshot";
  EXPECT_THAT(CheckResume(Options{99}, organization, 100), IsOk());
  EXPECT_THAT(CheckResume(Options{99}, nullptr, 100), IsOk()) << "he sees all";
}

}  // namespace
}  // namespace muster::rpc
