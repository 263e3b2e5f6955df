// Everybody calls everybody by mutual TLS: callers, services apart from each other, agents, musterctl.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/patience.h"
#include "tests/testing/sockets.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What a program says of itself, over its connection to a server.
std::string OpenSslClient(const MiniMuster& muster, const std::string& arguments) {
  return RunProgram({"/bin/sh", "-c",
                     absl::StrCat("openssl s_client -connect ", muster.address(), " -alpn h2 ",
                                  arguments, " </dev/null 2>&1")})
      .output;
}

TEST(Tls, FourProcessesBringAPoolUp) {
  MiniMuster muster(
      {.processes = {"capacity", "quota", "configuration", "lifecycle"}, .tls = true});
  muster.ApplyCatalogue();
  muster.ApplyExample();
  ASSERT_TRUE(muster.AwaitSettled(1)) << muster.LogEnds();
  ASSERT_TRUE(muster.Resize(4).ok());
  ASSERT_TRUE(muster.AwaitSettled(4)) << muster.LogEnds();
  for (const char* caller : {"ci", "fleetsim", "musterd"}) {
    EXPECT_THAT(muster.MusterdLogs(),
                HasSubstr(absl::StrCat(R"("principal":"spiffe://muster.test/)", caller, "\"")));
  }
  EXPECT_EQ(muster.CheckBooks(4), "");
}

TEST(Tls, WhoHasNoCertificateGetsNoAnswer) {
  MiniMuster muster({.tls = true});
  const std::string server = absl::StrCat("--server=", muster.address());
  const Finished plain = RunProgram({Binary("musterctl"), server, "--timeout=2s", "get", "zones"});
  EXPECT_EQ(plain.exit_code, 1);
  EXPECT_THAT(plain.output, HasSubstr("error: "));
  const Finished half =
      RunProgram({Binary("musterctl"), server,
                  "--certificate-authority=" + muster.authority()->authority(), "get", "zones"});
  EXPECT_EQ(half.exit_code, 1);
  EXPECT_THAT(half.output, HasSubstr("--client-certificate: is required"));
  EXPECT_EQ(muster.Ctl({"get", "zones"}).exit_code, 0);
}

TEST(Tls, OldVersionsAreRefused) {
  MiniMuster muster({.tls = true});
  const std::string own =
      absl::StrCat("-CAfile ", muster.authority()->authority(), " -cert ",
                   muster.authority()->certificate("ci"), " -key ", muster.authority()->key("ci"));
  EXPECT_THAT(OpenSslClient(muster, absl::StrCat(own, " -tls1_2")),
              HasSubstr("Verify return code: 0 (ok)"));
  // Without the level the client itself would refuse it.
  const std::string old =
      OpenSslClient(muster, absl::StrCat(own, " -tls1_1 -cipher DEFAULT@SECLEVEL=0"));
  EXPECT_THAT(old, HasSubstr("Cipher is (NONE)"));
  EXPECT_THAT(old, Not(HasSubstr("no protocols available")));
}

// The certificate is renewed again and again, while callers make a connection a call.
TEST(Tls, RenewalFailsNoCall) {
  MiniMuster muster({.tls = true});
  muster.ApplyCatalogue();
  const auto metrics = [&] {
    return HttpGet(muster.metrics_address(), "/metrics", absl::Minutes(1));
  };
  EXPECT_THAT(metrics(), HasSubstr("muster_tls_certificate_reloads_total{result=\"taken\"} 1\n"));
  std::atomic<bool> stop = false;
  std::atomic<int> answered = 0;
  std::vector<std::string> failed;
  std::thread caller([&] {
    while (!stop) {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      const auto channel =
          grpc::CreateCustomChannel(muster.address(), muster.CredentialsOf("ci"), arguments);
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + kPatience);
      lifecycle::v1::ListNodePoolsRequest request;
      request.set_parent("organizations/acme/clusters/example");
      lifecycle::v1::ListNodePoolsResponse response;
      const grpc::Status status = lifecycle::v1::LifecycleService::NewStub(channel)->ListNodePools(
          &context, request, &response);
      if (!status.ok()) failed.push_back(status.error_message());
      ++answered;
    }
  });
  absl::Cleanup joined = [&] {
    stop = true;
    caller.join();
  };
  for (int taken = 2; taken <= 4; ++taken) {
    // The key first, then the certificate, as most tools write them.
    muster.RenewCertificate();
    Until(
        [&] {
          return absl::StrContains(metrics(), absl::StrCat("{result=\"taken\"} ", taken, "\n"));
        },
        "the new certificate");
    // Until gRPC has it, too.
    std::this_thread::sleep_for(std::chrono::milliseconds(1'500));
  }
  std::move(joined).Invoke();
  EXPECT_GT(answered, 3);
  EXPECT_THAT(failed, ::testing::IsEmpty());
  EXPECT_EQ(muster.Terminate(), 0) << "its own listener answered it all the time";
}

}  // namespace
}  // namespace muster::testing
