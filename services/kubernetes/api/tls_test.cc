#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "services/kubernetes/api/client.h"
#include "services/kubernetes/api/testing/server.h"
#include "tests/testing/authority.h"
#include "tests/testing/status_matchers.h"

namespace muster::kubernetes {
namespace {

using ::muster::testing::Authority;
using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;

// A CA; a server's certificate of it for the name `api.test`; a client's; and a CA of a stranger.
class TlsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    authority_ = new Authority();
    authority_->IssueAuthority("stranger");
    authority_->Issue("server", "subjectAltName=DNS:api.test");
    authority_->Issue("client", "extendedKeyUsage=clientAuth");
  }
  static void TearDownTestSuite() { delete authority_; }
  static std::string Path(const std::string& name) { return authority_->Path(name); }
  static std::string Read(const std::string& name) { return authority_->Text(name); }

  TlsTest() {
    endpoint_.server = absl::StrCat("https://", server_.host());
    endpoint_.certificate_authority = Read("ca.crt");
    endpoint_.server_name = "api.test";
    endpoint_.client_certificate = Read("client.crt");
    endpoint_.client_key = Read("client.key");
  }
  absl::Status Get() const {
    const auto client = Client::Create(endpoint_, {});
    return client.ok() ? (*client)->Get("/x").status() : client.status();
  }

  static inline Authority* authority_ = nullptr;
  TestServer server_{
      [](auto&, const auto&, auto& response) { SendJson(response, "{}"); },
      std::make_unique<httplib::SSLServer>(Path("server.crt").c_str(), Path("server.key").c_str(),
                                           Path("ca.crt").c_str())};
  Endpoint endpoint_;
};

TEST_F(TlsTest, BothSidesProveWhoTheyAre) {
  EXPECT_THAT(Get(), IsOk());
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].get_header_value("Host"), server_.host());
}

TEST_F(TlsTest, AServerOfAnotherNameIsRefused) {
  endpoint_.server_name = "other.test";
  EXPECT_THAT(Get(), StatusIs(absl::StatusCode::kUnavailable));
  endpoint_.server_name = "";
  EXPECT_THAT(Get(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(TlsTest, AServerOfAnotherAuthorityIsRefused) {
  endpoint_.certificate_authority = Read("stranger.crt");
  EXPECT_THAT(Get(), StatusIs(absl::StatusCode::kUnavailable));
  endpoint_.certificate_authority = "";
  EXPECT_THAT(Get(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_TRUE(server_.requests().empty());
}

// A cluster's authority, or our certificate, is renewed while we run.
TEST_F(TlsTest, FilesAreReadForEachConnection) {
  const std::string file = Path("renewed-ca.crt");
  const auto say = [&](const std::string& text) { std::ofstream(file) << text; };
  endpoint_.certificate_authority_file = file;
  endpoint_.client_certificate_file = Path("client.crt");
  endpoint_.client_key_file = Path("client.key");
  say(Read("stranger.crt"));
  const auto client = Client::Create(endpoint_, {});
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_THAT((*client)->Get("/x").status(), StatusIs(absl::StatusCode::kUnavailable));
  say(Read("ca.crt"));
  EXPECT_THAT((*client)->Get("/x").status(), IsOk());
}

TEST_F(TlsTest, ItIsNotVerifiedOnlyWhenThatIsAsked) {
  endpoint_.certificate_authority = "";
  endpoint_.server_name = "";
  endpoint_.skip_server_verification = true;
  EXPECT_THAT(Get(), IsOk());
}

TEST_F(TlsTest, WithoutAClientCertificateTheServerRefuses) {
  endpoint_.client_certificate = "";
  endpoint_.client_key = "";
  EXPECT_THAT(Get(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(TlsTest, AKeyOfAnotherCertificateIsRefused) {
  endpoint_.client_key = Read("server.key");
  EXPECT_THAT(Get(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_TRUE(server_.requests().empty());
}

}  // namespace
}  // namespace muster::kubernetes
