// A week of churn on PostgreSQL: pools come and go by the hour; the journal by time and by number,
// what is kept of pools that are gone, and the tables stay as large as they are after two days,
// with nothing dead in them that cannot be taken away.
#include <algorithm>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/quota/store/testing/lane_test_base.h"

namespace muster::storage {
namespace {

using ::muster::testing::IsOk;
using ::muster::testing::IsOkAndHolds;

constexpr int kDays = 7;
constexpr int kHours = 24;
constexpr int kPools = 20;  // that come and go in an hour

class WeekTest : public QuotaLaneTest {
 protected:
  // In an hour: pools come, and those of the hour before go.
  void Hour(Lane& lane, int hour) {
    std::vector<std::future<absl::Status>> answers;
    const auto ask = [&](const quota::SyncHolding& command) {
      const auto promise = std::make_shared<std::promise<absl::Status>>();
      answers.push_back(promise->get_future());
      lane.Submit([command](StagedState<quota::State>& staged,
                            absl::Time now) { return Decide(staged, command, now).status(); },
                  [promise](const absl::Status& status, int64_t) { promise->set_value(status); });
    };
    for (int i = 0; i < kPools; ++i) {
      ask(Want(absl::StrCat("pool-", hour, "-", i), 1));
      if (hour == 0) continue;
      quota::SyncHolding gone = Want(absl::StrCat("pool-", hour - 1, "-", i), 0, 2);
      gone.release = true;
      ask(gone);
    }
    for (auto& answer : answers)
      ASSERT_THAT(testing::Await(std::move(answer), "a command's answer"), IsOk());
    clock_.Advance(absl::Hours(1));
    absl::StatusOr<bool> more = true;
    while (more.ok() && *more) more = lane.CompactSome();
    ASSERT_THAT(more, IsOkAndHolds(false));
  }

  // The most that each table had of rows at the end of an hour of the day, and the bytes of its
  // rows at the end of the day.
  struct Sizes {
    std::map<std::string, int64_t> rows;
    std::map<std::string, int64_t> bytes;
  };
  Sizes Day(Lane& lane, int day) {
    Sizes sizes;
    for (int hour = 0; hour < kHours && !HasFatalFailure(); ++hour) {
      Hour(lane, day * kHours + hour);
      for (const char* table : kTables)
        sizes.rows[table] = std::max(sizes.rows[table], CountOf(table));
    }
    for (const char* table : kTables) {
      VacuumWhole(table);
      sizes.bytes[table] = std::stoll(database_.QueryValue(
          absl::StrCat("SELECT tuple_len FROM pgstattuple('quota.", table, "')")));
    }
    return sizes;
  }
  // Whatever is dead can be taken away: nobody looks at it for good. One VACUUM may come while
  // somebody does; and how large the file is says when VACUUM came, so what is in it is counted.
  void VacuumWhole(absl::string_view table) {
    const std::string dead =
        absl::StrCat("SELECT dead_tuple_count FROM pgstattuple('quota.", table, "')");
    const auto none_dead = [&] {
      database_.Execute(absl::StrCat("VACUUM quota.", table));
      return database_.QueryValue(dead) == "0";
    };
    testing::Until(none_dead, "VACUUM to take away what is dead");
  }
  std::vector<Sizes> Week(LaneOptions options) {
    database_.Execute("CREATE EXTENSION IF NOT EXISTS pgstattuple");
    Lane& lane = NewLane(std::move(options));
    EXPECT_THAT(Do(lane, quota::UpdateQuota{kKey, 1'000, "", true}), IsOk());
    std::vector<Sizes> days;
    while (days.size() < kDays && !HasFatalFailure())
      days.push_back(Day(lane, static_cast<int>(days.size())));
    return days;
  }
  static void ExpectFlat(const std::vector<Sizes>& days) {
    for (size_t day = 2; day < days.size(); ++day) {
      for (const char* table : kTables) {
        EXPECT_LE(days[day].rows.at(table), days[1].rows.at(table)) << table << ", day " << day + 1;
        EXPECT_LE(days[day].bytes.at(table), days[1].bytes.at(table) * 11 / 10)
            << table << ", day " << day + 1;
      }
    }
  }

  static constexpr const char* kTables[] = {"quota", "holding", "released_pool", "journal"};
};

TEST_F(WeekTest, ByTime) {
  LaneOptions options;
  // So that the second day's hours have all that later ones have: released uids are forgotten from
  // the 25th hour on.
  options.journal_keep_time = absl::Hours(24) - absl::Seconds(1);
  const std::vector<Sizes> days = Week(options);
  ASSERT_EQ(days.size(), static_cast<size_t>(kDays));
  ExpectFlat(days);
  // A day's: each came and went.
  EXPECT_GE(days[6].rows.at("journal"), 2 * kHours * kPools);
  EXPECT_GE(days[6].rows.at("released_pool"), kHours * kPools);
  EXPECT_LE(days[6].rows.at("released_pool"), (kHours + 1) * kPools);
}

TEST_F(WeekTest, ByNumber) {
  LaneOptions options;
  options.journal_keep = 400;
  const std::vector<Sizes> days = Week(options);
  ASSERT_EQ(days.size(), static_cast<size_t>(kDays));
  ExpectFlat(days);
  EXPECT_EQ(days[6].rows.at("journal"), 400);
}

}  // namespace
}  // namespace muster::storage
