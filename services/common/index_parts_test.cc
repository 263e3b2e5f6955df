#include "services/common/index_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "services/common/testing/compare_indexes.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Numbers {
  std::set<int> all = {};
};

const std::set<int>& AllOf(const Numbers& numbers) { return numbers.all; }

constexpr int kSize = 2 * static_cast<int>(kPiece) + 500;

class IndexPartsTest : public ::testing::Test {
 protected:
  IndexPartsTest() {
    for (int i = 0; i < kSize; ++i) tables_.all.insert(10 * i);
    AddRanges(tables_, "Numbers", AllOf, parts_);
  }
  std::vector<std::string> Faults(const Numbers& memory) {
    return CompareIndexes(parts_, memory, tables_);
  }
  Numbers tables_;
  std::vector<IndexPart<Numbers>> parts_;
};

TEST_F(IndexPartsTest, NothingIsWrongWithTheSame) {
  EXPECT_THAT(parts_, SizeIs(3));
  EXPECT_THAT(Faults(tables_), IsEmpty());
}

TEST_F(IndexPartsTest, WhatIsMissingOrTooMuchIsToldOnceWhereverItIs) {
  const auto fault = ElementsAre("Numbers: the index is not the one that the rows give.");
  const int ends = 10 * static_cast<int>(kPiece);
  for (const int number : {0, 10, ends - 10, ends, 2 * ends - 10, 2 * ends, 10 * (kSize - 1)}) {
    Numbers memory = tables_;
    memory.all.erase(number);
    EXPECT_THAT(Faults(memory), fault) << number;
  }
  for (const int number : {-1, 1, ends - 1, ends + 1, 2 * ends + 1, 10 * kSize}) {
    Numbers memory = tables_;
    memory.all.insert(number);
    EXPECT_THAT(Faults(memory), fault) << number;
  }
}

// What a part has copied is as of then.
TEST_F(IndexPartsTest, APartOwnsWhatItCopied) {
  Numbers memory = tables_;
  const IndexComparison<Numbers> first = parts_[0](memory);
  memory.all.clear();
  EXPECT_THAT(first(tables_), IsEmpty());
  tables_.all.erase(0);
  EXPECT_THAT(first(tables_), SizeIs(1));
}

TEST_F(IndexPartsTest, OfNothingThereIsOnePart) {
  std::vector<IndexPart<Numbers>> parts;
  AddRanges(Numbers(), "Numbers", AllOf, parts);
  EXPECT_THAT(parts, SizeIs(1));
  EXPECT_THAT(CompareIndexes(parts, tables_, Numbers()), SizeIs(1));
}

}  // namespace
}  // namespace muster
