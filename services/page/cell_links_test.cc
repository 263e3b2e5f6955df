#include "services/page/cell_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::page {
namespace {

using ::testing::HasSubstr;

TEST(CellLinks, AreNamesAndPages) {
  const auto links = ParseCellLinks({"east=http://127.0.0.1:7605", "west=https://w.example.org/"});
  ASSERT_TRUE(links.ok()) << links.status();
  ASSERT_EQ(links->size(), 2u);
  EXPECT_EQ(links->at(0).cell, "east");
  EXPECT_EQ(links->at(0).url, "http://127.0.0.1:7605/");
  EXPECT_EQ(links->at(1).url, "https://w.example.org/");
  EXPECT_TRUE(ParseCellLinks({})->empty());
}

TEST(CellLinks, AllElseIsRefused) {
  for (const char* word :
       {"", "west", "=http://w/", "west=", "west=w.example.org", "west=javascript:alert(1)",
        "west=http://", "west=http:///", "west=http://w/a", "west=http://w/?a", "west=http://w#a",
        "west=http://w x", "west=https://w\"", "west=file:///etc/passwd"}) {
    const absl::Status status = ParseCellLinks({word}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << word;
    EXPECT_THAT(std::string(status.message()), HasSubstr(word));
  }
  EXPECT_THAT(std::string(ParseCellLinks({"a=http://w", "a=http://v"}).status().message()),
              HasSubstr("\"a\" is there twice"));
}

}  // namespace
}  // namespace muster::page
