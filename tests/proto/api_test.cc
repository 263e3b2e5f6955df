#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <iostream>

#include "absl/strings/match.h"
#include "tests/proto/annotations.h"
#include "tests/proto/lint.h"

namespace muster::proto_lint {
namespace {

using google::protobuf::FileDescriptor;

constexpr char kRegenerate[] = "MUSTER_WRITE_GOLDEN=1 ctest --preset dev -R proto_api_test";

// The API as it was built: every file below muster/.
class ApiTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const FileDescriptor* file : api_.files) {
      if (absl::StartsWith(file->name(), "muster/")) files_.push_back(file);
    }
    ASSERT_FALSE(files_.empty());
  }

  std::vector<std::string> SurfaceOfAll() const {
    std::vector<std::string> lines;
    for (const FileDescriptor* file : files_) {
      for (const auto& more : {Surface(*file), HttpSurface(*file)})
        lines.insert(lines.end(), more.begin(), more.end());
    }
    std::sort(lines.begin(), lines.end());
    return lines;
  }

  const BuiltApi api_ = LoadApi(MUSTER_DESCRIPTORS);
  std::vector<const FileDescriptor*> files_ = {};
};

TEST_F(ApiTest, IsWellFormedAndCommented) {
  for (const FileDescriptor* file : files_) {
    for (const std::string& fault : Lint(*file)) ADD_FAILURE() << fault;
  }
}

TEST_F(ApiTest, AnnotationsSayWhatCommentsSay) {
  for (const std::string& fault : LintAnnotations(files_)) ADD_FAILURE() << fault;
}

TEST_F(ApiTest, KeepsEveryFieldThatClientsRelyOn) {
  const std::vector<std::string> now = SurfaceOfAll();
  if (getenv("MUSTER_WRITE_GOLDEN") != nullptr) {
    std::ofstream out(MUSTER_GOLDEN);
    for (const std::string& line : now) out << line << "\n";
  }
  std::vector<std::string> golden;
  std::ifstream in(MUSTER_GOLDEN);
  for (std::string line; std::getline(in, line);) golden.push_back(line);
  ASSERT_FALSE(golden.empty()) << MUSTER_GOLDEN;
  for (const std::string& line : Broken(golden, now)) {
    ADD_FAILURE() << "removed, renumbered or retyped: " << line
                  << "\nClients rely on it. If it must be so: " << kRegenerate;
  }
  const std::vector<std::string> added = Broken(now, golden);
  for (const std::string& line : added) std::cout << "new: " << line << "\n";
  if (!added.empty()) std::cout << "To keep them from now on: " << kRegenerate << "\n";
}

}  // namespace
}  // namespace muster::proto_lint
