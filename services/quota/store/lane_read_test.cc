// Reads between the lane's steps: what a test holds up there, and what must hold.
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <vector>

#include "services/common/author.h"
#include "services/common/current_caller.h"
#include "services/quota/store/testing/lane_watch_test_base.h"
#include "tests/testing/sql.h"

namespace muster::storage {
namespace {

using ::muster::testing::IsOk;

TEST_F(QuotaLaneWatchTest, AReadThatComesWhileTheHeadIsAskedAsksForItself) {
  Lane& lane = NewLane(Trapped());
  Lane& other = NewLane();
  ASSERT_THAT(Do(other, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  std::future<int64_t> late;
  trap_.Set(LanePoint::kAfterBarrier, [&] {
    // The head has answered. Somebody commits and is told so; who asks now must see it.
    ASSERT_THAT(Do(other, Want("a", 7)), IsOk());
    late = ReadLater(lane);
  });
  EXPECT_GE(ReadLater(lane).get(), 0);
  EXPECT_EQ(late.get(), 7);
}

TEST_F(QuotaLaneWatchTest, WhoReadsMuchMakesNobodyElseWaitForAllOfIt) {
  LaneOptions options = Trapped();
  options.max_reads = 2;
  Lane& lane = NewLane(options);
  std::vector<uint64_t> answered;  // the callers, on the reads' one thread
  std::promise<void> all;
  const auto read_as = [&](uint64_t turn) {
    const auto author = [] { return Author(); };
    const CurrentCaller caller(turn, author);
    lane.Read([&, turn](const absl::Status& status, const quota::State*, int64_t) {
      EXPECT_THAT(status, IsOk());
      answered.push_back(turn);
      if (answered.size() == 8) all.set_value();
    });
  };
  trap_.Set(LanePoint::kBeforeBarrier, [&] {
    for (int i = 0; i < 6; ++i) read_as(1);
    read_as(2);
  });
  read_as(1);
  testing::Await(all.get_future(), "the answers");
  EXPECT_THAT(answered, ::testing::ElementsAre(1, 1, 2, 1, 1, 1, 1, 1));
}

// Each question of its own would last as long as the database hangs.
TEST_F(QuotaLaneWatchTest, WhoStandsBehindAQuestionThatFailsFailsWithIt) {
  LaneOptions options = Trapped();
  options.max_reads = 2;
  std::atomic<bool> away = false;
  options.runner.fault = [&](absl::string_view site) -> Fault {
    if (!away || !absl::StartsWith(site, "barrier")) return {};
    return {.before = testing::kLoseConnection};
  };
  options.runner.retry_budget = absl::ZeroDuration();
  Lane& lane = NewLane(options);
  ASSERT_EQ(ReadLater(lane).get(), 0);
  std::vector<std::future<int64_t>> reads;
  trap_.Set(LanePoint::kBeforeBarrier, [&] {
    for (int i = 0; i < 6; ++i) reads.push_back(ReadLater(lane));
    // The next question is for two of them, the others stand behind it.
    trap_.Set(LanePoint::kBeforeBarrier, [&] {
      away = true;
      trap_.Set(LanePoint::kAfterBarrier, [&] { away = false; });
    });
  });
  EXPECT_EQ(ReadLater(lane).get(), 0);
  for (auto& read : reads) EXPECT_EQ(testing::Await(std::move(read), "an answer"), -1);
}

TEST_F(QuotaLaneWatchTest, AReadSeesWhatIsCommittedBeforeItAndPublishedAfterIt) {
  Lane& lane = NewLane(Trapped());
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  std::future<int64_t> early;
  trap_.Set(LanePoint::kBeforePublish, [&] { early = ReadLater(lane); });
  ASSERT_THAT(Do(lane, Want("a", 7)), IsOk());
  EXPECT_EQ(early.get(), 7);
}

TEST_F(QuotaLaneWatchTest, MemoryThatMovesBeforeAReadWaitsForItIsSeen) {
  LaneOptions options = Trapped();
  options.read_poll = absl::Hours(1);
  Lane& lane = NewLane(options);
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  const auto kept = std::make_shared<std::promise<void>>();
  const auto published = std::make_shared<std::promise<void>>();
  std::future<int64_t> read;
  trap_.Set(LanePoint::kReadsKept, [kept, published] {
    kept->set_value();
    published->get_future().wait();
  });
  trap_.Set(LanePoint::kBeforePublish, [&] {
    read = ReadLater(lane);
    kept->get_future().wait();
  });
  ASSERT_THAT(Do(lane, Want("a", 7)), IsOk());
  published->set_value();
  EXPECT_EQ(testing::Await(std::move(read), "the read"), 7);
}

// So that whoever looks for signs of life finds none in a lane that hangs.
TEST_F(QuotaLaneWatchTest, WhoAsksForItsLocksIsNotAnsweredWhileOneIsHeld) {
  Lane& lane = NewLane();
  struct Steps {
    std::promise<void> hangs, goes_on;
    std::atomic<bool> armed = false;
  };
  const auto steps = std::make_shared<Steps>();
  lane.Subscribe([steps](absl::Span<const Revised<quota::State::Change>>) {
    if (!steps->armed.exchange(false)) return;
    steps->hangs.set_value();
    steps->goes_on.get_future().wait();
  });
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  steps->armed = true;
  lane.Submit([](StagedState<quota::State>& staged,
                 absl::Time now) { return quota::Decide(staged, Want("a", 1), now).status(); },
              [](const absl::Status&, int64_t) {});
  steps->hangs.get_future().wait();
  EXPECT_TRUE(lane.ready());
  std::future<bool> answer =
      std::async(std::launch::async, [&lane] { return lane.ReadyWithLocks(); });
  EXPECT_EQ(answer.wait_for(std::chrono::milliseconds(250)), std::future_status::timeout);
  steps->goes_on.set_value();
  EXPECT_TRUE(answer.get());
}

}  // namespace
}  // namespace muster::storage
