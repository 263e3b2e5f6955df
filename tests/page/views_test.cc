// What the page's views show of documents and a time that the test tells, in the browser that runs
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/page/modules_test_base.h"

namespace muster::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class ViewsTest : public ModulesTest {
 protected:
  // As Run, of a module that has the view. `body` may wait. At hand are viewOf(View, [[kind, key,
  // content], ...], ...more) and what sets the time that views show (dom.js), which is `start`
  // (milliseconds) until then.
  json RunView(const std::string& module, const std::string& view, const std::string& body) {
    return Run(module, view,
               absl::StrCat(R"(return (async () => {
      const [{setMoment, tick}, {Store}] = await Promise.all([import('/dom.js'), import('/store.js')]);
      const minute = 60000, start = Date.UTC(2030, 0, 1, 12);
      setMoment(start);
      const viewOf = (View, documents, ...more) => {
        const store = new Store();
        store.apply({caughtUp: true, documents});
        return new View({store, moment: null}, ...more);
      };)",
                            body, "})();"));
  }
};

TEST_F(ViewsTest, WhenAnObstaclePassesFollowsTheTime) {
  const json answer = RunView("pool.js", "PoolView", R"(
    const at = (minutes) => new Date(start + minutes * minute).toISOString();
    const pool = {uid: 'u', zone: 'z', type: 't', class: 'default', target: 1, current: 0, progress: 0, queued: 0, conditions: []};
    const view = viewOf(PoolView, [['pool', 'p', pool]], 'p');
    const obstacle = {reason: 'R', actor: 'ACTOR_NOBODY', subject: 's', message: 'm'};
    const obstacles = [{latestTime: at(15)}, {earliestTime: at(20)}, {earliestTime: at(5), latestTime: at(25)}, {}];
    view.answer = {explained: {obstacles: obstacles.map((times) => ({...obstacle, ...times}))}, events: []};
    const told = () => [...view.element.querySelectorAll('#obstacles td:nth-child(4)')].map((one) => one.textContent);
    view.draw();
    const first = told();
    setMoment(start + 10 * minute);
    tick(view.element);
    view.draw();
    return {first, later: told()};)");
  EXPECT_EQ(answer["first"], (json{"at most 15:00", "at least 20:00", "5:00 to 25:00", "unknown"}));
  EXPECT_EQ(answer["later"], (json{"at most 5:00", "at least 10:00", "0:00 to 15:00", "unknown"}));
}

TEST_F(ViewsTest, NowMovesOnAlongTheWindowsOfOtherLimits) {
  const json answer = RunView("quota.js", "QuotaView", R"(
    const hour = 60 * minute;
    const overrides = [{limit: 9, from: start + hour, until: start + 2 * hour, reason: ''}];
    const quota = {organization: 'a', zone: 'z', type: 't', class: 'default', set: true, held: 0, limit: 4, inForce: 4, overrides};
    const view = viewOf(QuotaView, [['quota', 'organizations/a/quotas/z~t~default', quota]]);
    const told = () => {
      tick(view.element);
      return {
        present: Math.round(parseFloat(view.element.querySelector('.present').style.left)),
        window: view.element.querySelector('.window').className,
        words: view.element.querySelector('.overrides li').textContent.split(',')[0]};
    };
    view.draw();
    const first = told();
    setMoment(start + 0.75 * hour);
    view.second();
    const later = told();
    setMoment(start + 1.5 * hour);
    view.draw();
    return {first, later, last: told()};)");
  EXPECT_EQ(answer["first"],
            (json{{"present", 20}, {"window", "window"}, {"words", "limit 9 in 1h 00m"}}));
  EXPECT_EQ(answer["later"],
            (json{{"present", 25}, {"window", "window"}, {"words", "limit 9 in 15:00"}}));
  EXPECT_EQ(answer["last"]["window"], "window now");
  EXPECT_THAT(answer["last"]["words"].get<std::string>(),
              HasSubstr("limit 9 in force for another 30:00"));
}

TEST_F(ViewsTest, ARolloutThatEndedLatelyIsShownForSomeTime) {
  const json answer = RunView("rollouts.js", "RolloutsView", R"(
    const pool = (state, since) => ({profile: 'np', maxUnavailable: '', rollout: {state, failed: [], allowedFailures: 0,
      maxUnavailable: '', rebooted: 0, begun: start - 60 * minute, since}});
    const view = viewOf(RolloutsView,
        [['pool', 'runs', pool('RUNNING', start - 60 * minute)], ['pool', 'ended', pool('DONE', start - 10 * minute)]]);
    const shown = () => [...view.element.querySelectorAll('[data-pool]')].map((one) => one.dataset.pool);
    view.draw();
    const first = shown();
    setMoment(start + 10 * minute);
    view.second();
    return {first, later: shown()};)");
  EXPECT_THAT(answer["first"], UnorderedElementsAre("runs", "ended"));
  EXPECT_EQ(answer["later"], (json{"runs"}));
}

// Profiles come by another watch than pools.
TEST_F(ViewsTest, WhatIsSaidOfARolloutFollowsAllThatItIsSaidFrom) {
  const json answer = RunView("rollouts.js", "RolloutsView", R"(
    const rollout = {state: 'RUNNING', failed: [], allowedFailures: 0, maxUnavailable: '', rebooted: 0, begun: start, since: start, halt: ''};
    const pool = (maxUnavailable) => ['pool', 'p', {profile: 'np', maxUnavailable, rollout}];
    const view = viewOf(RolloutsView, [pool('')]);
    const told = () => [view.element.querySelector('h2').textContent, view.element.querySelector('.facts').textContent].join();
    view.draw();
    const first = told();
    view.app.store.apply({documents: [['profile', 'np', {image: 'i', kubernetes: '1.33'}], pool('25%')]});
    view.draw();
    return {first, later: told()};)");
  EXPECT_THAT(answer["first"].get<std::string>(), HasSubstr("at most 1 at a time"));
  EXPECT_THAT(answer["later"].get<std::string>(), HasSubstr("Kubernetes 1.33"));
  EXPECT_THAT(answer["later"].get<std::string>(), HasSubstr("at most 25% at a time"));
}

// An organization's earliest places go to its own highest priority, and a gang is served at the
// last place that it takes.
TEST_F(ViewsTest, TheQueueIsInTheOrderInWhichMachinesAreGiven) {
  const json answer = RunView("queue.js", "QueueView", R"(
    const claim = (organization, name, minute, nodes, more) => ['claim', name, {zone: 'z', type: 't', class: 'default',
      organization, pool: `organizations/${organization}/clusters/c/nodePools/${name}`, nodes, outstanding: nodes, priority: 0, since: 0,
      parts: [{time: minute, nodes, atOnce: Boolean(more?.gang)}], places: [], ...more}];
    const shown = (...claims) => {
      const view = viewOf(QueueView, claims);
      view.draw();
      return [...view.element.querySelectorAll('.queue .who')].map((one) => one.textContent).join(' ');
    };
    const large = (more) => claim('acme', 'large', 1, 8, more), other = claim('beta', 'other', 3, 2);
    const urgent = claim('acme', 'urgent', 5, 4, {priority: 10});
    const lost = {gang: true, parts: [{time: 1, nodes: 8, atOnce: false}]};
    // Of the large one whose places another used up, which is served: it got that one's for them.
    const places = [{time: 5, nodes: 8, askedBy: 'served'}];
    return {
      by_time: shown(large(), other, claim('acme', 'small', 5, 4)),
      by_priority: shown(large(), other, urgent),
      gang: shown(large({gang: true}), other, urgent),
      replaced: shown(large(lost), other, urgent),
      used_up: shown(large({places}), other),
      far: shown(claim('acme', 'large', 4, 8), other, claim('acme', 'urgent', 5, 4, {priority: 10}))};)");
  EXPECT_EQ(answer["by_time"], "acme/c/large beta/c/other acme/c/small");
  EXPECT_EQ(answer["by_priority"], "acme/c/urgent acme/c/large beta/c/other");
  EXPECT_EQ(answer["gang"], "acme/c/urgent beta/c/other acme/c/large");
  EXPECT_EQ(answer["replaced"], "acme/c/urgent acme/c/large beta/c/other");
  EXPECT_EQ(answer["used_up"], "beta/c/other acme/c/large");
  EXPECT_EQ(answer["far"], "beta/c/other acme/c/urgent acme/c/large");
}

// Milliseconds; the times that order it are microseconds.
TEST_F(ViewsTest, HowLongAClaimWaitsIsTold) {
  const json answer = RunView("queue.js", "QueueView", R"(
    const since = start - 3 * minute;
    const view = viewOf(QueueView, [['claim', 'u', {zone: 'z', type: 't', class: 'default', organization: 'a', pool: 'p', nodes: 1,
      outstanding: 1, priority: 0, since, parts: [{time: since * 1000 + 1, nodes: 1, atOnce: false}], places: []}]]);
    view.draw();
    return view.element.querySelector('.queue [data-tick=ago]').textContent;)");
  EXPECT_EQ(answer, "3:00");
}

}  // namespace
}  // namespace muster::testing
