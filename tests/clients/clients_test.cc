// Each of the clients of deploy/clients against a whole Muster, built and run as a user does.
#include <gmock/gmock.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/clients/stubs.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {
namespace {

using ::testing::ContainsRegex;

class ClientsTest : public ::testing::Test {
 protected:
  ClientsTest() { muster_.ApplyCatalogue(); }

  // What every client says and leaves behind. `name`: of its pool.
  void Expect(const Finished& run, const std::string& name) {
    EXPECT_EQ(run.exit_code, 0) << run.output << muster_.LogEnds();
    EXPECT_THAT(run.output,
                ContainsRegex("ready: 2 Nodes\n"
                              "refused: (.*\n)*.*QUOTA_EXCEEDED(.*\n)*.*limit 24, held [0-9]+"
                              "(.*\n)*refused: (.*\n)*.*target_nodes(.*\n)*"
                              "ready: 3 Nodes\n"
                              "deleted\n$"));
    EXPECT_TRUE(
        muster_.AwaitPool(absl::StrCat("organizations/acme/clusters/example/nodePools/", name),
                          [](const auto* pool) { return pool == nullptr; }));
    EXPECT_EQ(muster_.CheckBooks(0), "");
  }

  MiniMuster muster_;
  TempFolder folder_;
};

TEST_F(ClientsTest, Python) {
  Expect(RunAlone({"PYTHONPATH=" + Wheel(), "PYTHONDONTWRITEBYTECODE=1"},
                  {"/usr/bin/python3", MUSTER_CLIENTS "/python/client.py", muster_.address()}),
         "python");
}

TEST(PythonClientTest, HasAtMostFortyLines) {
  const std::string text = ReadFile(MUSTER_CLIENTS "/python/client.py");
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 40);
}

TEST_F(ClientsTest, Go) {
  const Finished built =
      RunGo({"build", "-o", folder_.Path("client"), MUSTER_CLIENTS "/go/main.go"});
  ASSERT_EQ(built.exit_code, 0) << built.output;
  Expect(RunAlone({"GRPC_GO_RETRY=on"}, {folder_.Path("client"), muster_.address()}), "go");
}

TEST_F(ClientsTest, Cpp) {
  const Finished configured =
      RunAlone({}, {"/usr/bin/cmake", "-S", MUSTER_CLIENTS "/cpp", "-B", folder_.path(),
                    "-DCMAKE_PREFIX_PATH=" MUSTER_STUBS "/cpp"});
  ASSERT_EQ(configured.exit_code, 0) << configured.output;
  const Finished built = RunAlone({}, {"/usr/bin/cmake", "--build", folder_.path()});
  ASSERT_EQ(built.exit_code, 0) << built.output;
  Expect(RunAlone({}, {folder_.Path("client"), muster_.address()}), "cpp");
}

}  // namespace
}  // namespace muster::testing
