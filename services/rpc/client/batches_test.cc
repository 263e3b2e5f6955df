#include "services/rpc/client/batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <muster/quota/v1/quota.pb.h>

#include <string>
#include <vector>

namespace muster::rpc {
namespace {

using ::testing::ElementsAre;

// The sizes of the batches that entries of such sizes make.
std::vector<size_t> Batches(const std::vector<size_t>& bytes, size_t most) {
  std::vector<quota::v1::Holding> entries;
  for (const size_t size : bytes) entries.emplace_back().set_pool(std::string(size, 'p'));
  std::vector<size_t> sizes;
  for (size_t begin = 0; begin < entries.size();) {
    const size_t end = BatchEnd(entries, begin, most);
    sizes.push_back(end - begin);
    begin = end;
  }
  return sizes;
}

TEST(BatchesTest, AreNoLongerThanAsked) {
  EXPECT_THAT(Batches({}, 2), ElementsAre());
  EXPECT_THAT(Batches({1, 1, 1, 1, 1}, 2), ElementsAre(2, 2, 1));
}

TEST(BatchesTest, AreNoLargerThanAServerTakes) {
  constexpr size_t kHalf = kMaxBatchBytes / 2;
  EXPECT_THAT(Batches({kHalf - 100, kHalf - 100, 1, kHalf, kHalf, 1}, 1000), ElementsAre(3, 1, 2));
}

TEST(BatchesTest, WhatIsTooLargeByItselfGoesAlone) {
  EXPECT_THAT(Batches({1, kMaxBatchBytes + 1, kMaxBatchBytes + 1, 1}, 1000),
              ElementsAre(1, 1, 1, 1));
}

}  // namespace
}  // namespace muster::rpc
