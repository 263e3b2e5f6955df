#include "services/kubernetes/api/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/testing/status_matchers.h"

namespace muster::kubernetes {
namespace {

using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::string_view kFull = R"(
apiVersion: v1
kind: Config
current-context: dev
contexts:
- name: other
  context: {cluster: b, user: nobody, namespace: ignored}
- name: dev
  context: {cluster: a, user: me}
clusters:
- name: b
  cluster: {server: "https://b", insecure-skip-tls-verify: true}
- name: a
  cluster:
    server: https://10.0.0.1:6443
    certificate-authority: pki/ca.crt
    tls-server-name: kubernetes.default
users:
- name: nobody
  user: {}
- name: me
  user:
    client-certificate-data: $CERT
    client-key: $FOLDER/pki/key.pem
    tokenFile: pki/token
    token: secret-token
)";

class EndpointTest : public ::testing::Test {
 protected:
  EndpointTest() : folder_(absl::StrCat(::testing::TempDir(), "/endpoint-", getpid())) {
    mkdir(folder_.c_str(), 0700);
    mkdir(absl::StrCat(folder_, "/pki").c_str(), 0700);
    Write("pki/ca.crt", "the CA");
    Write("pki/key.pem", "the key");
  }
  ~EndpointTest() override { std::filesystem::remove_all(folder_); }
  void Write(absl::string_view name, absl::string_view text) const {
    std::ofstream(absl::StrCat(folder_, "/", name)) << text;
  }
  // Writes kFull with one text replaced, and loads it.
  absl::StatusOr<Endpoint> Load(absl::string_view from = "", absl::string_view to = "",
                                absl::string_view context = "") const {
    std::string text = absl::StrReplaceAll(
        kFull, {{"$CERT", absl::Base64Escape("the certificate")}, {"$FOLDER", folder_}});
    if (!from.empty()) {
      EXPECT_THAT(text, HasSubstr(std::string(from)));
      text = absl::StrReplaceAll(text, {{from, to}});
    }
    Write("config", text);
    return LoadKubeconfig(absl::StrCat(folder_, "/config"), context);
  }

  const std::string folder_;
};

TEST_F(EndpointTest, ReadsTheCurrentContext) {
  const auto endpoint = Load();
  ASSERT_THAT(endpoint.status(), IsOk());
  EXPECT_EQ(endpoint->server, "https://10.0.0.1:6443");
  EXPECT_EQ(endpoint->certificate_authority, "the CA");
  EXPECT_EQ(endpoint->server_name, "kubernetes.default");
  EXPECT_FALSE(endpoint->skip_server_verification);
  EXPECT_EQ(endpoint->client_certificate, "the certificate");
  EXPECT_EQ(endpoint->client_key, "the key");
  EXPECT_EQ(endpoint->token, "secret-token");
  EXPECT_EQ(endpoint->token_file, absl::StrCat(folder_, "/pki/token"));
}

TEST_F(EndpointTest, ReadsANamedContext) {
  const auto endpoint = Load("", "", "other");
  ASSERT_THAT(endpoint.status(), IsOk());
  EXPECT_EQ(endpoint->server, "https://b");
  EXPECT_TRUE(endpoint->skip_server_verification);
  EXPECT_EQ(endpoint->certificate_authority, "");
  EXPECT_EQ(endpoint->client_certificate, "");
  EXPECT_EQ(endpoint->token, "");
}

TEST_F(EndpointTest, DataWinsOverAFile) {
  const auto endpoint =
      Load("certificate-authority: pki/ca.crt",
           absl::StrCat("certificate-authority: pki/ca.crt\n    certificate-authority-data: ",
                        absl::Base64Escape("other")));
  ASSERT_THAT(endpoint.status(), IsOk());
  EXPECT_EQ(endpoint->certificate_authority, "other");
}

TEST_F(EndpointTest, NamesWhatIsWrong) {
  struct Case {
    const char* from = "";
    const char* to = "";
    const char* message = "";
  };
  const Case cases[] = {
      {"current-context: dev", "", "config: current-context: is missing"},
      {"current-context: dev", "current-context: [dev]", "current-context: expected a string"},
      {"current-context: dev", "current-context: x", R"(contexts["x"]: there is no such entry)"},
      {"contexts:\n", "unknown:\n", R"(contexts["dev"]: there is no such entry)"},
      {"contexts:\n", "contexts: 7\nunknown:\n", "contexts: expected a list"},
      {"cluster: a, ", "", R"(contexts["dev"].context.cluster: is missing)"},
      {"cluster: a, ", "cluster: x, ", R"(clusters["x"]: there is no such entry)"},
      {"user: me}", "user: x}", R"(users["x"]: there is no such entry)"},
      {"server: https://10.0.0.1:6443", "", R"(clusters["a"].cluster.server: is missing)"},
      {"pki/ca.crt", "pki/none", R"(clusters["a"].cluster.certificate-authority: nothing could)"},
      {"tls-server-name: kubernetes.default", "proxy-url: http://p",
       R"(clusters["a"].cluster.proxy-url: proxies are not supported)"},
      {"tls-server-name: kubernetes.default", "insecure-skip-tls-verify: true",
       R"(clusters["a"].cluster.insecure-skip-tls-verify: contradicts certificate-authority)"},
      {"tls-server-name: kubernetes.default", "insecure-skip-tls-verify: perhaps",
       "insecure-skip-tls-verify: expected true or false"},
      {"client-certificate-data: ", "client-certificate-data: '!' #",
       R"(users["me"].user.client-certificate-data: expected base64)"},
      {"client-certificate-data: ", "unknown: ",
       R"(users["me"].user.client-certificate: is missing)"},
      {"tokenFile: pki/token", "exec: {command: x}", R"(users["me"].user.exec: is not supported)"},
      {"tokenFile: pki/token", "auth-provider: {name: x}",
       R"(users["me"].user.auth-provider: is not supported)"},
      {"tokenFile: pki/token", "username: u", R"(users["me"].user.username: is not supported)"},
      {"tokenFile: pki/token", "as-uid: u", R"(users["me"].user.as-uid: is not supported)"},
      {"tokenFile: pki/token", "as-user-extra: {a: [b]}",
       R"(users["me"].user.as-user-extra: is not supported)"},
      {"tokenFile: pki/token", "as: [a]", R"(users["me"].user.as: expected a string)"},
      {"tokenFile: pki/token", "as: ''", R"(users["me"].user.as: is empty)"},
      {"tokenFile: pki/token", R"(as: "a\r\nX-Remote-User: b")",
       R"(users["me"].user.as: holds control characters, or white space around it)"},
      {"tokenFile: pki/token", "as: 'a '", R"(users["me"].user.as: holds control characters)"},
      {"tokenFile: pki/token", "as-groups: [a]",
       R"(users["me"].user.as-groups: needs `as`, the user to act as)"},
      {"tokenFile: pki/token", "as: a\n    as-groups: g",
       R"(users["me"].user.as-groups: expected a list of strings)"},
      {"tokenFile: pki/token", "as: a\n    as-groups: [{b: c}]",
       R"(users["me"].user.as-groups: expected a list of strings)"},
      {"tokenFile: pki/token", "as: a\n    as-groups: [b, '']",
       R"(users["me"].user.as-groups: one is empty)"},
      {"tokenFile: pki/token", R"(as: a
    as-groups: ["b\n"])",
       R"(users["me"].user.as-groups: one holds control characters, or white space around it)"},
      {"kind: Config", "kind: [Config", "config: line "},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.message);
    const absl::Status status = Load(each.from, each.to).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                                 AllOf(HasSubstr(absl::StrCat("kubeconfig ", folder_, "/config: ")),
                                       HasSubstr(each.message), Not(HasSubstr("secret")))));
  }
}

TEST_F(EndpointTest, SomebodyElseToActAs) {
  const auto endpoint =
      Load("tokenFile: pki/token", "as: kubelet of all\n    as-groups: [system:nodes, two words]");
  ASSERT_THAT(endpoint.status(), IsOk());
  EXPECT_EQ(endpoint->as, "kubelet of all");
  EXPECT_THAT(endpoint->as_groups, ::testing::ElementsAre("system:nodes", "two words"));
  EXPECT_EQ(endpoint->token, "secret-token");
  const auto alone = Load("tokenFile: pki/token", "as: a");
  ASSERT_THAT(alone.status(), IsOk());
  EXPECT_THAT(alone->as_groups, ::testing::IsEmpty());
  EXPECT_EQ(Load()->as, "");
}

TEST_F(EndpointTest, FilesThatAreNoKubeconfig) {
  EXPECT_THAT(LoadKubeconfig(absl::StrCat(folder_, "/none")).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/none")));
  for (const char* text : {"", "7", "[]"}) {
    Write("config", text);
    EXPECT_THAT(LoadKubeconfig(absl::StrCat(folder_, "/config")).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected a mapping")))
        << text;
  }
  Write("config", "users:\n- user: {token: t\xfcr}\n");
  EXPECT_THAT(LoadKubeconfig(absl::StrCat(folder_, "/config")).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(absl::StrCat(folder_, "/config: line 2: is not UTF-8 text"))));
}

TEST_F(EndpointTest, InAPod) {
  unsetenv("KUBERNETES_SERVICE_HOST");
  setenv("KUBERNETES_SERVICE_PORT", "443", 1);
  const std::string account = absl::StrCat(folder_, "/pki");
  EXPECT_THAT(InCluster(account).status(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                    HasSubstr("KUBERNETES_SERVICE_HOST")));
  setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
  unlink(absl::StrCat(account, "/token").c_str());
  EXPECT_THAT(InCluster(account).status(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                    HasSubstr(absl::StrCat(account, "/token"))));
  Write("pki/token", "t");
  const auto endpoint = InCluster(account);
  ASSERT_THAT(endpoint.status(), IsOk());
  EXPECT_EQ(endpoint->server, "https://10.0.0.1:443");
  EXPECT_EQ(endpoint->certificate_authority, "the CA");
  EXPECT_EQ(endpoint->token_file, absl::StrCat(account, "/token"));
  setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
  EXPECT_EQ(InCluster(account)->server, "https://[fd00::1]:443");
  unsetenv("KUBERNETES_SERVICE_PORT");
  EXPECT_THAT(InCluster(account).status(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                    HasSubstr("KUBERNETES_SERVICE_PORT")));
}

}  // namespace
}  // namespace muster::kubernetes
