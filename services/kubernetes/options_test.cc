#include "services/kubernetes/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "absl/flags/reflection.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/common/error.h"
#include "services/daemon/flag_file.h"

ABSL_DECLARE_FLAG(std::string, organization);
ABSL_DECLARE_FLAG(std::string, cluster);
ABSL_DECLARE_FLAG(std::string, zone);
ABSL_DECLARE_FLAG(std::string, kubeconfig);
ABSL_DECLARE_FLAG(std::string, condition_edition);
ABSL_DECLARE_FLAG(bool, ready_condition);
ABSL_DECLARE_FLAG(std::string, lease_identity);
ABSL_DECLARE_FLAG(std::string, token_file);
ABSL_DECLARE_FLAG(std::string, tls_ca_file);

namespace muster::kubernetes {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class OptionsTest : public ::testing::Test {
 protected:
  OptionsTest() {
    file_ = absl::StrCat(::testing::TempDir(), "/options_test_kubeconfig_", getpid());
    std::ofstream(file_) << "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                            "clusters: [{name: k, cluster: {server: 'http://127.0.0.1:1'}}]\n"
                            "users: [{name: u, user: {token: t}}]\n"
                            "contexts: [{name: c, context: {cluster: k, user: u}}]\n";
    absl::SetFlag(&FLAGS_kubeconfig, file_);
    absl::SetFlag(&FLAGS_organization, "acme");
    absl::SetFlag(&FLAGS_cluster, "c1");
    absl::SetFlag(&FLAGS_zone, "US-EAST-04A");
  }

  ~OptionsTest() override { unlink(file_.c_str()); }

  // The flags that are found fault with when this one has that value.
  static std::vector<std::string> Faults(const std::string& flag, const std::string& value) {
    const absl::FlagSaver saver;
    std::string error;
    EXPECT_TRUE(absl::FindCommandLineFlag(flag)->ParseFrom(value, &error)) << flag << error;
    const auto options = OptionsFromFlags();
    if (options.ok()) return {};
    EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument);
    std::vector<std::string> faults;
    const auto detail = error::DetailOf(options.status()).value_or(error::Detail());
    for (const error::FieldViolation& field : detail.fields) {
      EXPECT_FALSE(field.description.empty());
      faults.push_back(field.field);
    }
    return faults;
  }

 private:
  const absl::FlagSaver saver_;
  std::string file_;
};

TEST_F(OptionsTest, DefaultsAreGood) {
  const auto options = OptionsFromFlags();
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->adapter.organization, "acme");
  EXPECT_EQ(options->adapter.edition, Edition::kCurrent);
  EXPECT_FALSE(options->adapter.ready_condition) << "the reference's conditions, exactly";
  EXPECT_THAT(
      options->adapter.control_plane_namespaces,
      ElementsAre("hpc-verification", "kube-system", "muster-system", "node-problem-detector"));
  EXPECT_FALSE(options->adapter.lease.identity.empty());
  EXPECT_FALSE(options->adapter.adopt);
  EXPECT_EQ(options->adapter.endpoint.server, "http://127.0.0.1:1");
}

TEST_F(OptionsTest, EveryBadValueNamesItsFlag) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> bad = {
      {"organization", {"", "Acme", "-a", "a.b"}},
      {"cluster", {"", "C1", std::string(64, 'a')}},
      {"zone", {"", "us-east-04a"}},
      {"server", {"", "SET_ME", "host", "host:0", "dns:///host"}},
      {"condition_edition", {"", "First", "second"}},
      {"control_plane_namespaces", {"kube-system,Bad", "kube-system,"}},
      {"events_per_minute", {"0", "-1", "60001"}},
      {"node_pool_workers", {"0", "33"}},
      {"node_workers", {"0", "33"}},
      {"refusal_retry", {"-1s", "99ms", "61m"}},
      {"removals_unasked", {"-1", "100001"}},
      {"removals_unasked_percent", {"-1", "101"}},
      {"lease_namespace", {"", "A"}},
      {"lease_name", {"", "a_b"}},
      {"lease_duration", {"61m", "inf"}},
      {"lease_renew_deadline", {"15s", "1h"}},
      {"lease_retry_period", {"10s", "99ms", "0", "-1s"}},
      {"metrics_listen", {"", "7604", "x:", "0.0.0.0:76000", "unix:/run/muster.sock"}},
      {"health_listen", {"", "7605", "x:", "0.0.0.0:65536"}},
      {"kubernetes_version", {"v1.33", "1", "1.33.1", "1.", "newest"}},
  };
  for (const auto& [flag, values] : bad) {
    for (const std::string& value : values)
      EXPECT_THAT(Faults(flag, value), ElementsAre("--" + flag)) << flag << "=" << value;
  }
}

TEST_F(OptionsTest, GoodValuesAreTaken) {
  for (const auto& [flag, value] : std::vector<std::pair<std::string, std::string>>{
           {"condition_edition", "both"},
           {"events_per_minute", "60000"},
           {"node_workers", "32"},
           {"lease_duration", "1h"},
           {"lease_retry_period", "100ms"},
           {"lease_name", "a.b"},
           {"server", "dns:///muster.example.org:7600"},
           {"server", "unix:/run/muster.sock"},
           {"kubernetes_version", "1.33"},
           {"kubernetes_version", ""},
           {"health_listen", "0.0.0.0:65535"}}) {
    EXPECT_THAT(Faults(flag, value), IsEmpty()) << flag;
  }
  absl::SetFlag(&FLAGS_condition_edition, "first");
  absl::SetFlag(&FLAGS_ready_condition, true);
  absl::SetFlag(&FLAGS_lease_identity, "me");
  EXPECT_EQ(OptionsFromFlags()->adapter.edition, Edition::kFirst);
  EXPECT_TRUE(OptionsFromFlags()->adapter.ready_condition);
  EXPECT_EQ(OptionsFromFlags()->adapter.lease.identity, "me");
}

TEST_F(OptionsTest, NamesEveryFaultAtOnce) {
  absl::SetFlag(&FLAGS_organization, "");
  EXPECT_THAT(Faults("zone", ""), ElementsAre("--organization", "--zone"));
}

TEST_F(OptionsTest, AKubeconfigThatIsNotThereIsNamed) {
  absl::SetFlag(&FLAGS_kubeconfig, "/nowhere/config");
  const auto options = OptionsFromFlags();
  ASSERT_FALSE(options.ok());
  EXPECT_THAT(std::string(options.status().message()), ::testing::HasSubstr("/nowhere/config"));
}

TEST_F(OptionsTest, AContextNeedsItsKubeconfig) {
  EXPECT_THAT(Faults("kube_context", "c"), IsEmpty());
  absl::SetFlag(&FLAGS_kubeconfig, "");
  EXPECT_THAT(Faults("kube_context", "prod"), Contains("--kube_context"));
}

TEST_F(OptionsTest, ATokenStandsInTheSteadOfACertificate) {
  EXPECT_THAT(Faults("token_file", "/token"), ElementsAre("--tls_ca_file"));
  absl::SetFlag(&FLAGS_tls_ca_file, "/ca.crt");
  EXPECT_THAT(Faults("token_file", "/token"), IsEmpty());
  absl::SetFlag(&FLAGS_token_file, "/token");
  for (const char* flag : {"tls_cert_file", "tls_key_file", "trust_domain"})
    EXPECT_THAT(Faults(flag, "muster.test"), ElementsAre(absl::StrCat("--", flag)));
  const auto options = OptionsFromFlags();
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_FALSE(options->tls.has_value());
  ASSERT_TRUE(options->token.has_value());
  EXPECT_EQ(options->token->token, "/token");
  EXPECT_EQ(options->token->authority, "/ca.crt");
}

TEST_F(OptionsTest, FilesOfATokenAreLookedAt) {
  const std::string token = absl::StrCat(::testing::TempDir(), "/options_test_token_", getpid());
  std::ofstream(token) << "abc\n";
  const std::string file = absl::StrCat(::testing::TempDir(), "/options_test_flags_", getpid());
  for (const auto& [path, fault] : std::vector<std::pair<std::string, std::string>>{
           {"/nowhere/token", ":1: --token_file /nowhere/token cannot be read"},
           {token, ":2: --tls_ca_file /nowhere/ca cannot be read"}}) {
    std::ofstream(file) << "--token_file=" << path << "\n--tls_ca_file=/nowhere/ca\n";
    std::ostringstream said;
    EXPECT_EQ(daemon::CheckConfig({file}, CheckFlags, said), 1);
    EXPECT_THAT(said.str(), StartsWith(file + fault));
  }
  unlink(file.c_str());
  unlink(token.c_str());
}

TEST_F(OptionsTest, FaultsOfEveryKindAreToldAtOnce) {
  const std::string file = absl::StrCat(::testing::TempDir(), "/options_test_flags_", getpid());
  std::ofstream(file) << "--log_level=loud\n--organization=\n--kubeconfig=/nowhere/config\n"
                         "--tls_cert_file=/nowhere/cert\n--tls_key_file=/nowhere/key\n"
                         "--tls_ca_file=/nowhere/ca\n--trust_domain=muster.test\n";
  std::ostringstream said;
  EXPECT_EQ(daemon::CheckConfig({file}, CheckFlags, said), 1);
  unlink(file.c_str());
  const std::vector<std::string> lines = absl::StrSplit(said.str(), '\n', absl::SkipEmpty());
  EXPECT_THAT(lines, ElementsAre(StartsWith(file + ":1: --log_level is \"loud\""),
                                 StartsWith(file + ":2: --organization is required"),
                                 StartsWith(file + ":3: --kubeconfig "),
                                 StartsWith(file + ":4: --tls_cert_file /nowhere/cert ")));
}

}  // namespace
}  // namespace muster::kubernetes
