#pragma once

// For tests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/capacity/core/audit.h"
#include "services/capacity/core/testing/world.h"

namespace muster::capacity {

// Claims against a catalogue; the books are right at the end.
class ClaimsTest : public ::testing::Test {
 protected:
  ClaimsTest() { world_.AddCatalogue(); }
  ~ClaimsTest() override { EXPECT_THAT(Audit(world_.state()), ::testing::IsEmpty()); }

  // Each request so long after the one before.
  ClaimView Sync(const SyncClaim& claim, absl::Duration step = absl::Minutes(1)) {
    const absl::StatusOr<ClaimView> view = world_.Do(claim);
    EXPECT_TRUE(view.ok()) << view.status();
    world_.Advance(step);
    return view.ok() ? *view : ClaimView{};
  }

  World world_;
};

}  // namespace muster::capacity
