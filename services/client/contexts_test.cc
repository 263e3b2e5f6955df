// The file itself is tested with musterctl's `config`
// (services/musterctl/commands/contexts_test.cc).
#include "services/client/contexts.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "services/client/options.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_folder.h"

namespace muster::client {
namespace {

using ::muster::testing::StatusIs;
using ::testing::HasSubstr;

class OptionsFromContextTest : public ::testing::Test {
 protected:
  OptionsFromContextTest() {
    setenv("MUSTER_CONFIG", path_.c_str(), 1);
    unsetenv("MUSTER_CONTEXT");
    std::ofstream(path_) << "currentContext: lab\n"
                            "contexts:\n"
                            "- {name: lab, server: lab:1}\n"
                            "- {name: none, cluster: c}\n"
                            "- {name: tls, server: s:1, clientKey: k}\n";
  }

  testing::TempFolder folder_;
  const std::string path_ = folder_.Path("config.yaml");
};

TEST_F(OptionsFromContextTest, OfTheNamedTheEnvironmentsOrTheCurrentOne) {
  EXPECT_EQ(OptionsFromContext()->server, "lab:1");
  setenv("MUSTER_CONTEXT", "none", 1);
  EXPECT_EQ(OptionsFromContext("lab")->server, "lab:1");
  EXPECT_THAT(OptionsFromContext().status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("server: context \"none\" names none")));
}

TEST_F(OptionsFromContextTest, SaysWhatIsMissing) {
  EXPECT_THAT(
      OptionsFromContext("tls").status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("clientCertificate: is required")));
  EXPECT_THAT(
      OptionsFromContext("nosuch").status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("there is no context \"nosuch\"")));
  EXPECT_THAT(OptionsFromContext("lab,tls").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("are several contexts")));
  std::ofstream(path_) << "contexts: []\n";
  EXPECT_THAT(OptionsFromContext().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("none is current")));
  std::ofstream(path_) << "contexts: {}\n";
  EXPECT_THAT(OptionsFromContext().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path_ + ", line 1: ")));
  std::ofstream(path_) << "currentContext: lab\ncontexts: [{name: l\xe4"
                          "b, server: lab:1}]\n";
  EXPECT_THAT(OptionsFromContext().status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(path_ + ", line 2: is not UTF-8 text")));
}

TEST(ContextsLockTest, LeavesNothingBesideWhatIsNoFile) {
  const testing::TempFolder folder;
  ASSERT_EQ(mkfifo(folder.Path("pipe").c_str(), 0600), 0);
  { const ContextsLock lock(folder.Path("pipe")); }
  EXPECT_FALSE(std::filesystem::exists(folder.Path("pipe.lock")));
  { const ContextsLock lock(folder.Path("config.yaml")); }
  EXPECT_TRUE(std::filesystem::exists(folder.Path("config.yaml.lock")));
}

}  // namespace
}  // namespace muster::client
