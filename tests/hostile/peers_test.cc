// What callers are told while the other services are away: nothing of where these are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/raw_call.h"

namespace muster::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kLifecycle[] = "/muster.lifecycle.v1.LifecycleService/";
constexpr size_t kLifecycleProcess = 3;

// All that a caller gets: answers and errors, as they come over the wire.
std::string Told(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                 const google::protobuf::Message& request) {
  std::string told;
  const auto take = [&](const std::string& answer) {
    absl::StrAppend(&told, answer, "\n");
    return false;
  };
  const grpc::Status status =
      CallRaw(channel, method, request.SerializeAsString(), {.enough = take});
  return absl::StrCat(told, status.error_message(), "\n", status.error_details());
}

void ExpectNoPlaceTold(const std::string& told) {
  EXPECT_THAT(told, AnyOf(HasSubstr("does not answer"), HasSubstr("did not answer")));
  for (const char* word : {"ipv4:", "ipv6:", "unix:", "127.0.0.1", "/tmp/", "SELECT"})
    EXPECT_THAT(told, Not(HasSubstr(word)));
}

TEST(HostilePeers, CallersHearThatOthersAreAwayAndNotWhere) {
  MiniMuster muster({.processes = {"capacity", "quota", "configuration", "lifecycle"}});
  muster.ApplyCatalogue();
  muster.ApplyExample();
  for (size_t process = 0; process < kLifecycleProcess; ++process) muster.Kill(process);

  lifecycle::v1::ExplainNodePoolRequest why;
  why.set_name(MiniMuster::kPool);
  ExpectNoPlaceTold(
      Told(muster.channel(kLifecycleProcess), absl::StrCat(kLifecycle, "ExplainNodePool"), why));
  ExpectNoPlaceTold(Told(muster.operator_channel(kLifecycleProcess),
                         "/muster.debug.v1.DebugService/AuditBooks",
                         debug::v1::AuditBooksRequest()));
  EXPECT_THAT(muster.MusterdLogs(), HasSubstr("a service does not answer")) << "operators read it";
}

}  // namespace
}  // namespace muster::testing
