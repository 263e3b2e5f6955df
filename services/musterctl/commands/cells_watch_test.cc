#include <gmock/gmock.h>

#include <atomic>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/musterctl/commands/testing/cells_test_base.h"
#include "services/musterctl/top/testing/fleet.h"
#include "tests/testing/patience.h"

// What is followed of several cells: watches, and `top`.
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
  // By its whole name, as -A names all: cells may have clusters and NodePools of the same ids.
  EXPECT_THAT(Lines(),
              UnorderedElementsAre(
                  "east   3", "east   4", "west   12",
                  "nodepool/organizations/acme/clusters/c-west/nodePools/eval deleted in west"));
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

// Whether the cluster is anywhere is asked while other cells' lines go on.
TEST_F(CellsWatchTest, ACellThatIsSlowToSayWhatItHasHoldsUpNoLines) {
  std::atomic<int> west_streams = 0;
  std::atomic<bool> is_asked = false;
  east_.before_watch = [&] { testing::Until([&] { return west_streams > 1; }, "west's second"); };
  east_.before_get = [&] {
    is_asked = true;
    testing::Until([&] { return west_streams > 2; }, "what west has");
  };
  west_.before_watch = [&] {
    if (++west_streams == 2) testing::Until([&] { return is_asked.load(); }, "the question");
  };
  east_.streams = {{{EndOfAll(1)}, stop_}};
  west_.streams = {{{EndOfAll(1)}, absl::UnavailableError("cut")},
                   {{Changed(Pool("c-west", "eval", 13), 2)}, absl::UnavailableError("cut")}};
  EXPECT_EQ(RunLine({"get", "np", "-w", "--cluster=c-west", "--no-headers", "-o",
                     "custom-columns=CELL:.metadata.cell,N:.spec.targetNodes"}),
            kFailed);
  EXPECT_THAT(Lines(), ElementsAre("west   13"));
}

// Quits once it has shown a page.
class Glance final : public Terminal {
 public:
  Size size() const override { return {.width = 160, .height = 40}; }
  void Enter() override {}
  void Leave() override {}
  std::vector<Key> Await(absl::Duration) override { return {Key::kQuit}; }
};

class CellsTopTest : public CellsTest {
 protected:
  CellsTopTest() {
    for (const auto& [api, zone, pool] :
         {std::tuple(&east_, "EAST-1A", "train"), std::tuple(&west_, "WEST-1A", "eval")}) {
      api->watches = {Watches(true)};
      api->fleet = [zone = std::string(zone), pool = std::string(pool)](page::WatchSink& sink) {
        for (const page::Source source : {page::Source::kCapacity, page::Source::kLifecycle})
          sink.BeginSnapshot(source);
        auto machine = top::MachineIs("m-" + pool, "r1", 0, capacity::v1::Machine::STATE_HELD);
        machine.mutable_machine()->set_zone(zone);
        sink.Take(machine);
        sink.Take(top::NodeIs("m-" + pool, pool, lifecycle::v1::Node::STATE_PRODUCTION));
        sink.Take(top::PoolIs(pool, 2, {{"Capacity", "Partial"}}));
        sink.Take(top::EndOfSnapshot<top::Capacity>());
        sink.Take(top::EndOfSnapshot<top::Lifecycle>());
      };
      auto& obstacle = *api->obstacles.add_obstacles();
      obstacle.set_actor(lifecycle::v1::NodePoolObstacle::ACTOR_QUOTA_ADMIN);
      obstacle.set_message("As " + Word(zone) + " says.");
      api->leader = Leader{.holder = "host-of-" + Word(zone), .epoch = 7};
    }
  }
  static std::string Word(const std::string& zone) { return zone.substr(0, 4); }
  std::vector<page::WatchHealth> Watches(bool live) const {
    return {{"capacity", live, clock_.Now(), live ? "" : "away"}};
  }
};

TEST_F(CellsTopTest, ShowsTheFleetOfAllCells) {
  EXPECT_EQ(RunLine({"top", "--once"}), kDone) << err();
  EXPECT_THAT(out(), AllOf(HasSubstr("musterctl top  cells east, west  "),
                           HasSubstr("\nwatches live: east 0s, west 0s\n"),
                           HasSubstr("\nreconciles east: host-of-EAST, epoch 7\n"),
                           HasSubstr("\nreconciles west: host-of-WEST, epoch 7\n"),
                           HasSubstr("pools 0 ok, 2 not; machines 2: "),
                           ContainsRegex("EAST-1A  gd-8  0  of 1 free  r1 P\n"),
                           ContainsRegex("WEST-1A  gd-8  0  of 1 free  r1 P\n"),
                           ContainsRegex("acme/c1/train .*As EAST says\\."),
                           ContainsRegex("acme/c1/eval .*As WEST says\\.")));
  EXPECT_THAT(east_.calls, ElementsAre("explain nodepool " + top::PoolNamed("train")));
  EXPECT_THAT(west_.calls, ElementsAre("explain nodepool " + top::PoolNamed("eval")));
}

TEST_F(CellsTopTest, OnceShowsWhatOthersHaveWhereOneIsAway) {
  west_.watches = {Watches(false)};
  west_.fleet = [](page::WatchSink&) {};
  EXPECT_EQ(RunLine({"top", "--once"}), kFailed);
  EXPECT_THAT(out(), AllOf(HasSubstr("EAST-1A"), HasSubstr("\nwatches live: east 10s\n"),
                           HasSubstr("\n! west: capacity: no news for 10s, trying again: away\n"),
                           Not(HasSubstr("host-of-WEST"))));
  EXPECT_EQ(err(), "error: cell west: not all is known after 10s; capacity: away\n");
  east_.watches = {Watches(false)};
  EXPECT_EQ(RunLine({"top", "--once"}), kFailed);
  EXPECT_THAT(out(), IsEmpty());
  EXPECT_EQ(err(),
            "error: cell east: not all is known after 10s; capacity: away\n"
            "error: cell west: not all is known after 10s; capacity: away\n");
}

TEST_F(CellsTopTest, LiveShowsThemToo) {
  Glance terminal;
  terminal_at_ = &terminal;
  west_.watches = {Watches(false)};
  EXPECT_EQ(RunLine({"top", "--color=never"}), kDone) << err();
  EXPECT_THAT(out(), AllOf(HasSubstr("cells east, west"), HasSubstr("EAST-1A"),
                           HasSubstr("WEST-1A"), HasSubstr("! west: capacity: no news for 1s")));
}

}  // namespace
}  // namespace muster::musterctl
