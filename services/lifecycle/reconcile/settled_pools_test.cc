#include "services/lifecycle/reconcile/settled_pools.h"

#include <gtest/gtest.h>

namespace muster::lifecycle {
namespace {

constexpr char kPool[] = "organizations/acme/clusters/c1/nodePools/train";

std::shared_ptr<Node> Row(const std::string& machine) {
  auto node = std::make_shared<Node>();
  node->name = NodeName(kPool, machine);
  node->machine = machine;
  node->state = NodeState::kProduction;
  return node;
}

// The Node's row once it has work.
std::shared_ptr<Node> WithWork(const std::shared_ptr<Node>& row) {
  auto busy = std::make_shared<Node>(*row);
  busy->observed.active = true;
  return busy;
}

class SettledPoolsTest : public ::testing::Test {
 protected:
  void Settle(const std::vector<const Node*>& only_counted) {
    settled_.Settle(kPool, {a_, b_, c_}, only_counted);
  }

  const std::shared_ptr<Node> a_ = Row("a"), b_ = Row("b"), c_ = Row("c");
  SettledPools settled_;
};

TEST_F(SettledPoolsTest, WorkOfNodesThatWereOnlyCountedMattersNot) {
  EXPECT_FALSE(settled_.Absorbs(WithWork(a_))) << "nothing is known of the pool";
  Settle({a_.get(), b_.get(), c_.get()});
  EXPECT_TRUE(settled_.Absorbs(WithWork(a_)));
  EXPECT_TRUE(settled_.Absorbs(WithWork(c_)));
  EXPECT_TRUE(settled_.Absorbs(a_)) << "and idle again";
  EXPECT_FALSE(settled_.Absorbs(Row("d"))) << "it is new";
}

TEST_F(SettledPoolsTest, WhateverElseChangesMatters) {
  Settle({a_.get(), b_.get(), c_.get()});
  auto ill = WithWork(a_);
  ill->observed.unhealthy = true;
  EXPECT_FALSE(settled_.Absorbs(ill));
  EXPECT_FALSE(settled_.Absorbs(ill)) << "the pool has not been looked at since";
}

TEST_F(SettledPoolsTest, WorkOfNodesThatWereLookedAtMatters) {
  Settle({a_.get(), c_.get()});
  EXPECT_TRUE(settled_.Absorbs(WithWork(a_)));
  EXPECT_FALSE(settled_.Absorbs(WithWork(b_)));
  EXPECT_TRUE(settled_.Absorbs(WithWork(c_)));
}

// What changes while a pool is looked at may have come too late for that.
TEST_F(SettledPoolsTest, OnceAPoolIsLookedAtAnewAllMatters) {
  Settle({a_.get(), b_.get(), c_.get()});
  settled_.Forget({"another", kPool});
  EXPECT_FALSE(settled_.Absorbs(WithWork(a_)));
  Settle({a_.get(), b_.get(), c_.get()});
  settled_.Clear();
  EXPECT_FALSE(settled_.Absorbs(WithWork(a_)));
}

// Rows that others replaced long ago are not kept.
TEST_F(SettledPoolsTest, TheNewestRowsAreKept) {
  auto first = Row("a");
  const std::weak_ptr<Node> old = first;
  const Node* counted = first.get();
  const auto busy = WithWork(first);
  settled_.Settle(kPool, {std::move(first)}, {counted});
  ASSERT_FALSE(old.expired());
  EXPECT_TRUE(settled_.Absorbs(busy));
  EXPECT_TRUE(old.expired());
}

}  // namespace
}  // namespace muster::lifecycle
