// Callers with bearer tokens: people, CI and Kubernetes' service accounts.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/access/v1/access_service.grpc.pb.h>
#include <muster/history/v1/history_service.grpc.pb.h>

#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/issuer.h"
#include "tests/testing/patience.h"
#include "tests/testing/sockets.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kRobot[] = "system:serviceaccount:ci:deployer";

class Tokens : public ::testing::Test {
 protected:
  Tokens() {
    issuer_.AddRsaKey("rsa");
    WriteKeys();
    muster_ = std::make_unique<MiniMuster>(MiniMuster::Options{
        .musterd_flags = {"--token_keys_file=" + folder_.Path("keys.json"),
                          absl::StrCat("--token_issuer=", Issuer::kName),
                          absl::StrCat("--token_audience=", Issuer::kAudience),
                          "--log_level=debug"},
        .tls = true,
        .bindings = {"- {role: viewer, principals: [token/ann], organizations: [acme]}",
                     absl::StrCat("- {role: editor, principals: [\"token/", kRobot,
                                  "\"], organizations: [acme]}"),
                     "- {role: operator, principals: [local], everywhere: true}"}});
    muster_->ApplyCatalogue();
  }

  void WriteKeys() { std::ofstream(folder_.Path("keys.json")) << issuer_.KeySet(); }

  // To the server, by TLS and without a certificate.
  std::shared_ptr<grpc::Channel> Channel() const {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = ReadFile(muster_->authority()->authority());
    return grpc::CreateChannel(muster_->address(), grpc::SslCredentials(options));
  }
  // Who a caller with that header is to the server.
  static grpc::Status WhoAmI(const std::shared_ptr<grpc::Channel>& channel,
                             const std::string& header, std::string& principal) {
    grpc::ClientContext context;
    if (!header.empty()) context.AddMetadata("authorization", header);
    access::v1::GetCallerResponse response;
    const grpc::Status status = access::v1::AccessService::NewStub(channel)->GetCaller(
        &context, access::v1::GetCallerRequest(), &response);
    principal = response.caller().principal();
    return status;
  }
  std::string Bearer(const std::string& subject) const {
    return "Bearer " + issuer_.TokenOf(subject);
  }
  // With a token in a file instead of the certificate that musterctl has elsewhere.
  Finished Ctl(const std::string& token, std::vector<std::string> words) const {
    std::ofstream(folder_.Path("token")) << token << "\n";
    words.insert(words.begin(), {Binary("musterctl"), "--server=" + muster_->address(),
                                 "--certificate-authority=" + muster_->authority()->authority(),
                                 "--token-file=" + folder_.Path("token")});
    return RunProgram(words);
  }

  TempFolder folder_;
  Issuer issuer_;
  std::unique_ptr<MiniMuster> muster_;
};

TEST_F(Tokens, NameTheirCallers) {
  std::string principal;
  ASSERT_TRUE(WhoAmI(Channel(), Bearer("ann"), principal).ok());
  EXPECT_EQ(principal, "token/ann");
  // Who shows a certificate is whom that names.
  ASSERT_TRUE(WhoAmI(muster_->ChannelAs("ci"), "Bearer nonsense", principal).ok());
  EXPECT_EQ(principal, "spiffe://muster.test/ci");
  // Who shows neither is nobody, from wherever he calls.
  ASSERT_TRUE(WhoAmI(Channel(), "", principal).ok());
  EXPECT_EQ(principal, "anonymous");
  const Finished viewer = Ctl(issuer_.TokenOf("ann"), {"get", "nodepools"});
  EXPECT_EQ(viewer.exit_code, 0) << viewer.output;
  const Finished stranger = Ctl(issuer_.TokenOf("eve"), {"get", "nodepools"});
  EXPECT_EQ(stranger.exit_code, 1);
  EXPECT_THAT(stranger.output, HasSubstr("`token/eve` may not call ListNodePools"));
}

TEST_F(Tokens, WhatIsNoGoodTokenNamesNobody) {
  std::string principal;
  const auto expect_refused = [&](const std::string& header, const std::string& says) {
    const grpc::Status status = WhoAmI(Channel(), header, principal);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << header;
    EXPECT_THAT(status.error_message(), HasSubstr(says));
  };
  expect_refused("Bearer " + issuer_.TokenOf("ann", absl::Now() - absl::Minutes(1)),
                 "has expired (`exp`)");
  expect_refused("Bearer nonsense", "no JSON Web Token");
  expect_refused("Basic YTpi", "must be `Bearer TOKEN`");
  Issuer another;
  another.AddRsaKey("rsa");
  expect_refused("Bearer " + another.TokenOf("ann"), "its signature is wrong");
  const std::string metrics = HttpGet(muster_->metrics_address(), "/metrics", absl::Minutes(1));
  EXPECT_THAT(metrics, HasSubstr("muster_refused_tokens_total 4"));
  EXPECT_THAT(metrics, HasSubstr("muster_denied_calls_total{code=\"UNAUTHENTICATED\"} 4"));
  // A secret is never logged, good or not.
  const std::string secret = issuer_.TokenOf("ann");
  ASSERT_TRUE(WhoAmI(Channel(), "Bearer " + secret, principal).ok());
  Until([&] { return muster_->MusterdLogs().find("\"token/ann\"") != std::string::npos; },
        "the call's line");
  EXPECT_THAT(muster_->MusterdLogs(), Not(HasSubstr(secret.substr(0, 60))));
}

// What is refused before anybody asks who calls has a caller all the same.
TEST_F(Tokens, TheLogNamesWhoAsksForWhatIsOutOfBounds) {
  const auto channel = Channel();
  // The line of a call that is out of bounds.
  const auto line_of = [&](const std::string& id, const std::string& header) {
    grpc::ClientContext context;
    context.AddMetadata("authorization", header);
    context.AddMetadata("x-request-id", id);
    access::v1::CheckAccessRequest request;
    request.set_method(std::string(512 << 10, 'x'));
    access::v1::CheckAccessResponse response;
    const auto stub = access::v1::AccessService::NewStub(channel);
    EXPECT_EQ(stub->CheckAccess(&context, request, &response).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
    std::string line;
    Until(
        [&] {
          for (const absl::string_view each : absl::StrSplit(muster_->MusterdLogs(), '\n')) {
            if (absl::StrContains(each, id) && absl::EndsWith(each, "}")) line = std::string(each);
          }
          return !line.empty();
        },
        "the call's line");
    return line;
  };
  const std::string header = Bearer("ann");
  EXPECT_THAT(line_of("before-it-was-proved", header), HasSubstr("\"principal\":\"anonymous\""));
  std::string principal;
  ASSERT_TRUE(WhoAmI(channel, header, principal).ok());
  EXPECT_THAT(line_of("after-it-was-proved", header), HasSubstr("\"principal\":\"token/ann\""));
}

TEST_F(Tokens, AServiceAccountsChangesBearItsName) {
  const std::string token = issuer_.TokenOf(kRobot);
  const std::string manifest = folder_.Path("pool.yaml");
  std::ofstream(manifest) << R"(
apiVersion: compute.coreweave.com/v1alpha1
kind: NodePool
metadata: {name: example-nodepool}
spec: {instanceType: gd-8xa100-i128, targetNodes: 1}
)";
  ASSERT_EQ(muster_->Ctl({"apply", "-f", manifest}).exit_code, 0);
  ASSERT_TRUE(muster_->AwaitSettled(1)) << muster_->LogEnds();
  std::ofstream(manifest, std::ios::app) << "---\n"
                                         << R"(
apiVersion: compute.coreweave.com/v1alpha1
kind: NodePool
metadata: {name: second}
spec: {instanceType: gd-8xa100-i128, targetNodes: 1}
)";
  const Finished applied = Ctl(token, {"apply", "-f", manifest, "--reason=release 7"});
  ASSERT_EQ(applied.exit_code, 0) << applied.output;
  const Finished history = Ctl(token, {"history", "nodepool", "second"});
  EXPECT_THAT(history.output,
              HasSubstr(absl::StrCat(" created by token/", kRobot, " with ApplyNodePool")));
  EXPECT_THAT(history.output, HasSubstr("  reason: release 7\n"));
  // And its scope is its scope.
  const Finished beyond = Ctl(token, {"delete", "quota", "RNO2A~gd-8xa100-i128~default"});
  EXPECT_EQ(beyond.exit_code, 1);
  EXPECT_THAT(beyond.output, HasSubstr("may not call DeleteQuota"));
}

TEST_F(Tokens, KeysAreRenewedWithoutAPause) {
  std::string principal;
  const std::string old = Bearer("ann");
  issuer_.AddRsaKey("next");
  WriteKeys();
  const auto next = [&] {
    return "Bearer " +
           issuer_.Sign("next", "RS256", Issuer::ClaimsOf("ann", absl::Now() + absl::Hours(1)));
  };
  Until([&] { return WhoAmI(Channel(), next(), principal).ok(); }, "the new key counts");
  EXPECT_TRUE(WhoAmI(Channel(), old, principal).ok()) << "both hold";
  issuer_.RemoveKey("rsa");
  WriteKeys();
  Until([&] { return !WhoAmI(Channel(), old, principal).ok(); }, "the old key is gone");
  EXPECT_TRUE(WhoAmI(Channel(), next(), principal).ok());
  // What is no key set does not count.
  std::ofstream(folder_.Path("keys.json")) << "nonsense";
  Until(
      [&] {
        return HttpGet(muster_->metrics_address(), "/metrics", absl::Minutes(1))
                   .find("muster_token_keys_reloads_total{result=\"refused\"} 1") !=
               std::string::npos;
      },
      "it is refused");
  EXPECT_TRUE(WhoAmI(Channel(), next(), principal).ok());
}

}  // namespace
}  // namespace muster::testing
