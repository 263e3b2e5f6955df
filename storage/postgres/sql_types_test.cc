// What values become on their way to a real Postgres and back.
#include "storage/postgres/sql_types.h"

#include <gtest/gtest.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "storage/postgres/transaction.h"
#include "storage/postgres/transaction_runner.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"

namespace muster::storage {
namespace {

constexpr Statement kTimes = {"test_times", "SELECT unnest($1::timestamptz[])"};
constexpr Statement kBytes = {"test_bytes", "SELECT $1::bytea"};

absl::Time At(absl::string_view text) {
  absl::Time time;
  std::string error;
  EXPECT_TRUE(absl::ParseTime("%E4Y-%m-%d %H:%M:%E*S", text, &time, &error)) << text << error;
  return time;
}

std::vector<absl::Time> Times() {
  std::vector<absl::Time> times = {At("0001-01-01 00:00:00"),
                                   At("0001-01-01 00:00:00.000001"),
                                   At("0050-06-15 12:00:00.5"),
                                   At("0099-12-31 23:59:59.999999"),
                                   At("0100-01-01 00:00:00"),
                                   At("0999-12-31 23:59:59.1"),
                                   At("1582-10-15 00:00:00"),
                                   At("1969-12-31 23:59:59.999999"),
                                   At("1970-01-01 00:00:00"),
                                   At("2024-02-29 23:59:59.123456"),
                                   At("9999-12-31 23:59:59.999999"),
                                   absl::InfiniteFuture(),
                                   absl::InfinitePast()};
  for (int year = 1; year <= 9999; year += 97)
    times.push_back(At(absl::StrFormat("%04d-03-01 01:02:03.000400", year)));
  return times;
}

class SqlTypesTest : public ::testing::Test {
 protected:
  // Sends `times` and reads them, on a connection of ours.
  std::vector<absl::Time> RoundTrip(const std::vector<absl::Time>& times) {
    ConnectionPool pool({.conninfo = database_.conninfo("quota"), .schema = "quota"}, 1);
    TransactionRunner runner(&pool, {});
    std::vector<absl::Time> back;
    EXPECT_THAT(runner.Run([&](Transaction& tx) {
      SqlArray array;
      for (const absl::Time time : times) array.Add(time);
      back.clear();
      for (const auto& row : tx.Exec(kTimes, array.Text()))
        back.push_back(FromSqlTime(row[0].c_str()));
      EXPECT_EQ(FromSqlBytes(tx.Exec(kBytes, ToSqlBytes("\x01\xff'\\ab"))[0][0].c_str()),
                "\x01\xff'\\ab");
      return absl::OkStatus();
    }),
                testing::IsOk());
    return back;
  }
  testing::TestDatabase database_;
};

TEST_F(SqlTypesTest, EveryTimeThatTheApiTakesComesBackAsItWent) {
  EXPECT_EQ(RoundTrip(Times()), Times());
}

TEST_F(SqlTypesTest, WhateverTheServerPrefers) {
  for (const char* setting :
       {"datestyle = 'SQL, DMY'", "timezone = 'Asia/Tokyo'", "bytea_output = 'escape'"}) {
    database_.Execute(absl::StrCat("ALTER DATABASE ", database_.name(), " SET ", setting));
  }
  database_.Execute("ALTER ROLE muster_quota IN DATABASE " + database_.name() +
                    " SET datestyle = 'German'");
  EXPECT_EQ(RoundTrip(Times()), Times());
}

}  // namespace
}  // namespace muster::storage
