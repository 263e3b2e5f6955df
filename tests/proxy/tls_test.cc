// The same by TLS: callers with bearer tokens, of whom the servers see no certificate.
#include <gmock/gmock.h>

#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/mini_muster.h"
#include "tests/proxy/nginx.h"
#include "tests/testing/issuer.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

class TlsProxyTest : public ::testing::Test {
 protected:
  TlsProxyTest() {
    issuer_.AddRsaKey("rsa");
    std::ofstream(folder_.Path("keys.json")) << issuer_.KeySet();
    muster_ = std::make_unique<MiniMuster>(MiniMuster::Options{
        .musterd_flags = {"--token_keys_file=" + folder_.Path("keys.json"),
                          absl::StrCat("--token_issuer=", Issuer::kName),
                          absl::StrCat("--token_audience=", Issuer::kAudience)},
        .tls = true,
        .bindings = {"- {role: viewer, principals: [token/ann], organizations: [acme]}"}});
    Nginx::Changes changes = Nginx::ToTls(*muster_->authority());
    muster_->Kill();
    muster_->Start();
    muster_->ApplyCatalogue();
    for (const char* shown :
         {"127.0.0.1:7611", "127.0.0.1:7612", "127.0.0.1:7613", "127.0.0.1:7614"})
      changes.emplace_back(shown, muster_->address());
    nginx_.Start(std::move(changes));
  }
  ~TlsProxyTest() override {
    if (HasFailure()) std::cerr << muster_->LogEnds() << nginx_.Log();
  }

  Finished CtlAs(const std::string& subject, std::vector<std::string> words) const {
    std::ofstream(folder_.Path("token")) << issuer_.TokenOf(subject) << "\n";
    words.insert(words.begin(), {Binary("musterctl"), "--server=" + nginx_.address(),
                                 "--certificate-authority=" + muster_->authority()->authority(),
                                 "--token-file=" + folder_.Path("token")});
    return RunProgram(words);
  }

  TempFolder folder_;
  Issuer issuer_;
  std::unique_ptr<MiniMuster> muster_;
  Nginx nginx_;
};

TEST_F(TlsProxyTest, ATokenNamesItsCaller) {
  const Finished who = CtlAs("ann", {"auth", "whoami"});
  EXPECT_EQ(who.exit_code, 0) << who.output;
  EXPECT_THAT(who.output, HasSubstr("token/ann"));
  const Finished quotas = CtlAs("ann", {"get", "quotas"});
  EXPECT_EQ(quotas.exit_code, 0) << quotas.output;
  EXPECT_THAT(quotas.output, HasSubstr("gd-8xa100-i128"));
  const Finished stranger = CtlAs("eve", {"get", "nodepools"});
  EXPECT_EQ(stranger.exit_code, 1);
  EXPECT_THAT(stranger.output, HasSubstr("`token/eve` may not call ListNodePools"));
}

}  // namespace
}  // namespace muster::testing
