#include "services/page/core/change_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace muster::page {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Told {
  std::vector<ChangeLog::Row> rows;
  uint64_t position = 0;
};

Told TellAfter(const ChangeLog& log, uint64_t position, size_t most = 1000) {
  Told told;
  told.position = log.TellAfter(position, most,
                                [&](ChangeLog::Row row, uint64_t) { told.rows.push_back(row); });
  return told;
}

TEST(ChangeLogTest, TellsEachRowOnceAndInTheOrderOfItsLastChange) {
  ChangeLog log;
  for (const ChangeLog::Row row : {5U, 6U, 7U, 5U}) log.Touch(row);
  EXPECT_THAT(TellAfter(log, 0).rows, ElementsAre(6, 7, 5));
  EXPECT_EQ(TellAfter(log, 0).position, 4);
  EXPECT_THAT(TellAfter(log, 3).rows, ElementsAre(5));
  EXPECT_THAT(TellAfter(log, 4).rows, IsEmpty());
}

TEST(ChangeLogTest, WhoTakesPiecesGetsTheRestAndWhatChangedMeanwhile) {
  ChangeLog log;
  for (const ChangeLog::Row row : {1U, 2U, 3U, 4U}) log.Touch(row);
  const Told first = TellAfter(log, 0, 2);
  EXPECT_THAT(first.rows, ElementsAre(1, 2));
  log.Touch(1);
  EXPECT_THAT(TellAfter(log, first.position).rows, ElementsAre(3, 4, 1));
}

TEST(ChangeLogTest, DoesNotTellOfDroppedRows) {
  ChangeLog log;
  log.Touch(1);
  log.Touch(2);
  log.Drop(1);
  EXPECT_THAT(TellAfter(log, 0).rows, ElementsAre(2));
  EXPECT_EQ(log.PositionOf(1), 0);
}

TEST(ChangeLogTest, DoesNotGrowWithTheNumberOfChanges) {
  ChangeLog log;
  for (int i = 0; i < 1'000'000; ++i) log.Touch(static_cast<ChangeLog::Row>(i % 10));
  EXPECT_LE(log.size(), 1044U);
  EXPECT_EQ(TellAfter(log, 0).rows.size(), 10U);
}

}  // namespace
}  // namespace muster::page
