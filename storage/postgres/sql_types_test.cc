// What values become on their way to a real Postgres and back.
#include "storage/postgres/sql_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "services/common/cause.h"
#include "storage/postgres/transaction.h"
#include "storage/postgres/transaction_runner.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"

namespace muster::storage {
namespace {

// Columns of all types that our tables have, as they are written.
constexpr Statement kPut = {
    "test_put",
    "INSERT INTO written SELECT * FROM unnest($1::bigint[], $2::integer[], $3::boolean[], "
    "$4::text[], $5::jsonb[], $6::bytea[], $7::timestamptz[])"};

constexpr char kText[] = "a \"quoted\" \\ and {braced}, text: \xc3\xa4\n";
constexpr absl::string_view kBytes("\x01\xff'\\ab\0c", 8);

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
  // Writes `times`, and with each a value of every other type, and reads them, on a connection of
  // ours.
  std::vector<absl::Time> RoundTrip(const std::vector<absl::Time>& times) {
    ConnectionPool pool({.conninfo = database_.conninfo("quota"), .schema = "quota"}, 1);
    TransactionRunner runner(&pool, {});
    std::vector<absl::Time> back;
    EXPECT_THAT(runner.Run([&](Transaction& tx) {
      tx.Exec(
          "CREATE TEMP TABLE written (b bigint, i integer, t boolean, s text, j jsonb, y bytea, w "
          "timestamptz) ON COMMIT DROP");
      Write(tx, times);
      back.clear();
      for (const auto& row : tx.Exec("SELECT b, i, t, s, j ->> 'a', y, w FROM written")) {
        EXPECT_EQ(row[0].as<int64_t>(), std::numeric_limits<int64_t>::min());
        EXPECT_EQ(row[1].as<int32_t>(), std::numeric_limits<int32_t>::max());
        EXPECT_STREQ(row[2].c_str(), back.size() % 2 == 0 ? "t" : "f");
        EXPECT_STREQ(row[3].c_str(), kText);
        EXPECT_TRUE(row[4].is_null() == (back.size() % 2 == 0));
        EXPECT_EQ(FromSqlBytes(row[5].c_str()), kBytes);
        back.push_back(FromSqlTime(row[6].c_str()));
      }
      return absl::OkStatus();
    }),
                testing::IsOk());
    return back;
  }

  static void Write(Transaction& tx, const std::vector<absl::Time>& times) {
    SqlArray b("bigint"), i("integer"), t("boolean"), s("text"), j("jsonb"), y("bytea"),
        w("timestamp with time zone");
    bool even = true;
    for (const absl::Time time : times) {
      b.Add(std::numeric_limits<int64_t>::min());
      i.Add(std::numeric_limits<int32_t>::max());
      t.Add(even);
      s.Add(kText);
      even ? j.AddNull() : j.Add("{\"a\": 1}");
      y.AddBytes(kBytes);
      w.Add(time);
      even = !even;
    }
    tx.Queue(kPut, {b.Param(), i.Param(), t.Param(), s.Param(), j.Param(), y.Param(), w.Param()});
  }

  testing::TestDatabase database_;
};

TEST_F(SqlTypesTest, EveryTimeThatTheApiTakesComesBackAsItWent) {
  EXPECT_EQ(RoundTrip(Times()), Times());
}

TEST_F(SqlTypesTest, NothingIsWrittenAsNothing) { EXPECT_EQ(RoundTrip({}).size(), 0u); }

TEST_F(SqlTypesTest, WhateverTheServerPrefers) {
  for (const char* setting :
       {"datestyle = 'SQL, DMY'", "timezone = 'Asia/Tokyo'", "bytea_output = 'escape'"}) {
    database_.Execute(absl::StrCat("ALTER DATABASE ", database_.name(), " SET ", setting));
  }
  database_.Execute("ALTER ROLE muster_quota IN DATABASE " + database_.name() +
                    " SET datestyle = 'German'");
  EXPECT_EQ(RoundTrip(Times()), Times());
}

// By ALTER DATABASE, as a DBA sets them for others.
TEST_F(SqlTypesTest, ASessionIsAsOursAreWhateverTheServerPrefers) {
  for (const char* setting :
       {"client_encoding = 'LATIN1'", "standard_conforming_strings = off",
        "default_transaction_isolation = 'serializable'", "synchronous_commit = off"}) {
    database_.Execute(absl::StrCat("ALTER DATABASE ", database_.name(), " SET ", setting));
  }
  ConnectionPool pool({.conninfo = database_.conninfo("quota"), .schema = "quota"}, 1);
  TransactionRunner runner(&pool, {});
  ASSERT_THAT(runner.Run([&](Transaction& tx) {
    const auto row = tx.Exec(
        "SELECT chr(228), length('\xc3\xa4'), chr(26085), '\\x61',"
        " current_setting('transaction_isolation'),"
        " current_setting('synchronous_commit')")[0];
    EXPECT_STREQ(row[0].c_str(), "\xc3\xa4");
    EXPECT_EQ(row[1].as<int>(), 1);
    EXPECT_STREQ(row[2].c_str(), "\xe6\x97\xa5");
    EXPECT_STREQ(row[3].c_str(), "\\x61");
    EXPECT_STREQ(row[4].c_str(), "read committed");
    EXPECT_STREQ(row[5].c_str(), "on");
    return absl::OkStatus();
  }),
              testing::IsOk());
}

// Else a server would begin with less than there is, and say of the rest that it does not exist.
TEST_F(SqlTypesTest, RowsThatAreHiddenAreNotTakenForNone) {
  database_.Execute("ALTER TABLE quota.quota ENABLE ROW LEVEL SECURITY");
  ConnectionPool pool({.conninfo = database_.conninfo("quota"), .schema = "quota"}, 1);
  TransactionRunner runner(&pool, {});
  const absl::Status status = runner.Run([](Transaction& tx) {
    tx.Exec("SELECT name FROM quota");
    return absl::OkStatus();
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(error::CauseOf(status), ::testing::HasSubstr("row-level security policy"));
}

TEST(SqlArrayTest, ValueOfAnotherTypeIsAFaultOfTheProgram) {
  EXPECT_THROW(SqlArray("bigint").Add("1"), std::logic_error);
  EXPECT_THROW(SqlArray("text").Add(1), std::logic_error);
  EXPECT_THROW(SqlArray("text").Add(true), std::logic_error);
  EXPECT_THROW(SqlArray("bigint").Add(absl::Now()), std::logic_error);
  EXPECT_THROW(SqlArray("text").AddBytes("a"), std::logic_error);
  EXPECT_THROW(SqlArray("integer").Add(int64_t{1} << 31), std::logic_error);
  EXPECT_THROW(SqlArray("point"), std::logic_error);
}

}  // namespace
}  // namespace muster::storage
