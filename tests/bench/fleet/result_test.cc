#include "tests/bench/fleet/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace muster::bench {
namespace {

using ::testing::HasSubstr;

const Row kRow{.nodes = 1000,
               .phase = "scale_up",
               .seconds = 2,
               .pools = 100,
               .changed = 500,
               .changes = {1, 2, 3, 4000},
               .scanned = 7,
               .wal_bytes = 1'024'000,
               .disk_bytes = 3 << 20,
               .server_cores = 1.5};

TEST(ResultTest, WhatANodeCosts) {
  EXPECT_DOUBLE_EQ(WalBytesANode(kRow), 2048);
  EXPECT_DOUBLE_EQ(LifecycleChangesANode(kRow), 8) << "the last service is lifecycle";
  EXPECT_DOUBLE_EQ(ServerMsANode(kRow), 6);
  EXPECT_STREQ(Stack::kServices.back(), "lifecycle");
}

TEST(ResultTest, WhereNoNodeHadToChangeNothingIsSaid) {
  const Row quiet{.changes = {0, 0, 0, 4}, .wal_bytes = 5};
  EXPECT_DOUBLE_EQ(WalBytesANode(quiet), 0);
  EXPECT_DOUBLE_EQ(LifecycleChangesANode(quiet), 0);
  EXPECT_DOUBLE_EQ(ServerMsANode(quiet), 0);
}

TEST(ResultTest, ALineHasTheSharesBesideTheWhole) {
  const auto line = nlohmann::json::parse(Json({kRow}));
  EXPECT_EQ(line["changes"]["lifecycle"], 4000);
  EXPECT_EQ(line["scanned"], 7);
  EXPECT_EQ(line["wal_bytes"], 1'024'000);
  EXPECT_EQ(line["wal_bytes_a_node"], 2048);
  EXPECT_EQ(line["lifecycle_changes_a_node"], 8);
  EXPECT_EQ(line["server_ms_a_node"], 6);
  EXPECT_EQ(line["disk_bytes"], 3 << 20);
  EXPECT_THAT(Table({kRow}), HasSubstr("scale_up"));
}

}  // namespace
}  // namespace muster::bench
