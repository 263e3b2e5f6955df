#include "services/common/read_file.h"

#include <gtest/gtest.h>

#include <istream>

#include "tests/testing/broken_disk.h"
#include "tests/testing/temp_folder.h"

namespace muster {
namespace {

TEST(ReadFileTest, HasAllOfIt) {
  const testing::TempFolder folder;
  const std::string text("a\n\0b", 4);
  std::ofstream(folder.Path("some")) << text;
  std::ofstream(folder.Path("none")) << "";
  EXPECT_EQ(ReadFile(folder.Path("some")), text);
  EXPECT_EQ(ReadFile(folder.Path("none")), "");
}

TEST(ReadFileTest, WhatIsNotThereOrAFolderCannotBeRead) {
  const testing::TempFolder folder;
  EXPECT_EQ(ReadFile(folder.Path("nowhere")), std::nullopt);
  EXPECT_EQ(ReadFile(folder.path()), std::nullopt);
}

TEST(ReadFileTest, WhatFailsMidwayCannotBeRead) {
  testing::BrokenDisk disk("page");
  std::istream in(&disk);
  EXPECT_EQ(ReadAll(in), std::nullopt);
}

}  // namespace
}  // namespace muster
