#include "services/access/policy_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_folder.h"

namespace muster::access {
namespace {

using ::muster::testing::HasFieldViolation;
using ::muster::testing::IsOk;
using ::testing::HasSubstr;

constexpr char kViewer[] = "bindings: [{role: viewer, principals: [local], everywhere: true}]";
constexpr char kEditor[] = "bindings: [{role: editor, principals: [local], everywhere: true}]";

class PolicyFileTest : public ::testing::Test {
 protected:
  PolicyFileTest() { Write(kViewer); }

  void Write(absl::string_view text) { std::ofstream(path_) << text; }
  std::unique_ptr<PolicyFile> Open() {
    // The tests look themselves.
    auto file = PolicyFile::Create({.path = path_, .interval = absl::Hours(1)});
    EXPECT_THAT(file.status(), IsOk());
    return *std::move(file);
  }
  static bool MayWrite(const PolicyFile& file) {
    return !file.current()->RightsOf("local")->Of(Verb::kWrite).empty();
  }

  testing::TempFolder folder_;
  const std::string path_ = folder_.Path("policy.yaml");
};

TEST_F(PolicyFileTest, WhatIsPutInItsPlaceCountsOnceTwoLooksFoundTheSame) {
  const auto file = Open();
  int changes = 0;
  file->OnChange([&] { ++changes; });
  EXPECT_FALSE(MayWrite(*file));
  Write(kEditor);
  EXPECT_THAT(file->Look(), IsOk());
  EXPECT_FALSE(MayWrite(*file)) << "it may be half written";
  EXPECT_EQ(changes, 0);
  EXPECT_THAT(file->Look(), IsOk());
  EXPECT_TRUE(MayWrite(*file));
  EXPECT_EQ(changes, 1);
  EXPECT_THAT(file->Look(), IsOk());
  EXPECT_EQ(changes, 1);
  EXPECT_EQ(file->stats().taken, 2);
  EXPECT_EQ(file->stats().refused, 0);
}

TEST_F(PolicyFileTest, WhatCannotBeUsedLeavesTheLast) {
  Write(kEditor);
  const auto file = Open();
  const std::string hash = file->current()->hash();
  for (const char* bad : {"bindings: [", "", "bindings: []"}) {
    Write(bad);
    const int64_t before = file->stats().refused;
    EXPECT_THAT(file->Look(), ::testing::_);
    EXPECT_FALSE(file->Look().ok()) << bad;
    EXPECT_FALSE(file->Look().ok()) << bad;
    EXPECT_EQ(file->stats().refused, before + 1) << "told of once";
    EXPECT_TRUE(file->stats().refused_now);
    EXPECT_EQ(file->current()->hash(), hash);
  }
  std::filesystem::remove(path_);
  EXPECT_THAT(file->Reload(), HasFieldViolation("--policy_file"));
  EXPECT_TRUE(MayWrite(*file));
  Write(kViewer);
  EXPECT_THAT(file->Reload(), IsOk()) << "who asks for it need not be patient";
  EXPECT_FALSE(MayWrite(*file));
  EXPECT_FALSE(file->stats().refused_now);
}

TEST_F(PolicyFileTest, TheFaultNamesFileAndField) {
  Write("bindings:\n- {role: root, principals: [local], everywhere: true}\n");
  const absl::Status status = PolicyFile::Create({.path = path_}).status();
  EXPECT_THAT(status.message(), HasSubstr(path_ + ": bindings[0].role"));
  EXPECT_THAT(status.message(), HasSubstr("(line 2)"));
  EXPECT_THAT(ReadPolicy(folder_.Path("none")).status().message(), HasSubstr("cannot be read"));
}

TEST_F(PolicyFileTest, WithoutOneWhatIsFixedCounts) {
  const auto file = PolicyFile::Create({.fixed = Policy::Open(false)});
  ASSERT_THAT(file.status(), IsOk());
  EXPECT_TRUE(MayWrite(**file));
  EXPECT_THAT((*file)->Reload(), IsOk());
}

TEST_F(PolicyFileTest, IsLookedAtByItself) {
  const auto file = PolicyFile::Create({.path = path_, .interval = absl::Milliseconds(1)});
  ASSERT_THAT(file.status(), IsOk());
  Write(kEditor);
  while (!MayWrite(**file)) absl::SleepFor(absl::Milliseconds(1));
  Write("no policy");
  while ((*file)->stats().refused == 0) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_TRUE(MayWrite(**file));
}

}  // namespace
}  // namespace muster::access
