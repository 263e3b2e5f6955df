#include "services/musterd/conninfo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>

#include "services/musterd/database_metrics.h"
#include "tests/testing/patience.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_folder.h"

namespace muster::musterd {
namespace {

using ::muster::testing::HasFieldViolation;
using ::muster::testing::IsOk;

constexpr char kFileFlag[] = "--db_conninfo_file";

class ConninfoTest : public ::testing::Test {
 protected:
  ConninfoTest() { Write("dbname=muster password=old\nwhat else is there\n"); }

  void Write(absl::string_view text) { std::ofstream(path_) << text; }
  std::unique_ptr<Conninfo> Open(absl::Duration interval) {
    auto conninfo = Conninfo::Create({.path = path_, .interval = interval});
    EXPECT_THAT(conninfo.status(), IsOk());
    return *std::move(conninfo);
  }

  testing::TempFolder folder_;
  const std::string path_ = folder_.Path("conninfo");
};

TEST_F(ConninfoTest, TheFirstLineOfTheFileCountsAsItIsByNow) {
  const auto conninfo = Open(absl::Milliseconds(1));
  EXPECT_EQ(conninfo->Get(), "dbname=muster password=old");
  Write("dbname=muster password=new\n");
  testing::Until([&] { return conninfo->Get() == "dbname=muster password=new"; }, "the new one");
}

TEST_F(ConninfoTest, WhatCannotBeUsedLeavesTheLast) {
  // The test looks itself.
  const auto conninfo = Open(absl::Hours(1));
  for (const char* text : {"", "\n", "host", "dbname=muster options='-c role=muster'\n"}) {
    Write(text);
    EXPECT_THAT(conninfo->Reload(), HasFieldViolation(kFileFlag)) << text;
    EXPECT_EQ(conninfo->Get(), "dbname=muster password=old") << text;
  }
  Write("dbname=muster password=new\n");
  EXPECT_THAT(conninfo->Reload(), IsOk());
  EXPECT_EQ(conninfo->Get(), "dbname=muster password=new");
}

// As of the other files that a server watches.
TEST_F(ConninfoTest, AMetricTellsThatTheFileCannotBeUsed) {
  const std::shared_ptr<Conninfo> conninfo = Open(absl::Hours(1));
  const DatabaseMetrics metrics(conninfo);
  const auto told = [&] {
    for (const prometheus::MetricFamily& family : metrics.Collect()) {
      if (family.name == "muster_database_conninfo_refused") return family.metric[0].gauge.value;
    }
    return -1.0;
  };
  EXPECT_EQ(told(), 0);
  Write("host");
  EXPECT_THAT(conninfo->Reload(), HasFieldViolation(kFileFlag));
  EXPECT_EQ(told(), 1);
  Write("dbname=muster password=new\n");
  EXPECT_THAT(conninfo->Reload(), IsOk());
  EXPECT_EQ(told(), 0);
}

TEST_F(ConninfoTest, WithoutAFileItIsWhatWasSaid) {
  const auto conninfo = Conninfo::Create({.fixed = "dbname=muster"});
  ASSERT_THAT(conninfo.status(), IsOk());
  EXPECT_EQ((*conninfo)->Get(), "dbname=muster");
  EXPECT_THAT((*conninfo)->Reload(), IsOk());
  EXPECT_THAT(Conninfo::Create({.path = "/nowhere/conninfo"}).status(),
              HasFieldViolation(kFileFlag));
}

}  // namespace
}  // namespace muster::musterd
