#include "services/rpc/standard_methods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <regex>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "services/common/error.h"
#include "services/rpc/client/channel.h"
#include "services/rpc/guard.h"
#include "services/rpc/status.h"
#include "services/rpc/testing/fake_quota_service.h"
#include "tests/testing/raw_call.h"

namespace muster::rpc {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The services that gRPC itself puts into a server, whoever is bound to what.
class StandardMethodsTest : public ::testing::Test {
 protected:
  static constexpr char kReflection[] =
      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
  static constexpr char kListServices[] = "\x3a\x01*";

  // `binding` says who has which role; the caller is `local`.
  void ServeBinding(const std::string& binding, const CallerLimitOptions& limits = {}) {
    server_.reset();
    policy_ = *access::PolicyFile::Create(
        {.fixed = *access::Policy::Parse("bindings: [{" + binding + "}]")});
    guard_ = std::make_unique<Guard>(policy_.get(), limits);
    server_ =
        std::make_unique<FakeServer>([&](ServerOptions& options) { options.guard = guard_.get(); });
    channel_ = MakeChannel(server_->address());
  }
  void ServeToNobodyHere() {
    ServeBinding("role: viewer, principals: [token/x], everywhere: true");
  }
  grpc::Status Call(const std::string& method, const std::string& request = "") {
    answers_.clear();
    return testing::CallRaw(channel_, method, request, {.enough = [&](const std::string& answer) {
                              answers_ += answer;
                              return absl::EndsWith(method, "Health/Watch");
                            }});
  }

  std::unique_ptr<access::PolicyFile> policy_;
  std::unique_ptr<Guard> guard_;
  std::unique_ptr<FakeServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::string answers_;
};

TEST_F(StandardMethodsTest, HealthIsOpenToAllAndReflectionTakesARole) {
  ServeToNobodyHere();
  EXPECT_TRUE(Call("/grpc.health.v1.Health/Check").ok());
  EXPECT_TRUE(Call("/grpc.health.v1.Health/Watch").ok());
  EXPECT_EQ(guard_->stats().denied, 0);
  CaughtLog log;
  const absl::Status refused = FromGrpcStatus(Call(kReflection, kListServices));
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(error::ReasonOf(refused), "PERMISSION_DENIED");
  EXPECT_THAT(answers_, Not(HasSubstr("QuotaService"))) << "nothing is told before the status";
  EXPECT_THAT(answers_, HasSubstr("it takes a role, whichever"));
  EXPECT_EQ(guard_->stats().denied, 1);
  EXPECT_THAT(log.text(), HasSubstr(R"("principal":"local")"));
  ServeBinding("role: agent, principals: [local], zones: [US-EAST-04A]");
  EXPECT_TRUE(Call(kReflection, kListServices).ok());
  EXPECT_THAT(answers_, HasSubstr("QuotaService"));
}

TEST_F(StandardMethodsTest, ReflectionCountsAsAWatchOfItsCaller) {
  ServeBinding("role: agent, principals: [local], zones: [US-EAST-04A]", {.watches = 0});
  const absl::Status refused = FromGrpcStatus(Call(kReflection, kListServices));
  EXPECT_EQ(error::ReasonOf(refused), "TOO_MANY_WATCHES");
  EXPECT_THAT(answers_, Not(HasSubstr("QuotaService")));
}

TEST_F(StandardMethodsTest, WhatNobodyServesIsUnknownWhoeverAsks) {
  for (const char* principal : {"local", "token/x"}) {
    ServeBinding(absl::StrCat("role: operator, everywhere: true, principals: [", principal, "]"));
    for (const char* method :
         {"/no.such.Service/Method", "/muster.quota.v1.QuotaService/NoSuchMethod",
          "/grpc.channelz.v1.Channelz/GetServers", "/grpc.health.v1.Health/List"})
      EXPECT_EQ(Call(method).error_code(), grpc::StatusCode::UNIMPLEMENTED) << method;
  }
}

// So that nothing that gRPC, or a library that is linked in, adds to servers is outside the policy.
TEST_F(StandardMethodsTest, EveryServiceOfAServerIsOursOrAmongThem) {
  ServeBinding("role: viewer, principals: [local], everywhere: true");
  ASSERT_TRUE(Call(kReflection, kListServices).ok());
  std::set<std::string> known = {v1::QuotaService::service_full_name()};
  for (const absl::Span<const StandardMethod> methods :
       {absl::MakeConstSpan(kHealthMethods), absl::MakeConstSpan(kReflectionMethods)}) {
    for (const StandardMethod& method : methods)
      known.insert(std::string(method.name.substr(1, method.name.rfind('/') - 1)));
  }
  std::set<std::string> served;
  const std::regex name("[a-z0-9]+(\\.[a-z0-9]+)+\\.[A-Z][A-Za-z]+");
  for (std::sregex_iterator it(answers_.begin(), answers_.end(), name), end; it != end; ++it)
    served.insert(it->str());
  EXPECT_EQ(served, known);
}

}  // namespace
}  // namespace muster::rpc
