// What `stubs` made is whole, and works without our tree.
#include "tests/clients/stubs.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_replace.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Imports all of it; says which google/rpc and google/api it took, and what an error's details and
// a method's path are.
constexpr char kImportAll[] = R"(
import importlib, pkgutil, sys
import muster
for module in pkgutil.walk_packages(muster.__path__, "muster."):
    if "_bundled" not in module.name:
        importlib.import_module(module.name)
from muster.google_api import annotations_pb2
from muster.google_rpc import error_details_pb2, status_pb2
from muster.lifecycle.v1 import lifecycle_service_pb2
assert lifecycle_service_pb2.ReportNodesResponse(results=[status_pb2.Status(code=5)]).results[0].code == 5
status = status_pb2.Status(code=8)
status.details.add().Pack(error_details_pb2.ErrorInfo(reason="QUOTA_EXCEEDED", domain="muster"))
status.details.add().type_url = "type.googleapis.com/somebody.Elses"
assert [detail.reason for detail in muster.error_details(status)] == ["QUOTA_EXCEEDED"]
assert "retryPolicy" in muster.SERVICE_CONFIG
get = lifecycle_service_pb2.DESCRIPTOR.services_by_name["LifecycleService"].methods_by_name["GetNodePool"]
assert get.GetOptions().Extensions[annotations_pb2.http].get == "/v1/{name=organizations/*/clusters/*/nodePools/*}"
print("google/rpc of", status_pb2.__name__)
print("google/api of", annotations_pb2.__name__)
)";

class WheelTest : public ::testing::Test {
 protected:
  // Runs `kImportAll`, with these folders and archives to import from.
  Finished ImportAll(const std::string& path) {
    std::ofstream(folder_.Path("import_all.py")) << kImportAll;
    return RunAlone({"PYTHONPATH=" + path, "PYTHONDONTWRITEBYTECODE=1"},
                    {"/usr/bin/python3", folder_.Path("import_all.py")});
  }

  TempFolder folder_;
};

TEST_F(WheelTest, WorksAsItIs) {
  const Finished imported = ImportAll(Wheel());
  EXPECT_EQ(imported.exit_code, 0) << imported.output;
  EXPECT_THAT(imported.output, HasSubstr("google/rpc of muster.google_rpc_bundled.status_pb2"));
  EXPECT_THAT(imported.output,
              HasSubstr("google/api of muster.google_api_bundled.annotations_pb2"));
}

TEST_F(WheelTest, IsInstalledByPipWithoutANetwork) {
  const Finished installed =
      RunAlone({}, {"/usr/bin/python3", "-m", "pip", "install", "--no-index", "--no-cache-dir",
                    "--break-system-packages", "--prefix", folder_.path(), Wheel()});
  ASSERT_EQ(installed.exit_code, 0) << installed.output;
  const Finished found = RunProgram({"/usr/bin/find", folder_.path(), "-name", "py.typed"});
  const std::string typed = found.output.substr(0, found.output.find('\n'));
  const Finished imported =
      ImportAll(std::filesystem::path(typed).parent_path().parent_path().string());
  EXPECT_EQ(imported.exit_code, 0) << imported.output;
}

// Two of one name would not be let into one program: the user's own is taken.
TEST_F(WheelTest, TakesTheUsersGoogleWhereThereIsOne) {
  std::filesystem::create_directories(folder_.Path("in/google/rpc"));
  std::filesystem::create_directories(folder_.Path("in/google/api"));
  std::filesystem::create_directories(folder_.Path("theirs"));
  for (const char* name : {"rpc/code", "rpc/error_details", "rpc/status", "api/http",
                           "api/annotations", "api/field_behavior", "api/resource"}) {
    const std::string file = absl::StrCat("/google/", name, ".proto");
    const std::string text = ReadFile(absl::StrCat(MUSTER_GOOGLEAPIS, file));
    const std::string theirs =
        absl::StrReplaceAll(text, {{"option go_package = \"", "option go_package = \"theirs/"}});
    ASSERT_NE(text, theirs);
    std::ofstream(folder_.Path("in" + file)) << theirs;
    const Finished made =
        RunProgram({"/usr/bin/protoc", "-I", folder_.Path("in"),
                    "--python_out=" + folder_.Path("theirs"), folder_.Path("in" + file)});
    ASSERT_EQ(made.exit_code, 0) << made.output;
  }
  const Finished imported = ImportAll(absl::StrCat(folder_.Path("theirs"), ":", Wheel()));
  EXPECT_EQ(imported.exit_code, 0) << imported.output;
  EXPECT_THAT(imported.output, HasSubstr("google/rpc of google.rpc.status_pb2"));
  EXPECT_THAT(imported.output, HasSubstr("google/api of google.api.annotations_pb2"));
}

TEST_F(WheelTest, PutsNothingIntoTheUsersPackages) {
  const Finished listed = RunAlone({}, {"/usr/bin/python3", "-m", "zipfile", "-l", Wheel()});
  ASSERT_EQ(listed.exit_code, 0) << listed.output;
  EXPECT_THAT(listed.output, HasSubstr("\nmuster/lifecycle/v1/lifecycle_service_pb2_grpc.py"));
  EXPECT_THAT(listed.output, Not(HasSubstr("\ngoogle/")));
}

// The folder of protos, and its descriptors, from which a proxy makes what errors tell, too.
TEST(Protos, WantNothingBesideThemselves) {
  constexpr char kService[] = "muster/lifecycle/v1/lifecycle_service.proto";
  for (const char* from : {"--proto_path=" MUSTER_STUBS "/proto",
                           "--descriptor_set_in=" MUSTER_STUBS "/proto/muster.binpb"}) {
    const Finished read = RunAlone({}, {"/usr/bin/protoc", from, "--descriptor_set_out=/dev/null",
                                        kService, "google/rpc/error_details.proto"});
    EXPECT_EQ(read.exit_code, 0) << from << ": " << read.output;
  }
}

TEST(GoModule, IsBuiltWithDebiansPackages) {
  const Finished built = RunGo({"build", "muster.example/api/..."});
  EXPECT_EQ(built.exit_code, 0) << built.output;
}

TEST(GoModule, IsAModule) {
  const Finished read = RunAlone({}, {"/usr/bin/go", "mod", "edit", "-json",
                                      MUSTER_STUBS "/go/src/muster.example/api/go.mod"});
  EXPECT_EQ(read.exit_code, 0) << read.output;
  EXPECT_THAT(read.output, HasSubstr("\"Path\": \"muster.example/api\""));
  EXPECT_THAT(read.output, HasSubstr("\"Path\": \"google.golang.org/grpc\""));
  // Before it was divided it had the same packages: beside gRPC of today they would be there twice.
  EXPECT_THAT(read.output, HasSubstr("\"google.golang.org/genproto/googleapis/api\""));
  EXPECT_THAT(read.output, HasSubstr("\"google.golang.org/genproto/googleapis/rpc\""));
  EXPECT_THAT(read.output, Not(HasSubstr("\"google.golang.org/genproto\"")));
}

}  // namespace
}  // namespace muster::testing
