// The fleet map in a browser, of a fleet that nobody runs: what stands where, in which colour, and
// what a change does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "services/page/core/board.h"
#include "tests/page/browser_test_base.h"
#include "tests/page/made_up_fleet.h"

namespace muster::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The colour in the middle of a machine's cell, as `#rrggbb`, read from the canvas that shows it;
// the sign that may stand there is passed by.
std::string ColourOf(Browser& browser, const std::string& machine) {
  return browser.Evaluate(absl::StrCat(R"((() => {
    const { view, store } = muster;
    const index = store.indexOf.get(')",
                                       machine, R"(');
    const block = view.viewOf.get(index);
    const { x, y } = block.at(block.placeOf.get(index));
    const edge = block.size.pitch >= 10 ? 4 : Math.ceil(block.size.pitch / 2);
    const at = [(x + edge) * block.ratio, (y + block.size.pitch - edge - 1) * block.ratio];
    const [r, g, b] = block.context.getImageData(...at, 1, 1).data;
    return '#' + [r, g, b].map((part) => part.toString(16).padStart(2, '0')).join('');
  })())"));
}

std::string StateColour(Browser& browser, const std::string& state) {
  return browser.Evaluate(absl::StrCat(
      "muster.view.painting.stateColours[muster.store.states.indexOf('", state, "')]"));
}

// The name of its state, in the page's words.
std::string StateOf(const std::string& machine) {
  return absl::StrCat("muster.store.stateName(muster.store.indexOf.get('", machine, "'))");
}

// The fleet's own count of a state, and the page's.
void ExpectCount(Browser& browser, const std::string& state) {
  const int counted = browser.Evaluate(
      absl::StrCat("[...muster.store.cells()].filter((i) => muster.store.stateName(i) === '", state,
                   "').length"));
  EXPECT_GT(counted, 0);
  EXPECT_EQ(browser.Evaluate(absl::StrCat("document.querySelector('.legend [data-name=", state,
                                          "]').dataset.count")),
            absl::StrCat(counted));
}

constexpr char kOldPool[] = "organizations/gone/clusters/main/nodePools/old";

class FleetTest : public BrowserTest {
 protected:
  void OpenWith(int machines) {
    fleet_.AddMachines(machines);
    browser_.Open(fleet_.url());
    browser_.Await(absl::StrCat("muster.store.caughtUp && muster.store.machines === ", machines));
    browser_.Await(
        "muster.view.blocks.length > 0 && muster.view.viewOf.size === muster.store.machines");
  }
  // A Node that boots on the machine of that number.
  static void TakeNode(page::Board& board, const std::string& pool, int number,
                       const std::string& profile = "") {
    const std::string machine = MadeUpFleet::MachineId(number);
    lifecycle::v1::WatchLifecycleResponse node;
    node.set_key(absl::StrCat(pool, "/nodes/", machine));
    node.mutable_node()->set_name(node.key());
    node.mutable_node()->set_machine(machine);
    node.mutable_node()->set_state(lifecycle::v1::Node::STATE_BOOTING);
    node.mutable_node()->mutable_observed()->set_node_profile(profile);
    board.Take(node);
  }
  // Whatever moment is asked for, it was so.
  void SetPast(const page::Board& then) {
    fleet_.SetPast([frame = then.TellAfter(page::Place(), 1000).json](absl::Time at) {
      return page::Questions::Answer{
          200, absl::StrCat("{\"at\":", absl::ToUnixMillis(at), ",\"frame\":", frame, "}")};
    });
  }

  MadeUpFleet fleet_;
};

TEST_F(FleetTest, ShowsEveryMachineInTheColourOfItsState) {
  OpenWith(200);
  browser_.Screenshot(ScreenshotFile("fleet-200"));
  EXPECT_EQ(browser_.Count("section.zone"), 1);
  EXPECT_THAT(browser_.Text("section.zone h2"), HasSubstr("US-EAST-01A 200 machines"));
  // Number 0 is free; 97 / 7 has the remainder that boots.
  EXPECT_EQ(ColourOf(browser_, MadeUpFleet::MachineId(0)), StateColour(browser_, "free"));
  EXPECT_EQ(ColourOf(browser_, MadeUpFleet::MachineId(1)), StateColour(browser_, "production"));
  EXPECT_EQ(ColourOf(browser_, MadeUpFleet::MachineId(97)), StateColour(browser_, "booting"));
  for (const char* state : {"free", "production", "booting", "triage"})
    ExpectCount(browser_, state);
}

TEST_F(FleetTest, TheLegendCountsWhatIsOnTheMap) {
  OpenWith(200);
  capacity::v1::WatchCapacityResponse elsewhere;
  elsewhere.set_type(type::v1::WATCH_EVENT_TYPE_CHANGED);
  elsewhere.set_key("machines/elsewhere");
  elsewhere.mutable_machine()->set_name(elsewhere.key());
  elsewhere.mutable_machine()->set_zone("EU-NORTH-02A");
  elsewhere.mutable_machine()->set_state(capacity::v1::Machine::STATE_FREE);
  fleet_.board().Take(elsewhere);
  browser_.Await("muster.view.viewOf.size === 201");
  const std::string sum =
      "[...document.querySelectorAll('.legend [data-name]')].reduce((sum, one) => sum + "
      "Number(one.dataset.count), 0)";
  const std::string free =
      "Number(document.querySelector('.legend [data-name=free]').dataset.count)";
  EXPECT_EQ(browser_.Evaluate(sum), 201);
  const int all_free = browser_.Evaluate(free);
  browser_.Evaluate("muster.view.chooseZone('US-EAST-01A')");
  EXPECT_THAT(browser_.Text("section.zone h2"), HasSubstr("US-EAST-01A 200 machines"));
  EXPECT_EQ(browser_.Evaluate(sum), 200);
  EXPECT_EQ(browser_.Evaluate(free), all_free - 1);
  browser_.Evaluate("document.querySelector('.legend [data-name=production]').click()");
  browser_.Evaluate("muster.view.chooseZone('EU-NORTH-02A')");
  EXPECT_EQ(browser_.Evaluate(sum), 1);
  EXPECT_EQ(browser_.Evaluate(free), 1);
  // It can be undone where there is none.
  browser_.Evaluate("document.querySelector('.legend [data-name=production]').click()");
  EXPECT_EQ(browser_.Evaluate("muster.view.highlighted"), "");
  EXPECT_EQ(browser_.Count(".legend [data-name=production]"), 0);
}

TEST_F(FleetTest, LeadsToThePagesOfOtherCellsAtTheSameView) {
  OpenWith(200);
  EXPECT_EQ(browser_.Text("#cells a"), "west");
  const char* kHref = "document.querySelector('#cells a').href";
  EXPECT_EQ(browser_.Evaluate(kHref), "http://west.example.org/#/fleet");
  browser_.Evaluate("location.hash = '#/quota'");
  browser_.Await(absl::StrCat(kHref, " === 'http://west.example.org/#/quota'"));
}

TEST_F(FleetTest, RepaintsAMachineThatChanges) {
  OpenWith(200);
  const std::string free = StateColour(browser_, "free");
  ASSERT_EQ(ColourOf(browser_, MadeUpFleet::MachineId(0)), free);
  const int frames = browser_.Evaluate("muster.frames");
  fleet_.Change(200);
  // With the step, the free ones move by one. What changed may arrive in pieces.
  browser_.Await(absl::StrCat(
      "muster.frames > ", frames, " && ", StateOf(MadeUpFleet::MachineId(0)), " !== 'free' && ",
      StateOf(MadeUpFleet::MachineId(10)), " === 'free' && ", "!muster.scheduled"));
  EXPECT_NE(ColourOf(browser_, MadeUpFleet::MachineId(0)), free);
  EXPECT_EQ(ColourOf(browser_, MadeUpFleet::MachineId(10)), free);
}

TEST_F(FleetTest, ColoursByProfileAndShowsOnlyWhatIsPressed) {
  OpenWith(200);
  browser_.Evaluate("document.getElementById('by-profile').click()");
  EXPECT_EQ(browser_.Count(".legend .entry"), 1);
  EXPECT_THAT(browser_.Text(".legend .entry"), HasSubstr("np-000000000000"));
  browser_.Evaluate("document.getElementById('by-state').click()");
  const std::string before = ColourOf(browser_, MadeUpFleet::MachineId(1));
  browser_.Evaluate("document.querySelector('.legend [data-name=free]').click()");
  EXPECT_NE(ColourOf(browser_, MadeUpFleet::MachineId(1)), before);
  EXPECT_EQ(ColourOf(browser_, MadeUpFleet::MachineId(0)), StateColour(browser_, "free"));
  browser_.Screenshot(ScreenshotFile("fleet-200-only-free"));
}

TEST_F(FleetTest, GoesFromMachineToMachineWithTheKeys) {
  OpenWith(200);
  const auto press = [&](const std::string& key) {
    browser_.Evaluate(absl::StrCat(
        "document.querySelector('canvas').dispatchEvent(new KeyboardEvent('keydown', {key: '", key,
        "', bubbles: true}))"));
  };
  press("ArrowRight");
  EXPECT_EQ(browser_.Text("#inspector h2"), MadeUpFleet::MachineId(0));
  press("ArrowUp");
  EXPECT_EQ(browser_.Text("#inspector h2"), MadeUpFleet::MachineId(1));
  press("ArrowRight");
  EXPECT_EQ(browser_.Text("#inspector h2"), MadeUpFleet::MachineId(19));
  EXPECT_THAT(browser_.Text("#inspector"), HasSubstr("org0/main/pool-0"));
  press("Enter");
  browser_.Await("location.hash.startsWith('#/pool/')");
}

// A server that was restarted tells its machines in another order.
TEST_F(FleetTest, AMachineStaysSelectedAndAZoneChosenWhenAllComesAnew) {
  OpenWith(200);
  browser_.Evaluate(absl::StrCat("muster.view.select(muster.store.indexOf.get('",
                                 MadeUpFleet::MachineId(0), "'))"));
  browser_.Evaluate(
      "window.zone = muster.view.blocks[0].block.zone; muster.view.chooseZone(window.zone);"
      "muster.view.count(); document.getElementById('zone').value = window.zone");
  ASSERT_EQ(browser_.Text("#inspector h2"), MadeUpFleet::MachineId(0));
  const auto drawn = [&] { browser_.Await("!muster.scheduled"); };
  const auto cell = [](int index, const std::string& id) {
    return absl::StrCat("[", index, ", 1, 0, 0, 0, '", id, "', 1, 2, 0, ", index, ", 0]");
  };
  browser_.Evaluate("muster.begin(muster.begun)");
  drawn();
  browser_.Evaluate(
      absl::StrCat("muster.frame({caughtUp: false, words: [1, [window.zone, 't']], cells: [",
                   cell(0, "another"), "]})"));
  drawn();
  EXPECT_EQ(browser_.Count("#inspector h2"), 0);
  EXPECT_EQ(browser_.Evaluate("document.getElementById('zone').value === window.zone"), true);
  browser_.Evaluate(absl::StrCat("muster.frame({caughtUp: true, cells: [",
                                 cell(1, MadeUpFleet::MachineId(0)), "]})"));
  drawn();
  EXPECT_EQ(browser_.Text("#inspector h2"), MadeUpFleet::MachineId(0));
  EXPECT_EQ(browser_.Evaluate("muster.view.selected"), 1);
}

TEST_F(FleetTest, NothingIsPressedAnyMoreWhenAllComesAnew) {
  OpenWith(200);
  browser_.Evaluate(
      "document.querySelector('.legend [data-name=free]').click(); muster.begin(muster.begun)");
  browser_.Await("!muster.scheduled");
  EXPECT_EQ(browser_.Evaluate("muster.view.highlighted"), "");
  EXPECT_EQ(browser_.Evaluate("muster.view.painting.highlight"), nullptr);
}

TEST_F(FleetTest, AWindowThatNobodyLooksAtKeepsEachChangeOnce) {
  OpenWith(200);
  // At once: a frame that was asked for before, for a beat, takes what is pending.
  EXPECT_EQ(browser_.Evaluate("muster.scheduled = true;"
                              "for (let i = 0; i < 1000; ++i) muster.touch({cells: [1, 2, 3]});"
                              "muster.pending.cells.size"),
            3);
}

TEST_F(FleetTest, ComesBackAfterTheConnectionIsLost) {
  OpenWith(200);
  browser_.Evaluate(
      "muster.before = muster.store; muster.counted = 0;"
      "muster.begin = ((begin) => (data) => { ++muster.counted; begin.call(muster, data); "
      "})(muster.begin)");
  fleet_.RestartListener();
  fleet_.Change(200);
  browser_.Await("muster.store.stateName(0) !== 'free' && muster.connected");
  // The page's icon is asked for after all else.
  for (const std::string& error : browser_.TakeErrors())
    EXPECT_THAT(error, AnyOf(HasSubstr("/events"), HasSubstr("/mark.svg")));
  // It resumed: nothing was told again.
  EXPECT_EQ(browser_.Evaluate("muster.counted"), 0);
  EXPECT_EQ(browser_.Evaluate("muster.store.machines"), 200);
}

// Nobody tells that it is over, and of the past it is told as it was.
TEST_F(FleetTest, AProtectionIsShownUntilItLapses) {
  OpenWith(200);
  const std::string machine = MadeUpFleet::MachineId(1);
  lifecycle::v1::WatchLifecycleResponse node;
  node.set_key(absl::StrCat("organizations/org0/clusters/main/nodePools/pool-0/nodes/", machine));
  node.mutable_node()->set_name(node.key());
  node.mutable_node()->set_machine(machine);
  node.mutable_node()->set_state(lifecycle::v1::Node::STATE_PRODUCTION);
  node.mutable_node()->mutable_protect_until_time()->set_seconds(2'000'000'000);
  fleet_.board().Take(node);
  browser_.Await("muster.store.documents.protection.size === 1 && !muster.scheduled");
  // The page's time stands still from here on.
  browser_.Evaluate(
      "import('/dom.js').then(({setMoment}) => { globalThis.setMoment = setMoment; "
      "setMoment(1999999999000); return true; })");
  browser_.Evaluate(absl::StrCat("muster.view.select(muster.store.indexOf.get('", machine, "'))"));
  EXPECT_THAT(browser_.Text("#inspector"), HasSubstr("protected"));
  browser_.Evaluate("setMoment(2000000000000); muster.view.second()");
  EXPECT_THAT(browser_.Text("#inspector"), Not(HasSubstr("protected")));
  browser_.Evaluate("setMoment(1999999999000); muster.touch({anew: true})");
  browser_.AwaitText("#inspector", "protected");
  node.mutable_node()->clear_protect_until_time();
  fleet_.board().Take(node);
  browser_.Await("muster.store.documents.protection.size === 0 && !muster.scheduled");
  EXPECT_THAT(browser_.Text("#inspector"), Not(HasSubstr("protected")));
}

// The slider to so long ago.
std::string MoveTo(absl::Duration ago) {
  return absl::StrCat(
      "(() => { const slider = document.getElementById('moment');"
      "slider.value = Number(slider.max) - ",
      absl::ToInt64Milliseconds(ago), "; slider.dispatchEvent(new Event('input')); })()");
}

TEST_F(FleetTest, ShowsAMomentOfThePastAskedForOnce) {
  OpenWith(200);
  browser_.Await("!document.getElementById('moment').disabled");
  EXPECT_EQ(browser_.Evaluate("document.getElementById('to-now').hidden"), true);
  // As many boot then as now, but others: the legend reads alike.
  const std::string booting = "document.querySelector('.legend [data-name=booting]')";
  ASSERT_EQ(browser_.Evaluate(booting + ".dataset.count"), "4");
  page::Board then = fleet_.board().PlacesAlone();
  for (const int number : {1, 2, 3, 4}) TakeNode(then, kOldPool, number);
  SetPast(then);
  // At once: after a rest each would be asked for.
  browser_.Evaluate(absl::StrCat(MoveTo(absl::Minutes(50)), "; ", MoveTo(absl::Minutes(40)), "; ",
                                 MoveTo(absl::Minutes(30))));
  browser_.Await("muster.moment !== null && muster.view.painting.store === muster.store");
  const int64_t moment = browser_.Evaluate("muster.moment");
  EXPECT_THAT(fleet_.pasts(), ::testing::ElementsAre(absl::FromUnixMillis(moment)));
  browser_.AwaitText("#when", ", 30:");
  EXPECT_EQ(browser_.Text("#connection"), "as it was");
  EXPECT_EQ(ColourOf(browser_, MadeUpFleet::MachineId(0)), StateColour(browser_, "nodeless"));
  EXPECT_EQ(ColourOf(browser_, MadeUpFleet::MachineId(1)), StateColour(browser_, "booting"));
  EXPECT_THAT(browser_.Text("figcaption"), HasSubstr("200, 196 without a Node"));
  ASSERT_EQ(browser_.Evaluate(booting + ".dataset.count"), "4");
  browser_.Evaluate(booting + ".click()");
  EXPECT_EQ(ColourOf(browser_, MadeUpFleet::MachineId(1)), StateColour(browser_, "booting"));
  EXPECT_NE(ColourOf(browser_, MadeUpFleet::MachineId(97)), StateColour(browser_, "nodeless"));
  // What goes on is not mixed in, and not lost.
  const int frames = browser_.Evaluate("muster.frames");
  fleet_.Change(200);
  browser_.Await(absl::StrCat("muster.frames > ", frames, " && !muster.scheduled"));
  EXPECT_EQ(browser_.Evaluate("muster.store.stateName(0)"), "nodeless");
  browser_.Screenshot(ScreenshotFile("fleet-as-it-was"));
  browser_.Evaluate("document.getElementById('to-now').click()");
  browser_.Await(absl::StrCat("muster.moment === null && !muster.scheduled && ",
                              StateOf(MadeUpFleet::MachineId(10)), " === 'free'"));
  EXPECT_EQ(ColourOf(browser_, MadeUpFleet::MachineId(10)), StateColour(browser_, "free"));
  EXPECT_EQ(browser_.Text("#connection"), "live");
  EXPECT_EQ(fleet_.pasts().size(), 1U);
}

// The words that they name have other numbers then, and other machines.
TEST_F(FleetTest, AProfileAndAPoolThatReadAlikeAreThoseOfTheMomentThatIsShown) {
  OpenWith(200);
  browser_.Await("!document.getElementById('moment').disabled");
  browser_.Evaluate("document.getElementById('by-profile').click()");
  const std::string pool = "organizations/org0/clusters/main/nodePools/pool-0";
  const std::string profile = "np-000000000000";
  const std::string profile_entry =
      absl::StrCat("document.querySelector('.legend [data-name=\"", profile, "\"]')");
  const std::string pool_entry =
      absl::StrCat("document.querySelector('.pool-entry [data-name=\"", pool, "\"]')");
  browser_.Evaluate(
      absl::StrCat("void (globalThis.entriesOfNow = [", profile_entry, ", ", pool_entry, "])"));
  const int count = std::stoi(browser_.Evaluate(pool_entry + ".dataset.count").get<std::string>());
  const size_t now = browser_.Evaluate(absl::StrCat("muster.store.words.indexOf('", pool, "')"));

  page::Board then = fleet_.board().PlacesAlone();
  const auto next_word = [&] {
    const auto frame = nlohmann::json::parse(then.TellAfter(page::Place(), 1000).json);
    return frame["words"][0].get<size_t>() + frame["words"][1].size();
  };
  // The colour of a pool's outline, one of eight, goes by the number of its word.
  for (int i = 0; next_word() % 8 != now % 8; ++i)
    TakeNode(then, kOldPool, 199, absl::StrCat("np-old-", i));
  ASSERT_NE(next_word(), now);
  for (int number = 1; number <= count; ++number) TakeNode(then, pool, number, profile);
  SetPast(then);
  browser_.Evaluate(MoveTo(absl::Minutes(30)));
  browser_.AwaitText("figcaption", "without a Node");
  ASSERT_EQ(browser_.Evaluate(absl::StrCat("globalThis.entriesOfNow[0] === ", profile_entry)),
            true);
  ASSERT_EQ(browser_.Evaluate(absl::StrCat("globalThis.entriesOfNow[1] === ", pool_entry)), true);
  const auto dims = [&](int number) {
    return browser_.Evaluate(absl::StrCat("muster.view.painting.dims(muster.store.indexOf.get('",
                                          MadeUpFleet::MachineId(number), "'))"));
  };
  for (const std::string& entry : {profile_entry, pool_entry}) {
    SCOPED_TRACE(entry);
    browser_.Evaluate(entry + ".click()");
    EXPECT_EQ(dims(11), false) << "free now";
    EXPECT_EQ(dims(190), true) << "without a Node then";
  }
  EXPECT_EQ(browser_.Evaluate("muster.store.words[muster.view.painting.highlightPool]"), pool);
}

TEST_F(FleetTest, WhatIsNotKeptIsSaidAndNowIsShown) {
  OpenWith(200);
  browser_.Await("!document.getElementById('moment').disabled");
  fleet_.SetPast([](absl::Time) {
    return page::Questions::Answer{410, R"({"error":"It tells from noon on."})"};
  });
  browser_.Evaluate(MoveTo(absl::Minutes(30)));
  browser_.AwaitText("#when", "It tells from noon on. Shown is what is now.");
  EXPECT_EQ(browser_.Evaluate("muster.moment"), nullptr);
  EXPECT_EQ(browser_.Evaluate("document.getElementById('moment').value === "
                              "document.getElementById('moment').max"),
            true);
  EXPECT_EQ(browser_.Evaluate("muster.store === muster.live"), true);
  for (const std::string& error : browser_.TakeErrors()) EXPECT_THAT(error, HasSubstr("410"));
}

// Something that has changed meanwhile is older than the journal: a moment that the services as
// such would tell of.
TEST_F(FleetTest, TheSliderOffersNoMomentThatIsKnownToBeRefused) {
  OpenWith(200);
  browser_.Await("!document.getElementById('moment').disabled");
  const int64_t oldest =
      browser_.Evaluate("Math.round(Number(document.getElementById('moment').max)) - 600000");
  fleet_.SetPast([oldest](absl::Time) {
    return page::Questions::Answer{
        410, absl::StrCat(R"({"error":"It tells from then on.","oldest":)", oldest, "}")};
  });
  browser_.Evaluate(MoveTo(absl::Minutes(30)));
  browser_.AwaitText("#when", "It tells from then on. Shown is what is now.");
  browser_.Await(absl::StrCat("Number(document.getElementById('moment').min) === ", oldest));
  for (const std::string& error : browser_.TakeErrors()) EXPECT_THAT(error, HasSubstr("410"));
}

TEST_F(FleetTest, ShowsAHundredThousandMachines) {
  OpenWith(100'000);
  browser_.Screenshot(ScreenshotFile("fleet-100000"));
  EXPECT_EQ(browser_.Count("section.zone"), 3);
  EXPECT_EQ(browser_.Count("canvas"), 5);
  EXPECT_THAT(browser_.Text("#time"), HasSubstr("100,000 machines"));
  for (const int number : {0, 1, 97, 19'999, 54'321, 99'990}) {
    const std::string machine = MadeUpFleet::MachineId(number);
    const std::string state = browser_.Evaluate(StateOf(machine));
    EXPECT_EQ(ColourOf(browser_, machine), StateColour(browser_, state)) << machine << " " << state;
  }
  for (const char* state : {"free", "production", "booting", "triage"})
    ExpectCount(browser_, state);
  browser_.SetScheme("light");
  browser_.Await("muster.view.painting.scheme === 'light'");
  browser_.Screenshot(ScreenshotFile("fleet-100000-light"));
}

}  // namespace
}  // namespace muster::testing
