#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "services/musterctl/commands/testing/commands_test_base.h"
#include "services/musterctl/top/testing/fleet.h"

namespace muster::musterctl {
namespace {

using lifecycle::v1::NodePoolObstacle;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Keys one batch after the other, then the end.
class FakeTerminal final : public Terminal {
 public:
  FakeTerminal(FakeClock& clock, FakeSteadyClock& steady) : clock_(clock), steady_(steady) {}

  Size size() const override { return {100, 30}; }
  void Enter() override { calls.emplace_back("enter"); }
  void Leave() override { calls.emplace_back("leave"); }
  std::vector<Key> Await(absl::Duration patience) override {
    patiences.push_back(patience);
    if (keys.empty()) return {Key::kQuit};
    std::vector<Key> next = keys.front();
    keys.pop_front();
    if (next.empty()) {
      clock_.Advance(patience);
      steady_.Advance(patience);
    }
    return next;
  }

  std::deque<std::vector<Key>> keys = {};
  std::vector<std::string> calls = {};
  std::vector<absl::Duration> patiences = {};

 private:
  FakeClock& clock_;
  FakeSteadyClock& steady_;
};

class TopTest : public CommandsTest {
 protected:
  TopTest() {
    api_.watches = {Watches(true)};
    api_.fleet = [](page::WatchSink& sink) {
      sink.Take(top::MachineIs("m1", "r1", 0, capacity::v1::Machine::STATE_HELD));
      sink.Take(top::NodeIs("m1", "train", lifecycle::v1::Node::STATE_PRODUCTION));
      for (const char* pool : {"train", "eval"})
        sink.Take(top::PoolIs(pool, 2, {{"Capacity", "Partial"}}));
      sink.Take(top::QuotaIs("acme", 4));
      sink.Take(top::QuotaIs("bcme", 4));
    };
  }

  std::vector<page::WatchHealth> Watches(bool live) const {
    return {{"capacity", live, clock_.Now(), live ? "" : "away"},
            {"quota", live, clock_.Now(), live ? "" : "away"}};
  }
  void AddObstacle(NodePoolObstacle::Actor actor, const std::string& message) {
    NodePoolObstacle& obstacle = *api_.obstacles.add_obstacles();
    obstacle.set_actor(actor);
    obstacle.set_message(message);
  }

  FakeTerminal terminal_{clock_, steady_};
};

TEST_F(TopTest, OncePrintsOnePageWithoutEscapeCodes) {
  AddObstacle(NodePoolObstacle::ACTOR_NOBODY, "Nodes boot.");
  AddObstacle(NodePoolObstacle::ACTOR_QUOTA_ADMIN, "The quota is full.");
  EXPECT_EQ(RunLine({"top", "--once"}), kDone) << err();
  EXPECT_THAT(out(),
              AllOf(HasSubstr("musterctl top  127.0.0.1:7600  "), HasSubstr("of 1 free  r1 P\n"),
                    HasSubstr("pools 0 ok, 2 not; machines 1: "), HasSubstr("acme/c1/train"),
                    HasSubstr("quota admin"), HasSubstr("The quota is full.\n"), HasSubstr("bcme"),
                    Not(HasSubstr("\x1b"))));
  EXPECT_THAT(api_.calls, Contains("explain nodepool " + top::PoolNamed("train")));
}

TEST_F(TopTest, SaysWhoReconcilesToWhomMayKnow) {
  EXPECT_EQ(RunLine({"top", "--once"}), kDone);
  EXPECT_THAT(out(), Not(HasSubstr("reconciles")));
  api_.leader = Leader{.holder = "host_1_2", .epoch = 7, .since = clock_.Now() - absl::Hours(3)};
  EXPECT_EQ(RunLine({"top", "--once"}), kDone);
  EXPECT_THAT(out(), HasSubstr("\nreconciles host_1_2, epoch 7, since 3h\n"));
}

TEST_F(TopTest, OnceWaitsUntilAllIsKnown) {
  api_.watches = {Watches(false), Watches(false), Watches(true)};
  EXPECT_EQ(RunLine({"top", "--once"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr("live: capacity 0s"));
}

TEST_F(TopTest, OnceFailsWhenNotAllIsKnownInTime) {
  api_.watches = {Watches(false)};
  EXPECT_EQ(RunLine({"top", "--once"}), kFailed);
  EXPECT_EQ(out(), "");
  EXPECT_THAT(err(), HasSubstr("not all is known after 10s; capacity, quota: away"));
  clock_step_ = -absl::Hours(1);
  EXPECT_EQ(RunLine({"top", "--once", "--timeout=3s"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("after 3s"));
}

TEST_F(TopTest, WhoCannotBeAskedIsNotKnown) {
  api_.refusal = absl::UnavailableError("away");
  EXPECT_EQ(RunLine({"top", "--once"}), kDone);
  EXPECT_THAT(out(), ::testing::ContainsRegex("1 of 2 +[?] +[0-9a-z]+ +Capacity: Partial"));
}

TEST_F(TopTest, ColourIsForTerminalsUnlessToldOtherwise) {
  const std::string code = "\x1b[32mP\x1b[0m";
  EXPECT_EQ(RunLine({"top", "--once", "--color=always"}), kDone);
  EXPECT_THAT(out(), HasSubstr(code));
  terminal_at_ = &terminal_;
  EXPECT_EQ(RunLine({"top", "--once"}), kDone);
  EXPECT_THAT(out(), HasSubstr(code));
  EXPECT_EQ(RunLine({"top", "--once", "--color=never"}), kDone);
  EXPECT_THAT(out(), Not(HasSubstr("\x1b")));
  environment_["NO_COLOR"] = "1";
  EXPECT_EQ(RunLine({"top", "--once"}), kDone);
  EXPECT_THAT(out(), Not(HasSubstr("\x1b")));
}

TEST_F(TopTest, AnOrganizationThatIsGivenHereFilters) {
  environment_["MUSTER_ORGANIZATION"] = "acme";
  EXPECT_EQ(RunLine({"top", "--once"}), kDone);
  EXPECT_THAT(out(), HasSubstr("bcme"));
  EXPECT_EQ(RunLine({"top", "--once", "--organization=acme"}), kDone);
  EXPECT_THAT(out(), AllOf(HasSubstr("acme  A-1A"), Not(HasSubstr("bcme"))));
}

TEST_F(TopTest, WrongUseIsRefusedWithWhatIsAllowed) {
  const auto refused = [&](std::vector<std::string> args) {
    args.insert(args.begin(), "top");
    EXPECT_EQ(RunLine(args), kWrongUse);
    EXPECT_TRUE(terminal_.calls.empty());
    return err();
  };
  EXPECT_THAT(refused({"--once", "--color=red"}),
              HasSubstr("--color: must be auto, always or never, is \"red\""));
  EXPECT_THAT(refused({"--once", "--interval=1ms"}),
              HasSubstr("--interval: must be 100ms to 1h, is \"1ms\""));
  EXPECT_THAT(refused({"--once", "--interval=x"}), HasSubstr("--interval: must be a duration"));
  EXPECT_THAT(refused({"pools"}), HasSubstr("takes no argument"));
  EXPECT_THAT(refused({}), HasSubstr("the output is no terminal; --once"));
}

TEST_F(TopTest, LiveDrawsUntilQuitAndGivesTheTerminalBack) {
  terminal_at_ = &terminal_;
  // Asked more often than that before the first page.
  api_.watches.assign(22, Watches(false));
  api_.watches.push_back(Watches(true));
  terminal_.keys = {{}, {Key::kDown}, {Key::kEnd, Key::kDown}, {Key::kUp}};
  EXPECT_EQ(RunLine({"top", "--interval=5s", "--color=never"}), kDone) << err();
  EXPECT_THAT(terminal_.calls, ElementsAre("enter", "leave"));
  EXPECT_EQ(terminal_.patiences.front(), absl::Seconds(5));
  const std::vector<std::string> pages = absl::StrSplit(out(), "\x1b[H");
  ASSERT_EQ(pages.size(), 6U);  // nothing, then a page at once, after 5 s, and after each key
  EXPECT_THAT(pages[1], HasSubstr("! capacity, quota: no news for 1s, trying again: away"));
  EXPECT_THAT(pages[2], HasSubstr("live: capacity 6s"));
  EXPECT_THAT(pages[3], HasSubstr("from number 2 on"));
  EXPECT_THAT(pages[4], HasSubstr("from number 2 on"));
  EXPECT_THAT(pages[5], Not(HasSubstr("from number")));
  EXPECT_THAT(pages[5], HasSubstr("\r\n\x1b[J"));
}

}  // namespace
}  // namespace muster::musterctl
