// The pure parts of the page's scripts, asked in the browser that runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/page/modules_test_base.h"

namespace muster::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr char kBegin[] = "{states: ['free', 'production'], notice: 1, end: 2, version: ''}";

TEST_F(ModulesTest, AStoreIsWhatItsFramesSay) {
  const json answer = Run("store.js", "Store",
                          absl::StrCat(R"(
    const store = new Store();
    store.reset()",
                                       kBegin, R"();
    store.apply({caughtUp: false, words: [1, ['z', 't', 'r']], cells: [[0, 0, 0, 0, 0, 'g0', 1, 2, 3, 4, 0], [5000, 1, 1, 0, 0, 'g1', 1, 2, 3, 5, 0]]});
    const states = () => [...store.cells()].map((index) => store.stateName(index));
    const first = {machines: store.machines, states: states(), caughtUp: store.caughtUp};
    const changes = store.apply({caughtUp: true, cells: [[0, 1, 0, 0, 0], [5000, -1]], documents: [['pool', 'p', {uid: 'u'}], ['newer', 'x', {}]]});
    return {first, machines: store.machines, states: states(), rack: store.words[store.rack[0]], slot: store.slot[0],
      changed: changes.cells, moved: changes.moved, kinds: [...changes.kinds], pool: store.poolOfUid('u')};)"));
  EXPECT_EQ(answer["first"],
            (json{{"machines", 2}, {"states", {"free", "production"}}, {"caughtUp", false}}));
  EXPECT_EQ(answer["machines"], 1);
  EXPECT_EQ(answer["states"], (json{"production"}));
  EXPECT_EQ(answer["rack"], "r");
  EXPECT_EQ(answer["slot"], 4);
  EXPECT_EQ(answer["changed"], (json{0, 5000}));
  EXPECT_EQ(answer["moved"], true);
  EXPECT_EQ(answer["pool"], "p");
}

// Its deletion may be told with what was made since.
TEST_F(ModulesTest, APoolThatIsMadeAnewIsNoLongerFoundByItsFormerUid) {
  const json answer = Run("store.js", "Store", R"(
    const store = new Store();
    store.apply({documents: [['pool', 'p', {uid: 'former'}], ['pool', 'q', {uid: 'other'}]]});
    store.apply({documents: [['pool', 'p', {uid: 'now'}]]});
    const anew = ['former', 'now', 'other'].map((uid) => store.poolOfUid(uid));
    store.apply({documents: [['pool', 'p', null]]});
    return {anew, uids: [...store.poolByUid.keys()]};)");
  EXPECT_EQ(answer["anew"], (json{"", "p", "q"}));
  EXPECT_EQ(answer["uids"], (json{"other"}));
}

TEST_F(ModulesTest, RefusalsAreThoseOfTheQuotasKey) {
  const json answer = Run("store.js", "Store", R"(
    const store = new Store();
    const pool = (reason, more) => ({zone: 'z', type: 't', class: 'default', target: 5, granted: 2, conditions: [{type: 'Quota', reason}], ...more});
    const name = (organization, id) => `organizations/${organization}/clusters/c/nodePools/${id}`;
    store.apply({documents: [['pool', name('a', 'over'), pool('Over')], ['pool', name('a', 'well'), pool('Under')],
      ['pool', name('a', 'spot'), pool('Over', {class: 'spot'})], ['pool', name('b', 'other'), pool('Over')]]});
    return [...store.refusals()];)");
  std::map<std::string, std::string> refused;
  for (const json& entry : answer)
    refused[entry[0]] = absl::StrCat(entry[1][0]["name"].get<std::string>(), " ",
                                     entry[1][0]["nodes"].get<int>(), " by ", entry[1].size());
  EXPECT_THAT(refused,
              UnorderedElementsAre(Pair("organizations/a/quotas/z~t~default",
                                        "organizations/a/clusters/c/nodePools/over 3 by 1"),
                                   Pair("organizations/a/quotas/z~t~spot",
                                        "organizations/a/clusters/c/nodePools/spot 3 by 1"),
                                   Pair("organizations/b/quotas/z~t~default",
                                        "organizations/b/clusters/c/nodePools/other 3 by 1")));
}

TEST_F(ModulesTest, WhatIsRefusedForWantOfAQuotaIsShown) {
  Run("quota.js", "QuotaView", R"(
    return import('/store.js').then(({Store}) => {
      const store = new Store();
      store.apply({documents: [['pool', 'organizations/a/clusters/c/nodePools/p',
        {zone: 'EAST', type: 'gb200', class: 'spot', target: 5, granted: 0, conditions: [{type: 'Quota', reason: 'NotSet'}]}]]});
      const view = new QuotaView({store});
      view.draw();
      document.body.append(view.element);
      return true;
    });)");
  const std::string row =
      browser_.Text("[data-organization=a] [data-quota='organizations/a/quotas/EAST~gb200~spot']");
  for (const char* part : {"EAST", "gb200", "spot", "no quota held", "5 refused", "a/c/p"})
    EXPECT_THAT(row, HasSubstr(part));
}

TEST_F(ModulesTest, EverySlotIsFoundWhereItIsDrawn) {
  const json wrong = Run("layout.js", "measure, slotAt, hit", R"(
    const wrong = [];
    for (const [slots, rows, columns] of [[8, 8, 1], [18, 18, 1], [40, 18, 3], [8, 2, 4]]) {
      const block = {racks: Array.from({length: 23}), slots, rows, columns};
      for (const pitch of [3, 4, 8, 10, 16, 24]) {
        const size = measure(block, pitch, 300);
        for (let rack = 0; rack < 23; ++rack) for (let slot = 0; slot < slots; ++slot) {
          const {x, y} = slotAt(block, size, rack, slot);
          const found = hit(block, size, x + pitch / 2, y + pitch / 2);
          if (found?.rack !== rack || found?.slot !== slot || x + pitch > size.width || y + pitch > size.height) wrong.push([slots, pitch, rack, slot]);
        }
      }
    }
    return wrong;)");
  EXPECT_EQ(wrong, json::array());
}

TEST_F(ModulesTest, EveryMachineHasAPlaceOfItsOwn) {
  const json answer = Run("store.js", "Store",
                          absl::StrCat(R"(
    return import('/layout.js').then(({makeBlocks}) => {
      const store = new Store();
      store.reset()",
                                       kBegin, R"();
      const cells = [];
      const slots = [0, 0, 3, -1, 900, 2];  // twice the same, none, and far too high
      slots.forEach((slot, i) => cells.push([i, 0, 0, 0, 0, `g${i}`, 1, 2, 3, slot, 0]));
      for (let i = 6; i < 26; ++i) cells.push([i, 0, 0, 0, 0, `g${i}`, 1, 2, 0, 0, 0]);  // no rack
      store.apply({words: [1, ['z', 't', 'r10']], cells});
      const [block] = makeBlocks(store);
      const all = block.racks.flatMap((rack) => [...rack.places]).filter((index) => index >= 0);
      return {count: block.count, all: all.length, distinct: new Set(all).size, atThree: block.racks.find((rack) => rack.name === 'r10').places[3]};
    });)"));
  EXPECT_EQ(answer, (json{{"count", 26}, {"all", 26}, {"distinct", 26}, {"atThree", 2}}));
}

TEST_F(ModulesTest, RacksAreNamedByWhatTellsThemApart) {
  EXPECT_EQ(
      Run("layout.js", "sharedStart",
          R"(return [['a-b-r000', 'a-b-r001'], ['a-b-r000'], ['r1', 'r2'], ['x', ''], ['a-1', 'b-1']].map((names) => names[0].slice(sharedStart(names)));)"),
      (json{"r000", "r000", "r1", "x", "a-1"}));
}

TEST_F(ModulesTest, CellsShrinkAsMachinesGrow) {
  const json pitches = Run(
      "layout.js", "fitPitch",
      "return [1, 200, 2000, 20000, 100000, 1e6].map((machines) => fitPitch(machines, 1100, 700))");
  for (size_t i = 1; i < pitches.size(); ++i) EXPECT_LE(pitches[i], pitches[i - 1]);
  EXPECT_EQ(pitches[0], 24);
  EXPECT_GE(pitches.back(), 3);
}

TEST_F(ModulesTest, DurationsReadAsPeopleSayThem) {
  EXPECT_EQ(Run("dom.js", "duration",
                "return [0, 59499, 187000, 3600000, 7500000, 273600000, -5].map(duration)"),
            (json{"0:00", "0:59", "3:07", "1h 00m", "2h 05m", "3d 4h", "0:00"}));
}

TEST_F(ModulesTest, WhatStaysOfAListIsNotMadeAnew) {
  EXPECT_EQ(Run("dom.js", "h, keep", R"(
    const parent = h('div');
    let made = 0;
    const item = (key, print) => ({key, print, make: () => { ++made; return h('p', {}, `${key}${print}`); }});
    keep(parent, [item('a', 1), item('b', 1), item('c', 1)]);
    const b = parent.children[1];
    keep(parent, [item('d', 1), item('b', 1), item('c', 2), item('a', 1)]);
    return [made, parent.innerText, parent.children[1] === b];)"),
            (json{5, "d1b1c2a1", true}));
}

// However fast it moves, never two at a time, and the last one counts.
TEST_F(ModulesTest, APositionIsAskedForOnceItHasSettled) {
  const json answer = Run("past.js", "Settled", R"(
    const asked = [], told = [];
    let answerNow = null;
    const settled = new Settled({
      ask: (value) => { asked.push(value); return new Promise((done) => { answerNow = () => done(`as of ${value}`); }); },
      told: (text) => told.push(text), failed: (text) => told.push(text), rest: 1});
    const rested = () => new Promise((done) => { const look = () => settled.timer ? setTimeout(look, 1) : done(); look(); });
    const turn = () => new Promise((done) => setTimeout(done, 0));
    return (async () => {
      settled.want(1); settled.want(2); settled.want(3);
      await rested();
      settled.want(4); await rested(); settled.want(5); await rested();
      const first = [...asked];
      answerNow(); await turn();
      answerNow(); await turn();
      settled.want(6); await rested(); settled.want(null); answerNow(); await turn();
      return {first, asked, told};
    })();)");
  EXPECT_EQ(answer["first"], (json{3}));
  EXPECT_EQ(answer["asked"], (json{3, 5, 6}));
  EXPECT_EQ(answer["told"], (json{"as of 5"}));
}

// Logs, and whoever is called about them, may be of another zone.
TEST_F(ModulesTest, TheTimeSaysOfWhichZoneItIs) {
  const json answer = Run("past.js", "PastBar", R"(
    const element = document.createElement('p');
    const bar = new PastBar(element, {ask: () => new Promise(() => {}), show: () => {}, showNow: () => {}});
    const text = () => element.querySelector('#when').textContent;
    bar.draw({now: Date.now(), oldest: Date.now() - 1e7, sum: ''});
    const now = text();
    bar.slider.value = Date.now() - 5e6;
    bar.moved();
    return [now, text()];)");
  EXPECT_THAT(answer[0].get<std::string>(), MatchesRegex("Now [0-9:]+ (UTC|GMT[^ ]*|[A-Z]+)"));
  EXPECT_THAT(answer[1].get<std::string>(),
              MatchesRegex("[0-9-]+ [0-9:]+ (UTC|GMT[^ ]*|[A-Z]+), 1h 23m ago .*"));
}

// The queue goes on below an answer.
TEST_F(ModulesTest, WhyAClaimWaitsIsAskedAgain) {
  const json answer = Run("queue.js", "QueueView", R"(
    const asked = [];
    const fetched = window.fetch;
    window.fetch = async (path) => {
      asked.push(path);
      return {ok: true, text: async () => JSON.stringify({obstacles: [{code: 'CODE_A', message: `answer ${asked.length}`}]})};
    };
    const claim = {zone: 'z', type: 't', class: 'default', organization: 'a', pool: 'p', outstanding: 1, nodes: 2, since: 0, priority: 0,
      parts: [{time: 1, nodes: 1}], places: []};
    const documents = {claim: new Map([['u', claim], ['v', claim]]), clock: new Map()};
    const view = new QueueView({moment: null, store: {documents, caughtUp: true, poolOfUid: () => 'p', notice: 1, end: 2}});
    const whys = () => [...view.element.querySelectorAll('.why')].map((one) => one.textContent);
    const look = async () => { view.asker.asked = -Infinity; await view.asker.look(); };
    return (async () => {
      view.draw();
      await look();
      const unasked = asked.length;
      await view.explain('u');
      const first = whys();
      view.asker.changed();
      await look();
      const again = whys();
      documents.claim.delete('u');
      view.asker.changed();
      await look();
      view.draw();
      const gone = whys();
      await view.explain('v');
      view.app.moment = 5;
      view.asker.changed();
      await look();
      window.fetch = fetched;
      return {unasked, first, again, gone, asked};
    })();)");
  EXPECT_EQ(answer["unasked"], 0);
  EXPECT_EQ(answer["first"], (json{"A answer 1"}));
  EXPECT_EQ(answer["again"], (json{"A answer 2"}));
  EXPECT_EQ(answer["gone"], json::array());
  EXPECT_EQ(answer["asked"], (json{"/api/claim?uid=u", "/api/claim?uid=u", "/api/claim?uid=v"}));
}

// It is asked again while the first answer is on its way, and closed and opened anew.
TEST_F(ModulesTest, WhatWasAnsweredToALaterQuestionStays) {
  const json answer = Run("queue.js", "QueueView", R"(
    const questions = [];
    const fetched = window.fetch;
    window.fetch = () => new Promise((done) => questions.push(
        (message) => done({ok: true, text: async () => JSON.stringify({obstacles: [{code: 'CODE_A', message}]})})));
    const claim = {zone: 'z', type: 't', class: 'default', organization: 'a', pool: 'p', outstanding: 1, nodes: 2, since: 0, priority: 0,
      parts: [{time: 1, nodes: 1}], places: []};
    const documents = {claim: new Map([['u', claim]]), clock: new Map()};
    const view = new QueueView({moment: null, store: {documents, caughtUp: true, poolOfUid: () => 'p', notice: 1, end: 2}});
    const whys = () => [...view.element.querySelectorAll('.why')].map((one) => one.textContent);
    return (async () => {
      const explained = view.explain('u');
      const asking = whys();
      const looked = view.asker.look();
      questions[1]('second'); await looked;
      const second = whys();
      questions[0]('first'); await explained;
      const kept = whys();
      view.explain('u');
      const before = view.explain('u');
      view.explain('u');
      const anew = view.explain('u');
      questions[3]('fourth'); await anew;
      questions[2]('third'); await before;
      window.fetch = fetched;
      return {asking, second, kept, last: whys()};
    })();)");
  EXPECT_EQ(answer["asking"], (json{"asking …"}));
  EXPECT_EQ(answer["second"], (json{"A second"}));
  EXPECT_EQ(answer["kept"], (json{"A second"}));
  EXPECT_EQ(answer["last"], (json{"A fourth"}));
}

// Ready alone may be otherwise: while nobody acts the others say what was so before.
TEST_F(ModulesTest, APoolIsHealthyWhereReadySaysSo) {
  const json answer = Run("parts.js", "poolChips", R"(
    const well = ['Validated', 'Capacity', 'Quota', 'AtTarget'].map((type) => ({type, status: 'True', reason: 'Well'}));
    const ready = (status, reason) => [...well, {type: 'Ready', status, reason, message: `${reason}.`}];
    const told = (conditions, more) =>
        poolChips({conditions, ...more}).map((one) => `${one.className}|${one.lastChild.textContent}|${one.title}`);
    return {
      healthy: told(ready('True', 'Ready')),
      not_ready: told(ready('False', 'NoLeader')),
      unknown: told(ready('Unknown', 'NoLeader')),
      untold: told(well),
      troubled: told([...ready('False', 'NotReady'), {type: 'Quota', status: 'False', reason: 'Over', message: 'Too many.'}]),
      deleting: told(ready('True', 'Ready'), {deleting: true})};)");
  EXPECT_EQ(answer["healthy"], (json{"chip well|Healthy|"}));
  EXPECT_EQ(answer["not_ready"], (json{"chip waits|Ready: NoLeader|NoLeader."}));
  EXPECT_EQ(answer["unknown"], (json{"chip waits|Ready: NoLeader|NoLeader."}));
  EXPECT_EQ(answer["untold"], (json{"chip waits|Ready: not told yet|"}));
  EXPECT_EQ(answer["troubled"], (json{"chip ill|Quota: Over|Too many."}));
  EXPECT_EQ(answer["deleting"], (json{"chip waits|Deleting|"}));
}

// A stream that says what the test makes it say, and what the page hears: beats, and whether it is
// connected.
constexpr char kToldStream[] = R"(
    const sources = [], told = [], silence = 40;
    globalThis.EventSource = class extends EventTarget {
      static OPEN = 1;
      static CLOSED = 2;
      readyState = 1;
      constructor() { super(); sources.push(this); }
      close() { this.readyState = 2; }
      say(type, data) { this.dispatchEvent(Object.assign(new Event(type), {data: JSON.stringify(data)})); }
    };
    let lost = () => {};
    const connected = (is) => { told.push(is); if (!is) setTimeout(lost); };
    follow({begin: () => {}, frame: () => {}, beat: ({now}) => told.push(now), connected, silence});
    sources[0].say('open');)";

// As that of a server that is frozen, or behind a network that is gone. Until then it may be slow.
TEST_F(ModulesTest, AStreamThatFallsSilentIsLostAndOpenedAnew) {
  const json answer = Run("stream.js", "follow", absl::StrCat(kToldStream, R"(
    return new Promise((done) => {
      let live = 0;
      lost = () => done({told, live, states: sources.map((one) => one.readyState)});
      const beat = (now) => {
        live = sources.length;
        // Before it is said, from when on silence is counted: the next is due first.
        if (now < 4) setTimeout(() => beat(now + 1), silence / 2);
        sources[0].say('beat', {now});
      };
      beat(1);
    });)"));
  EXPECT_EQ(answer, (json{{"told", {true, 1, 2, 3, 4, false}}, {"live", 1}, {"states", {2, 1}}}));
}

// The browser knows that it is lost, and comes back to where it was.
TEST_F(ModulesTest, AStreamThatTheBrowserOpensIsNotOpenedAnew) {
  const json answer = Run("stream.js", "follow", absl::StrCat(kToldStream, R"(
    sources[0].readyState = 0;
    return new Promise((done) => setTimeout(() => done({told, sources: sources.length}), 3 * silence));)"));
  EXPECT_EQ(answer, (json{{"told", json::array({true})}, {"sources", 1}}));
}

TEST_F(ModulesTest, EveryStateOfTheServerHasALook) {
  EXPECT_EQ(
      Run("colours.js", "STATES", "return muster.store.states.filter((name) => !STATES[name])"),
      json::array());
}

}  // namespace
}  // namespace muster::testing
