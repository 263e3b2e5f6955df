// What is as dear as the state is large is served at the operators' listener only.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/hostile/worst_requests.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/raw_call.h"
#include "tests/testing/reserved_port.h"

namespace muster::testing {
namespace {

constexpr char kReflection[] = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
constexpr char kListServices[] = "\x3a\x01*";

TEST(OperatorsListener, ServesAuditsComparisonsAndReflectionAlone) {
  const ReservedPort port;
  MiniMuster muster({.musterd_flags = {absl::StrCat("--health_listen=127.0.0.1:", port.number())}});
  const auto tenants = muster.channel();
  const auto operators = muster.operator_channel();
  int audits = 0;
  for (const auto* service : MusterServices()) {
    for (int i = 0; i < service->method_count(); ++i) {
      if (!absl::StartsWith(service->method(i)->name(), "Audit")) continue;
      const std::string method =
          absl::StrCat("/", service->full_name(), "/", service->method(i)->name());
      if (IsForOperators(method)) continue;  // below
      EXPECT_EQ(CallRaw(tenants, method, "").error_code(), grpc::StatusCode::PERMISSION_DENIED)
          << method;
      EXPECT_TRUE(CallRaw(operators, method, "").ok()) << method;
      ++audits;
    }
  }
  EXPECT_EQ(audits, 2);
  for (const char* method : {"CompareState", "AuditBooks", "Ping"}) {
    const std::string name = absl::StrCat("/muster.debug.v1.DebugService/", method);
    EXPECT_EQ(CallRaw(tenants, name, "").error_code(), grpc::StatusCode::UNIMPLEMENTED) << name;
    EXPECT_TRUE(CallRaw(operators, name, "").ok()) << name;
  }
  EXPECT_EQ(CallRaw(tenants, kReflection, kListServices).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_TRUE(CallRaw(operators, kReflection, kListServices).ok());
  const auto probes = grpc::CreateChannel(absl::StrCat("127.0.0.1:", port.number()),
                                          grpc::InsecureChannelCredentials());
  EXPECT_TRUE(CallRaw(probes, "/grpc.health.v1.Health/Check", "").ok());
  EXPECT_EQ(CallRaw(probes, kReflection, kListServices).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

}  // namespace
}  // namespace muster::testing
