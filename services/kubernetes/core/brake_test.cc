#include "services/kubernetes/core/brake.h"

#include <gtest/gtest.h>

namespace muster::kubernetes {
namespace {

constexpr BrakeLimits kLimits = {.count = 3, .percent = 10};

BrakeVerdict OfNodes(int64_t would_go, int64_t went, int64_t all, int64_t allowed = 0) {
  return JudgeRemovals(
      {.would_go = {0, would_go}, .went = {0, went}, .all = {0, all}, .allowed = {0, allowed}},
      kLimits);
}

TEST(Brake, AFewPass) {
  EXPECT_EQ(OfNodes(0, 0, 0), BrakeVerdict::kPass);
  EXPECT_EQ(OfNodes(3, 0, 3), BrakeVerdict::kPass) << "of a small cluster all may be a few";
  EXPECT_EQ(OfNodes(4, 0, 4), BrakeVerdict::kHold);
  EXPECT_EQ(OfNodes(10, 0, 100), BrakeVerdict::kPass) << "a share of a large one";
  EXPECT_EQ(OfNodes(11, 0, 100), BrakeVerdict::kHold);
  EXPECT_EQ(OfNodes(10, 0, 99), BrakeVerdict::kHold);
}

TEST(Brake, WhatWentLatelyCounts) {
  EXPECT_EQ(OfNodes(1, 2, 20), BrakeVerdict::kPass);
  EXPECT_EQ(OfNodes(1, 3, 20), BrakeVerdict::kHold) << "drop by drop a fleet is empty too";
  EXPECT_EQ(OfNodes(0, 9, 20), BrakeVerdict::kPass) << "nothing is left to hold";
}

TEST(Brake, AnOrderCoversWhatItNamesAndNoMore) {
  EXPECT_EQ(OfNodes(40, 0, 100, 40), BrakeVerdict::kPassByOrder);
  EXPECT_EQ(OfNodes(41, 0, 100, 40), BrakeVerdict::kHold);
  EXPECT_EQ(OfNodes(3, 0, 100, 40), BrakeVerdict::kPass) << "no order is used up by a few";
}

TEST(Brake, APoolIsAsMuchAsItsNodes) {
  const auto of = [](Removals would_go, Removals allowed = {}) {
    return JudgeRemovals({.would_go = would_go, .all = {10, 100}, .allowed = allowed}, kLimits);
  };
  EXPECT_EQ(of({1, 10}), BrakeVerdict::kPass);
  EXPECT_EQ(of({1, 11}), BrakeVerdict::kHold) << "one pool, but many Nodes";
  EXPECT_EQ(of({4, 0}), BrakeVerdict::kHold) << "no Nodes, but many pools";
  EXPECT_EQ(of({4, 40}, {4, 40}), BrakeVerdict::kPassByOrder);
  EXPECT_EQ(of({4, 40}, {3, 40}), BrakeVerdict::kHold);
  EXPECT_EQ(of({4, 40}, {4, 39}), BrakeVerdict::kHold);
}

TEST(Brake, NothingPassesUnaskedWhereTheLimitsAreZero) {
  EXPECT_EQ(JudgeRemovals({.would_go = {0, 1}, .all = {0, 1000}}, {.count = 0, .percent = 0}),
            BrakeVerdict::kHold);
  EXPECT_EQ(JudgeRemovals({.all = {0, 1000}}, {.count = 0, .percent = 0}), BrakeVerdict::kPass);
}

TEST(Brake, TheOrderNamesWhatIsHeld) {
  const std::string cluster = "organizations/beta/clusters/train";
  EXPECT_EQ(ReleasingCommand(cluster, {2, 40}),
            "musterctl allow removals organizations/beta/clusters/train --node-pools=2 --nodes=40");
  EXPECT_EQ(ReleasingCommand(cluster, {0, 40}),
            "musterctl allow removals organizations/beta/clusters/train --nodes=40");
  EXPECT_EQ(ReleasingCommand(cluster, {2, 0}),
            "musterctl allow removals organizations/beta/clusters/train --node-pools=2");
}

}  // namespace
}  // namespace muster::kubernetes
