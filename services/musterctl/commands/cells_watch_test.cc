#include <gmock/gmock.h>

#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/musterctl/commands/cells_test_base.h"
#include "tests/testing/patience.h"

// Watches of several cells.
namespace muster::musterctl {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class CellsWatchTest : public CellsTest {
 protected:
  static WatchMessage Told(type::v1::WatchEventType type, int64_t revision,
                           std::optional<Item> item = std::nullopt) {
    return {.type = type,
            .revision = revision,
            .key = item ? NameOf(*item) : "",
            .item = std::move(item)};
  }
  static WatchMessage InSnapshot(const Item& item) {
    return Told(type::v1::WATCH_EVENT_TYPE_SNAPSHOT, 1, item);
  }
  static WatchMessage Changed(const Item& item, int64_t revision) {
    return Told(type::v1::WATCH_EVENT_TYPE_CHANGED, revision, item);
  }
  static WatchMessage EndOfAll(int64_t revision) {
    return Told(type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END, revision);
  }
  // Lines, in whatever order the cells told them.
  std::vector<std::string> Lines() const { return absl::StrSplit(out(), '\n', absl::SkipEmpty()); }

  const absl::Status stop_ = absl::InternalError("stop");
};

TEST_F(CellsWatchTest, AWatchIsOfAllCellsAndEachGoesOnByItself) {
  east_.streams = {
      {{InSnapshot(Pool("c-east", "train", 3)), EndOfAll(5)}, absl::UnavailableError("cut")},
      {{Changed(Pool("c-east", "train", 4), 6)}, stop_}};
  west_.streams = {
      {{InSnapshot(Pool("c-west", "eval", 12)), EndOfAll(8)}, absl::OutOfRangeError("compacted")},
      {{EndOfAll(9)}, stop_}};
  EXPECT_EQ(RunLine({"get", "np", "-A", "-w", "--no-headers", "-o",
                     "custom-columns=CELL:.metadata.cell,N:.spec.targetNodes"}),
            kFailed);
  EXPECT_THAT(Lines(), UnorderedElementsAre("east   3", "east   4", "west   12",
                                            "nodepool/eval deleted in west"));
  EXPECT_THAT(east_.watched_from, ElementsAre("", "5@"));
  EXPECT_THAT(west_.watched_from, ElementsAre("", ""));
  EXPECT_THAT(err(),
              AllOf(HasSubstr("note: the watch of cell east broke off (cut), reconnecting\n"),
                    HasSubstr("error: cell east: stop\n"), HasSubstr("error: cell west: stop\n"),
                    Not(HasSubstr("compacted"))));
}

TEST_F(CellsWatchTest, TheTableOfAWatchSaysWhichCell) {
  east_.streams = {{{EndOfAll(5)}, stop_}};
  west_.streams = {{{InSnapshot(Pool("c-west", "eval", 12)), EndOfAll(8)}, stop_}};
  EXPECT_EQ(RunLine({"get", "np", "-A", "-w"}), kFailed);
  EXPECT_THAT(out(), AllOf(ContainsRegex("CELL +ORGANIZATION +CLUSTER +NAME"),
                           ContainsRegex("west +acme +c-west +eval ")));
}

// What a list says of all cells once a watch says as often as it changes.
TEST_F(CellsWatchTest, NamesAreSaidAtEveryChange) {
  east_.streams = {{{EndOfAll(5)}, stop_}};
  west_.streams = {{{InSnapshot(Pool("c-west", "eval", 12)), EndOfAll(8),
                     Changed(Pool("c-west", "eval", 13), 9)},
                    stop_}};
  EXPECT_EQ(RunLine({"get", "np", "-A", "-w", "-o", "name"}), kFailed);
  const std::string name = "nodepool/organizations/acme/clusters/c-west/nodePools/eval";
  EXPECT_THAT(Lines(), ElementsAre(name, name));
}

TEST_F(CellsWatchTest, ACellThatIsAwayIsSaidAndTriedAgainWhileOthersAreFollowed) {
  std::atomic<int> east_streams = 0;
  east_.before_watch = [&] { ++east_streams; };
  west_.before_watch = [&] { testing::Until([&] { return east_streams > 1; }, "what east has"); };
  east_.streams = {
      {{InSnapshot(Pool("c-east", "train", 3)), EndOfAll(5)}, absl::UnavailableError("cut")},
      {{}, stop_}};
  const FakeApi::Stream away{{}, FromServer(absl::UnavailableError("nobody is there"))};
  const FakeApi::Stream silent{{}, FromServer(absl::DeadlineExceededError("no answer"))};
  west_.streams = {
      away, silent, away, {{InSnapshot(Pool("c-west", "eval", 12)), EndOfAll(8)}, stop_}};
  EXPECT_EQ(RunLine({"get", "np", "-A", "-w", "--no-headers", "--timeout=1ms", "-o",
                     "custom-columns=CELL:.metadata.cell,N:.spec.targetNodes"}),
            kFailed);
  EXPECT_THAT(Lines(), ElementsAre("east   3", "west   12"));
  EXPECT_THAT(west_.streams, IsEmpty());
  const std::vector<std::string> notes = absl::StrSplit(err(), "note: cell west");
  EXPECT_THAT(notes,
              ElementsAre(_, HasSubstr(" does not answer (nobody is there), trying again\n")))
      << "once";
}

TEST_F(CellsWatchTest, AWatchThatNoCellAnswersEnds) {
  const FakeApi::Stream away{{}, FromServer(absl::UnavailableError("nobody is there"))};
  east_.streams = west_.streams = {1000, away};
  EXPECT_EQ(RunLine({"get", "nodes", "-w"}), kFailed);
  EXPECT_THAT(out(), IsEmpty());
  EXPECT_THAT(err(), AllOf(HasSubstr("error: cell east: nobody is there (UNAVAILABLE)\n"),
                           HasSubstr("error: cell west: nobody is there (UNAVAILABLE)\n")));
}

TEST_F(CellsWatchTest, AWatchOfAClusterThatNoCellHasEnds) {
  east_.streams =
      west_.streams = {{{EndOfAll(1)}, absl::UnavailableError("cut")}, {{EndOfAll(2)}, stop_}};
  EXPECT_EQ(RunLine({"get", "np", "-w", "--cluster=none"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("error: cluster \"none\" (named by --cluster) does not exist"));
  // Of one that a cell has the others need not know.
  east_.streams = west_.streams = {{{EndOfAll(1)}, stop_}};
  EXPECT_EQ(RunLine({"get", "np", "-w", "--cluster=c-west"}), kFailed);
  EXPECT_THAT(err(), Not(HasSubstr("does not exist")));
}

}  // namespace
}  // namespace muster::musterctl
