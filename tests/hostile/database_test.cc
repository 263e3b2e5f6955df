// What callers are told of a database that refuses or is away: nothing of the database.
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/hostile/worst_requests.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/raw_call.h"

namespace muster::testing {
namespace {

constexpr char kUpdateCluster[] = "/muster.lifecycle.v1.LifecycleService/UpdateCluster";

void ExpectNothingTold(MiniMuster& muster, const std::string& when) {
  lifecycle::v1::UpdateClusterRequest request;
  request.mutable_cluster()->set_name("organizations/acme/clusters/c9");
  request.mutable_cluster()->set_zone("RNO2A");
  const grpc::Status status =
      CallRaw(muster.channel(), kUpdateCluster, request.SerializeAsString());
  EXPECT_FALSE(status.ok()) << when;
  for (const char* word : {"SQLSTATE", "FATAL", "ERROR", "relation", "permission", "socket", "/tmp",
                           "journal", "muster_", "role", "password"}) {
    EXPECT_FALSE(absl::StrContains(status.error_message(), word))
        << when << ": " << status.error_message();
  }
}

TEST(HostileDatabase, CallersHearNothingOfIt) {
  MiniMuster muster({.own_cluster = true, .audit_books = false});
  muster.database().Execute("REVOKE INSERT ON lifecycle.journal FROM muster_lifecycle");
  ExpectNothingTold(muster, "not permitted");
  muster.database().Execute("GRANT INSERT ON lifecycle.journal TO muster_lifecycle");
  muster.cluster().Stop(PostgresCluster::StopMode::kFast);
  for (int i = 0; i < 5; ++i) ExpectNothingTold(muster, "away");
  muster.cluster().Start();
}

}  // namespace
}  // namespace muster::testing
