// deploy/clients/surprises.md names tests that there are.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/clients/stubs.h"

namespace muster::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

TEST(SurprisesTest, EachIsHeldByTestsThatThereAre) {
  int rows = 0;
  const std::vector<std::string> lines =
      absl::StrSplit(ReadFile(MUSTER_CLIENTS "/surprises.md"), '\n');
  for (const std::string& line : lines) {
    const std::vector<std::string> cells = absl::StrSplit(line, " | ");
    if (cells.size() != 3 || !absl::StrContains(cells[2], '`')) continue;
    ++rows;
    // `FILE` `SUITE.TEST`, `SUITE.TEST`; `FILE` ...
    std::string file;
    int tests = 0;
    const std::vector<std::string> parts = absl::StrSplit(cells[2], '`');
    for (size_t i = 1; i < parts.size(); i += 2) {
      if (absl::StrContains(parts[i], '/')) {
        file = ReadFile(absl::StrCat(MUSTER_SOURCE "/", parts[i]));
        continue;
      }
      const std::vector<std::string> name = absl::StrSplit(parts[i], '.');
      ASSERT_EQ(name.size(), 2) << parts[i];
      const std::string test = absl::StrCat("(", name[0], ", ", name[1], ")");
      EXPECT_THAT(file, AnyOf(HasSubstr("TEST" + test), HasSubstr("TEST_F" + test))) << line;
      ++tests;
    }
    EXPECT_GT(tests, 0) << line;
  }
  EXPECT_EQ(rows, 11);
}

}  // namespace
}  // namespace muster::testing
