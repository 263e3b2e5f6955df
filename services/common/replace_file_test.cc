#include "services/common/replace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/testing/temp_folder.h"

namespace muster {
namespace {

using ::testing::UnorderedElementsAre;

std::vector<std::string> Names(const testing::TempFolder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    names.push_back(entry.path().filename().string());
  return names;
}

mode_t ModeOf(const std::string& path) {
  struct stat is = {};
  EXPECT_EQ(stat(path.c_str(), &is), 0);
  return is.st_mode & 0777;
}

TEST(ReplaceFile, ReadersOfTheOldOneKeepIt) {
  const testing::TempFolder folder;
  const std::string path = folder.Path("file");
  ASSERT_TRUE(ReplaceFile(path, "old"));
  std::ifstream reader(path);
  ASSERT_TRUE(ReplaceFile(path, "the new one", {.durable = true}));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(reader), {}), "old");
  EXPECT_EQ(folder.Text("file"), "the new one");
  EXPECT_THAT(Names(folder), UnorderedElementsAre("file"));
}

TEST(ReplaceFile, HasTheRightsThatItIsToHave) {
  const testing::TempFolder folder;
  std::ofstream(folder.Path("file.new")) << "left by a killed program, for all to read";
  ASSERT_TRUE(ReplaceFile(folder.Path("file"), "secret", {.mode = 0600}));
  EXPECT_EQ(ModeOf(folder.Path("file")), 0600u);
}

TEST(ReplaceFile, WhatCannotBeWrittenIsAsItWas) {
  const testing::TempFolder folder;
  EXPECT_FALSE(ReplaceFile(folder.Path("nowhere/file"), "text"));
  std::filesystem::create_directory(folder.Path("folder"));
  EXPECT_FALSE(ReplaceFile(folder.Path("folder"), "text"));
  EXPECT_THAT(Names(folder), UnorderedElementsAre("folder"));
}

// Of root's /dev/null a file would be made, into which all programs of the machine write.
TEST(ReplaceFile, WhatIsNoFileStays) {
  const testing::TempFolder folder;
  ASSERT_EQ(mkfifo(folder.Path("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("pipe", folder.Path("link"));
  for (const char* name : {"pipe", "link"}) {
    EXPECT_FALSE(ReplaceFile(folder.Path(name), "text")) << name;
    EXPECT_TRUE(std::filesystem::is_fifo(folder.Path(name))) << name;
  }
  EXPECT_TRUE(std::filesystem::is_symlink(folder.Path("link")));
  EXPECT_THAT(Names(folder), UnorderedElementsAre("pipe", "link"));
}

}  // namespace
}  // namespace muster
