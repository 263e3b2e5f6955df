#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "services/musterctl/client/api.h"
#include "services/musterctl/client/testing/fake_server.h"

namespace muster::musterctl {

// For tests: an Api that calls a FakeServer.
class ApiTest : public ::testing::Test {
 protected:
  quota::v1::Quota Quota(const std::string& zone, int64_t limit) {
    quota::v1::Quota quota;
    quota.set_name(absl::StrCat("organizations/acme/quotas/", zone, "~t~default"));
    quota.set_limit(limit);
    return quota;
  }
  Outcome ApplyOutcome(const Resource& resource, bool dry_run = false) {
    const auto applied = api_->Apply(resource, dry_run);
    EXPECT_TRUE(applied.ok()) << applied.status();
    return applied.ok() ? applied->outcome : Outcome::kUnchanged;
  }

  FakeServer server_;
  std::unique_ptr<Api> api_ =
      Api::Create({.server = server_.address(), .scope = {"acme", "example"}});
};

}  // namespace muster::musterctl
