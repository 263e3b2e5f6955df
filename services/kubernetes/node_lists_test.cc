#include "services/kubernetes/node_lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "services/common/counting_clock.h"
#include "services/common/latch.h"
#include "tests/testing/patience.h"
#include "tests/testing/status_matchers.h"

namespace muster::kubernetes {
namespace {

using ::muster::testing::Await;
using ::muster::testing::IsOkAndHolds;
using ::muster::testing::kPatience;
using ::muster::testing::StatusIs;
using ::muster::testing::Until;
using ::testing::ElementsAre;

class NodeListsTest : public ::testing::Test {
 protected:
  using Machines = NodeLists::Machines;

  // Returns once it is asked for, and waited for where a list runs.
  std::future<absl::StatusOr<bool>> Ask(const std::string& pool, const std::string& machine) {
    const int before = clock_.asked;
    auto answer = std::async(std::launch::async, [=, this] { return lists_.Has(pool, machine); });
    Until([&] { return clock_.asked > before; }, "who asks");
    return answer;
  }
  // Lists that once it may go on.
  Machines ListSlowly(Machines machines) {
    begun_.Set(true);
    open_.WaitFor(absl::FromChrono(kPatience));
    return machines;
  }
  void Advance() { clock_.clock.Advance(NodeLists::kStands); }

  CountingClock clock_;  // who comes asks it, and lets nobody else in before he waits
  Awaited<bool> begun_;
  Awaited<bool> open_;
  std::vector<std::string> listed_;  // pools
  std::function<absl::StatusOr<Machines>()> answer_ = [] { return Machines{"m1", "m2"}; };
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
  Advance();
  EXPECT_THAT(lists_.Has("a", "m1"), IsOkAndHolds(true));
  EXPECT_THAT(listed_, ElementsAre("a", "b", "a"));
}

TEST_F(NodeListsTest, OneIsAsOldAsItsBeginning) {
  answer_ = [this] {
    Advance();
    return Machines{"m1"};
  };
  EXPECT_THAT(lists_.Has("a", "m1"), IsOkAndHolds(true));
  answer_ = [] { return Machines{"m2"}; };
  EXPECT_THAT(lists_.Has("a", "m2"), IsOkAndHolds(true));
}

TEST_F(NodeListsTest, WhoComesWhileItRunsWaitsForItsEnd) {
  answer_ = [this] { return ListSlowly({"m1"}); };
  auto first = Ask("a", "m1");
  begun_.Wait();
  auto second = Ask("a", "m1");
  open_.Set(true);
  EXPECT_THAT(Await(std::move(first), "the first answer"), IsOkAndHolds(true));
  EXPECT_THAT(Await(std::move(second), "the second answer"), IsOkAndHolds(true));
  EXPECT_THAT(listed_, ElementsAre("a"));
}

// What it says may be older than they take: their own is begun after they came, however long it
// runs.
TEST_F(NodeListsTest, WhoComesLateToOneThatRunsSharesTheNext) {
  answer_ = [this] {
    if (listed_.size() == 1) return ListSlowly({"m1"});
    Advance();
    return Machines{"m2"};
  };
  auto first = Ask("a", "m1");
  begun_.Wait();
  Advance();
  auto second = Ask("a", "m2");
  auto third = Ask("a", "m2");
  open_.Set(true);
  EXPECT_THAT(Await(std::move(first), "the first answer"), IsOkAndHolds(true));
  EXPECT_THAT(Await(std::move(second), "the second answer"), IsOkAndHolds(true));
  EXPECT_THAT(Await(std::move(third), "the third answer"), IsOkAndHolds(true));
  EXPECT_THAT(listed_, ElementsAre("a", "a"));
}

TEST_F(NodeListsTest, WhoAsksOfAnotherPoolWaitsForNoOther) {
  answer_ = [this] { return listed_.back() == "a" ? ListSlowly({"m1"}) : Machines{"m2"}; };
  auto first = Ask("a", "m2");
  begun_.Wait();
  EXPECT_THAT(Await(Ask("b", "m2"), "the other pool's answer"), IsOkAndHolds(true));
  open_.Set(true);
  EXPECT_THAT(Await(std::move(first), "the first answer"), IsOkAndHolds(false));
  EXPECT_THAT(listed_, ElementsAre("a", "b"));
}

TEST_F(NodeListsTest, OneThatFailsDoesNotStand) {
  answer_ = [] { return absl::UnavailableError("away"); };
  EXPECT_THAT(lists_.Has("a", "m1"), StatusIs(absl::StatusCode::kUnavailable));
  answer_ = []() -> Machines { throw std::runtime_error("no JSON"); };
  EXPECT_THROW((void)lists_.Has("a", "m1"), std::runtime_error);
  answer_ = [] { return Machines(); };
  EXPECT_THAT(lists_.Has("a", "m1"), IsOkAndHolds(false)) << "nobody waits for those";
}

}  // namespace
}  // namespace muster::kubernetes
