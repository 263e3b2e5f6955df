#include "services/common/turn_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TurnQueue, OfOneOwnerIsServedInOrder) {
  TurnQueue<int> queue;
  for (int i = 0; i < 5; ++i) queue.Push(1, i);
  EXPECT_THAT(queue.Take(2), ElementsAre(0, 1));
  queue.Push(1, 5);
  EXPECT_THAT(queue.Take(9), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(queue.Take(9), IsEmpty());
  EXPECT_TRUE(queue.empty());
}

TEST(TurnQueue, OwnersTakeTurns) {
  TurnQueue<std::string> queue;
  for (const char* item : {"a1", "a2", "a3", "a4"}) queue.Push('a', item);
  queue.Push('b', "b1");
  queue.Push('c', "c1");
  queue.Push('c', "c2");
  EXPECT_EQ(queue.size_of('a'), 4u);
  EXPECT_EQ(queue.size_of('x'), 0u);
  EXPECT_THAT(queue.Take(4), ElementsAre("a1", "b1", "c1", "a2"));
  queue.Push('b', "b2");
  EXPECT_THAT(queue.Take(3), ElementsAre("c2", "a3", "b2"));
  EXPECT_THAT(queue.TakeAll(), ElementsAre("a4"));
  EXPECT_EQ(queue.size(), 0u);
}

// Nobody waits for more than one of each other owner's between two of his own, and nothing is lost.
TEST(TurnQueue, NobodyIsPassedOver) {
  std::minstd_rand random(7);
  TurnQueue<std::pair<uint64_t, int>> queue;
  std::map<uint64_t, int> pushed, taken;
  std::map<uint64_t, std::map<uint64_t, int>>
      since;  // of whom how many were served since one's own
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 2 == 0) {
      const uint64_t owner = random() % 10 == 0 ? random() % 5 : 0;  // one asks most
      queue.Push(owner, {owner, pushed[owner]++});
      continue;
    }
    for (const auto& [owner, number] : queue.Take(random() % 4)) {
      EXPECT_EQ(number, taken[owner]++) << "in its order";
      for (uint64_t other = 0; other < 5; ++other) {
        if (other == owner || taken[other] == pushed[other]) {
          since[other].clear();
          continue;
        }
        EXPECT_LE(++since[other][owner], 1) << owner << " goes before " << other << " twice";
      }
      since[owner].clear();
    }
  }
  for (const auto& [owner, number] : queue.TakeAll()) EXPECT_EQ(number, taken[owner]++);
  EXPECT_EQ(taken, pushed);
}

}  // namespace
}  // namespace muster
