#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "services/kubernetes/api/client.h"
#include "services/kubernetes/api/test_server.h"
#include "tests/testing/status_matchers.h"

namespace muster::kubernetes {
namespace {

using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;

// A CA; a server's certificate of it for the name `api.test`; a client's; and a CA of a stranger.
class TlsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = absl::StrCat(::testing::TempDir(), "/tls-", getpid());
    mkdir(folder_.c_str(), 0700);
    MakeAuthority("ca");
    MakeAuthority("stranger");
    MakeCertificate("server", "subjectAltName=DNS:api.test");
    MakeCertificate("client", "extendedKeyUsage=clientAuth");
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder_); }
  static void Run(const std::string& arguments) {
    const std::string command =
        absl::StrCat("cd ", folder_, " && openssl ", arguments, " 2>>openssl.log");
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  static void MakeAuthority(const std::string& name) {
    Run(absl::StrCat(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=", name,
        " -keyout ", name, ".key -out ", name, ".crt"));
  }
  static void MakeCertificate(const std::string& name, const std::string& extension) {
    Run(absl::StrCat("req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=", name,
                     " -keyout ", name, ".key -out ", name, ".csr"));
    std::ofstream(absl::StrCat(folder_, "/", name, ".ext")) << extension << "\n";
    Run(absl::StrCat("x509 -req -in ", name,
                     ".csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 ", "-extfile ", name,
                     ".ext -out ", name, ".crt"));
  }
  static std::string Path(absl::string_view name) { return absl::StrCat(folder_, "/", name); }
  static std::string Read(absl::string_view name) {
    std::ifstream file(Path(name));
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

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

  static inline std::string folder_;
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
