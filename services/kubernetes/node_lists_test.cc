#include "services/kubernetes/node_lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "services/common/latch.h"
#include "tests/testing/patience.h"
#include "tests/testing/status_matchers.h"

namespace muster::kubernetes {
namespace {

using ::muster::testing::Await;
using ::muster::testing::IsOkAndHolds;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;

class NodeListsTest : public ::testing::Test {
 protected:
  std::future<absl::StatusOr<bool>> Ask(const std::string& machine) {
    return std::async(std::launch::async, [this, machine] { return lists_.Has("a", machine); });
  }

  FakeSteadyClock clock_;
  std::vector<std::string> listed_;  // pools
  std::function<absl::StatusOr<NodeLists::Machines>()> answer_ = [] {
    return NodeLists::Machines{"m1", "m2"};
  };
  NodeLists lists_{[this](const std::string& pool) {
                     listed_.push_back(pool);
                     return answer_();
                   },
                   &clock_};
};

TEST_F(NodeListsTest, OneAnswersForAllOfItsPoolForAWhile) {
  EXPECT_THAT(lists_.Has("a", "m1"), IsOkAndHolds(true));
  EXPECT_THAT(lists_.Has("a", "m3"), IsOkAndHolds(false));
  EXPECT_THAT(lists_.Has("b", "m2"), IsOkAndHolds(true));
  EXPECT_THAT(listed_, ElementsAre("a", "b"));
  clock_.Advance(NodeLists::kStands);
  EXPECT_THAT(lists_.Has("a", "m1"), IsOkAndHolds(true));
  EXPECT_THAT(listed_, ElementsAre("a", "b", "a"));
}

TEST_F(NodeListsTest, WhoComesWhileItRunsWaitsForItsEnd) {
  Awaited<bool> begun;
  Awaited<bool> open;
  answer_ = [&] {
    begun.Set(true);
    open.Wait();
    return NodeLists::Machines{"m1"};
  };
  auto first = Ask("m1");
  begun.Wait();
  auto second = Ask("m2");
  open.Set(true);
  EXPECT_THAT(Await(std::move(first), "the first answer"), IsOkAndHolds(true));
  EXPECT_THAT(Await(std::move(second), "the second answer"), IsOkAndHolds(false));
  EXPECT_THAT(listed_, ElementsAre("a"));
}

TEST_F(NodeListsTest, OneThatFailsDoesNotStand) {
  answer_ = [] { return absl::UnavailableError("away"); };
  EXPECT_THAT(lists_.Has("a", "m1"), StatusIs(absl::StatusCode::kUnavailable));
  answer_ = []() -> NodeLists::Machines { throw std::runtime_error("no JSON"); };
  EXPECT_THROW((void)lists_.Has("a", "m1"), std::runtime_error);
  answer_ = [] { return NodeLists::Machines(); };
  EXPECT_THAT(lists_.Has("a", "m1"), IsOkAndHolds(false)) << "nobody waits for those";
}

}  // namespace
}  // namespace muster::kubernetes
