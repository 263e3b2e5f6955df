#include "services/musterctl/top/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "services/musterctl/top/section.h"
#include "services/musterctl/top/testing/fleet.h"

namespace muster::musterctl::top {
namespace {

using capacity::v1::Machine;
using lifecycle::v1::Node;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

std::vector<page::WatchHealth> LiveWatches() {
  std::vector<page::WatchHealth> watches;
  for (const char* service : {"capacity", "quota", "lifecycle", "configuration"})
    watches.push_back({service, true, kNow - absl::Minutes(5), ""});
  return watches;
}

View PlainView() {
  View view;
  view.now = kNow;
  view.server = "here:1";
  view.cells = {{"", LiveWatches()}};
  return view;
}

std::string Text(const Fleet& fleet, const View& view) {
  return Print(Render(fleet, view), view.width, false, "\n");
}
std::vector<std::string> Lines(const Fleet& fleet, const View& view) {
  std::vector<std::string> lines = absl::StrSplit(Text(fleet, view), '\n');
  lines.pop_back();
  return lines;
}

// Two racks, a pool in trouble, one that is well, a queue, a quota that is full.
Fleet SmallFleet() {
  Fleet fleet;
  for (int i = 0; i < 6; ++i)
    fleet.Take(MachineIs(absl::StrCat("m", i), i < 4 ? "a1-r1" : "a1-r2", i,
                         i < 4 ? Machine::STATE_HELD : Machine::STATE_FREE),
               kNow);
  fleet.Take(MachineIs("m5", "a1-r2", 5, Machine::STATE_IN_REPAIR), kNow);
  fleet.Take(NodeIs("m0", "train", Node::STATE_PRODUCTION), kNow);
  fleet.Take(NodeIs("m1", "train", Node::STATE_BOOTING), kNow);
  fleet.Take(NodeIs("m2", "well", Node::STATE_PRODUCTION), kNow);
  fleet.Take(PoolIs("train", 5, {{"Quota", "Over"}, {"AtTarget", "UnderTarget"}}), kNow);
  fleet.Take(PoolIs("well", 1), kNow);
  fleet.Take(QuotaIs("acme", 4), kNow);
  fleet.Take(QuotaIs("bcme", 100), kNow);
  fleet.Take(HoldingIs("acme", "uid-train", 3), kNow);
  fleet.Take(HoldingIs("acme", "uid-well", 1), kNow);
  fleet.Take(ClaimIs("train", 3, 1, absl::Seconds(90)), kNow);
  return fleet;
}

TEST(PageTest, ShowsAllTopDown) {
  View view = PlainView();
  view.verdicts[PoolNamed("train")] = {"quota admin", "The quota is exhausted."};
  EXPECT_EQ(
      Text(SmallFleet(), view),
      "musterctl top  here:1  2025-06-15 15:06:40 UTC  no change yet\n"
      "watches live: capacity 5m, quota 5m, lifecycle 5m, configuration 5m\n"
      "pools 1 ok, 1 not; machines 6: 1 free, 4 held, 1 in repair; Nodes in service 2\n"
      "FLEET  6 machines\n"
      "  . free 1  h held 1  b booting 1  P production 2  R in-repair 1\n"
      "  A-1A  gd-8  1  of 6 free  r1 PbPh  r2 .R\n"
      "QUOTAS  2, the fullest first\n"
      "  acme  A-1A  gd-8  default    4 of 4  [##########]  5 refused to 1 pool\n"
      "  bcme  A-1A  gd-8  default  0 of 100  [----------]\n"
      "QUEUE  1 Node for 1 claim, the oldest for 90s\n"
      "  acme/c1/train  A-1A  gd-8  default  1 of 3 Nodes  for 90s\n"
      "POOLS NOT WHERE THEY SHOULD BE  1\n"
      "  POOL           IN SERVICE  WHO MUST ACT  FOR  CONDITION    WHY\n"
      "  acme/c1/train  1 of 5      quota admin   3m   Quota: Over  The quota is exhausted.\n");
}

TEST(PageTest, AnEmptyFleetSaysSo) {
  EXPECT_THAT(Text(Fleet(), PlainView()),
              AllOf(HasSubstr("No machine is registered."), HasSubstr("nobody waits"),
                    HasSubstr("No organization has a quota."),
                    HasSubstr("POOLS NOT WHERE THEY SHOULD BE  0\n")));
}

TEST(PageTest, WhatBringsNoNewsIsSaidWithTheReason) {
  View view = PlainView();
  std::vector<page::WatchHealth>& watches = view.cells[0].watches;
  for (size_t i = 0; i < 3; ++i)
    watches[i] = {watches[i].service, false, kNow - absl::Seconds(10 + 10 * i), "away"};
  watches[3].live = false;
  watches[3].error = "refused\x1b[31m";
  const std::vector<std::string> lines = Lines(SmallFleet(), view);
  EXPECT_EQ(lines[1], "! capacity, quota, lifecycle: no news for 30s, trying again: away");
  EXPECT_EQ(lines[2], "! configuration: no news for 5m, trying again: refused\\u001b[31m");
  EXPECT_THAT(lines[3], HasSubstr("machines 6"));
  view.width = 60;
  const std::vector<std::string> narrow = Lines(SmallFleet(), view);
  EXPECT_EQ(narrow[1], "! capacity, quota, lifecycle: no news for 30s, trying again:");
  EXPECT_EQ(narrow[2], "   away");
}

TEST(PageTest, IsNeverWiderOrHigherThanTheTerminal) {
  Fleet fleet = SmallFleet();
  for (int i = 0; i < 60; ++i) {
    fleet.Take(PoolIs(absl::StrCat("p", i), 5, {{"Capacity", "NoneAvailable"}}), kNow);
    fleet.Take(ClaimIs(absl::StrCat("p", i), 5, 5, absl::Minutes(i)), kNow);
    fleet.Take(QuotaIs(absl::StrCat("org", i), 5), kNow);
  }
  for (const size_t width : {1, 2, 5, 20, 61, 80, 200}) {
    for (const size_t height : {1, 2, 3, 4, 7, 10, 24, 50, 500}) {
      SCOPED_TRACE(absl::StrCat(width, "x", height));
      View view = PlainView();
      view.width = width;
      view.height = height;
      const std::vector<std::string> lines = Lines(fleet, view);
      EXPECT_LE(lines.size(), height);
      for (const std::string& line : lines) EXPECT_LE(line.size(), width);
    }
  }
}

TEST(PageTest, EverySectionHasItsPartAndSaysWhatIsLeftOut) {
  Fleet fleet = SmallFleet();
  for (int i = 0; i < 60; ++i)
    fleet.Take(PoolIs(absl::StrCat("p", i), 5, {{"Capacity", "NoneAvailable"}}), kNow);
  View view = PlainView();
  view.height = 24;
  const std::vector<std::string> lines = Lines(fleet, view);
  EXPECT_EQ(lines.size(), 24U);
  EXPECT_THAT(lines, IsSupersetOf({"FLEET  6 machines", "QUOTAS  2, the fullest first",
                                   "QUEUE  1 Node for 1 claim, the oldest for 90s",
                                   "POOLS NOT WHERE THEY SHOULD BE  61"}));
  // 61 pools and the headers in 11 lines, with the title and this one.
  EXPECT_EQ(lines.back(), "  ... 51 lines more");
}

TEST(PageTest, SaysWhoReconciles) {
  View view = PlainView();
  view.reconcilers = {{.holder = "host-1\x1b", .epoch = 3, .since = kNow - absl::Hours(2)}};
  EXPECT_EQ(Lines(SmallFleet(), view)[2], "reconciles host-1\\u001b, epoch 3, since 120m");
  view.reconcilers[0].since = absl::InfinitePast();
  EXPECT_EQ(Lines(SmallFleet(), view)[2], "reconciles host-1\\u001b, epoch 3");
}

TEST(PageTest, OfSeveralCellsEachSaysHowItIsAndWhoReconciles) {
  View view = PlainView();
  view.cells = {{"east", LiveWatches()}, {"west", LiveWatches()}, {"north", LiveWatches()}};
  view.cells[0].watches[1].since = kNow - absl::Minutes(3);
  view.cells[2].watches[0].live = view.cells[2].watches[2].live = false;
  view.cells[2].watches[0].error = view.cells[2].watches[2].error = "away";
  view.reconcilers = {{.cell = "east", .holder = "host-1", .epoch = 3},
                      {.cell = "west", .holder = "host-2", .epoch = 1}};
  const std::vector<std::string> lines = Lines(SmallFleet(), view);
  EXPECT_EQ(lines[1], "watches live: east 3m, west 5m");
  EXPECT_EQ(lines[2], "! north: capacity, lifecycle: no news for 5m, trying again: away");
  EXPECT_EQ(lines[3], "reconciles east: host-1, epoch 3");
  EXPECT_EQ(lines[4], "reconciles west: host-2, epoch 1");
}

TEST(PageTest, PoolsAreScrolled) {
  Fleet fleet;
  for (int i = 0; i < 3; ++i)
    fleet.Take(PoolIs(absl::StrCat("p", i), 5, {{"Capacity", "Partial"}}, absl::Minutes(9 - i)),
               kNow);
  View view = PlainView();
  view.first_trouble = 1;
  EXPECT_THAT(Text(fleet, view), AllOf(HasSubstr("BE  3, from number 2 on"),
                                       HasSubstr("acme/c1/p1"), Not(HasSubstr("acme/c1/p0"))));
  view.first_trouble = 99;
  EXPECT_THAT(Text(fleet, view), HasSubstr("acme/c1/p2"));
}

TEST(PageTest, MoreMachinesThanFitAreACharacterARack) {
  Fleet fleet;
  for (int rack = 0; rack < 20; ++rack) {
    for (int slot = 0; slot < 100; ++slot) {
      fleet.Take(MachineIs(absl::StrCat("m", rack, "-", slot), absl::StrCat("r", rack), slot,
                           slot < 5 * rack + (rack == 19 ? 5 : 0) ? Machine::STATE_HELD
                                                                  : Machine::STATE_FREE),
                 kNow);
    }
  }
  fleet.Take(NodeIs("m3-0", "train", Node::STATE_TRIAGE), kNow);
  View view = PlainView();
  EXPECT_THAT(Text(fleet, view), Not(HasSubstr("one character a rack")));
  view.height = 24;
  EXPECT_THAT(
      Lines(fleet, view),
      IsSupersetOf({"FLEET  2000 machines, too many for the page: one character a rack",
                    "  share in use: . none, 1 to 9 tenths, # all; ! machines in triage or failed",
                    "  A-1A  gd-8  1045  of 2000 free  .11!223344556677889#"}));
}

// Where a character a rack saves no line there is one a machine.
TEST(PageTest, AFewMachinesAreShownHoweverLowThePage) {
  View view = PlainView();
  view.height = 8;
  EXPECT_THAT(Text(SmallFleet(), view), Not(HasSubstr("one character a rack")));
  EXPECT_THAT(Text(Fleet(), view), Not(HasSubstr("one character a rack")));
}

TEST(PageTest, ARackThatIsWiderThanThePageGoesOnBelow) {
  Fleet fleet;
  for (int slot = 0; slot < 30; ++slot)
    fleet.Take(MachineIs(absl::StrCat("m", slot), "r", slot), kNow);
  View view = PlainView();
  view.width = 20;
  size_t letters = 0;
  for (const std::string& line : Lines(fleet, view)) {
    EXPECT_LE(line.size(), 20U);
    if (absl::StartsWith(line, "    "))
      letters += static_cast<size_t>(std::count(line.begin(), line.end(), '.'));
  }
  EXPECT_EQ(letters, 30U);
}

TEST(PageTest, ColourIsBesideTheLettersNeverInsteadOfThem) {
  const std::vector<Line> lines = Render(SmallFleet(), PlainView());
  std::string coloured = Print(lines, 120, true, "\n");
  EXPECT_THAT(coloured, HasSubstr("\x1b[32mP\x1b[0m\x1b[36mb\x1b[0m"));
  std::string bare;
  for (size_t i = 0; i < coloured.size(); ++i) {
    if (coloured[i] == '\x1b')
      i = coloured.find('m', i);
    else
      bare += coloured[i];
  }
  EXPECT_EQ(bare, Print(lines, 120, false, "\n"));
}

TEST(PageTest, FiltersByZoneAndOrganization) {
  View view = PlainView();
  view.filter.organization = "bcme";
  EXPECT_THAT(Text(SmallFleet(), view),
              AllOf(HasSubstr("pools 0 ok, 0 not"), HasSubstr("bcme"), HasSubstr("nobody waits"),
                    Not(HasSubstr("acme")), HasSubstr("machines 6")));
  view.filter = {.zone = "B-1A"};
  EXPECT_THAT(Text(SmallFleet(), view),
              AllOf(HasSubstr("zone B-1A"), HasSubstr("No machine is registered."),
                    Not(HasSubstr("acme")), HasSubstr("machines 0")));
}

TEST(PageTest, OverridesAndQuotasThatAreNotSet) {
  Fleet fleet;
  Quotas message = QuotaIs("acme", 4);
  message.mutable_quota()->set_limit_in_force(9);
  auto& other = *message.mutable_quota()->add_overrides();
  other.set_limit(9);
  other.mutable_effective_time()->set_seconds(absl::ToUnixSeconds(kNow) - 5);
  other.mutable_expire_time()->set_seconds(absl::ToUnixSeconds(kNow) + 7200);
  fleet.Take(message, kNow);
  fleet.Take(HoldingIs("acme", "u1", 3), kNow);
  fleet.Take(HoldingIs("dcme", "u2", 1), kNow);
  const std::vector<std::string> lines = Lines(fleet, PlainView());
  EXPECT_THAT(lines, IsSupersetOf({"  dcme  A-1A  gd-8  default       1  no quota",
                                   "  acme  A-1A  gd-8  default  3 of 9  [###-------]  override "
                                   "for another 120m, then 4"}));
}

TEST(PageTest, SpotClocks) {
  Fleet fleet;
  fleet.Take(PoolIs("train", 1), kNow);
  Capacity machine = MachineIs("m1", "r1", 0, Machine::STATE_RECLAIMING);
  machine.mutable_machine()->mutable_reclaim_time()->set_seconds(absl::ToUnixSeconds(kNow) - 20);
  machine.mutable_machine()->set_earmark("uid-train");
  fleet.Take(machine, kNow);
  EXPECT_THAT(Text(fleet, PlainView()), HasSubstr("m1  unknown -> acme/c1/train  warned 20s ago"));
  Lifecycle node = NodeIs("m1", "spot", Node::STATE_PRODUCTION);
  node.mutable_node()->mutable_preempt_time()->set_seconds(absl::ToUnixSeconds(kNow) - 20);
  auto& desired = *node.mutable_node()->mutable_desired();
  desired.mutable_drain_time()->set_seconds(absl::ToUnixSeconds(kNow) + 10);
  desired.mutable_drain_deadline()->set_seconds(absl::ToUnixSeconds(kNow) + 70);
  fleet.Take(node, kNow);
  View view = PlainView();
  EXPECT_THAT(Text(fleet, view),
              AllOf(HasSubstr("; spot machines being taken back: 1"),
                    HasSubstr("m1  acme/c1/spot -> acme/c1/train  warned, drains in 10s")));
  view.now += absl::Seconds(15);
  EXPECT_THAT(Text(fleet, view), HasSubstr("draining, gone in 55s"));
  // They are of the NodePools between which they change hands.
  view.filter.organization = "acme";
  EXPECT_THAT(Text(fleet, view), HasSubstr("; spot machines being taken back: 1"));
  view.filter.organization = "bcme";
  EXPECT_THAT(Text(fleet, view), AllOf(HasSubstr("nobody waits"), Not(HasSubstr("acme"))));
}

TEST(PageTest, WhatDoesNotPassWithTimeStandsFirstThenTheOldest) {
  Fleet fleet;
  fleet.Take(PoolIs("a", 1, {{"AtTarget", "UnderTarget"}}, absl::Minutes(1)), kNow);
  fleet.Take(PoolIs("b", 1, {{"AtTarget", "UnderTarget"}}, absl::Hours(1)), kNow);
  fleet.Take(PoolIs("c", 1, {{"Capacity", "Partial"}, {"Validated", "Invalid"}}, absl::Seconds(1)),
             kNow);
  Lifecycle going = PoolIs("d", 1);
  going.mutable_node_pool()->mutable_delete_time()->set_seconds(absl::ToUnixSeconds(kNow) - 5);
  fleet.Take(going, kNow);
  Lifecycle fresh = PoolIs("e", 1);
  fresh.mutable_node_pool()->mutable_status()->clear_conditions();
  fleet.Take(fresh, kNow);
  std::vector<std::string> shown;
  for (const Trouble& trouble : TroublesOf(fleet, {}))
    shown.push_back(absl::StrCat(trouble.pool->uid(), " ", trouble.condition));
  EXPECT_THAT(shown, ElementsAre("uid-c Validated: Invalid", "uid-e Validated: not told yet",
                                 "uid-b AtTarget: UnderTarget", "uid-a AtTarget: UnderTarget",
                                 "uid-d Deleting"));
}

// As of one that was scaled while nobody leads, or has a Node that is looked into.
TEST(PageTest, APoolThatIsNotReadyIsNotWell) {
  const auto with_ready = [](const std::string& id, const std::string& status) {
    Lifecycle message = PoolIs(id, 1);
    auto& ready = *message.mutable_node_pool()->mutable_status()->add_conditions();
    ready.set_type("Ready");
    ready.set_status(status);
    ready.set_reason("NotObserved");
    return message;
  };
  Fleet fleet;
  fleet.Take(with_ready("a", "True"), kNow);
  fleet.Take(with_ready("b", "False"), kNow);
  const std::vector<Trouble> troubles = TroublesOf(fleet, {});
  ASSERT_EQ(troubles.size(), 1u);
  EXPECT_EQ(troubles[0].pool->uid(), "uid-b");
  EXPECT_EQ(troubles[0].condition, "Ready: NotObserved");
}

TEST(SectionTest, WhoWantsLessLeavesTheRestToTheOthers) {
  EXPECT_THAT(Share({10, 2, 10}, 12), ElementsAre(5, 2, 5));
  EXPECT_THAT(Share({10, 2, 10}, 100), ElementsAre(10, 2, 10));
  EXPECT_THAT(Share({10, 2, 10}, 2), ElementsAre(1, 1, 0));
  EXPECT_THAT(Share({10, 2}, 0), ElementsAre(0, 0));
}

TEST(LineTest, IsCutToWidthAndKeepsNothingThatATerminalObeys) {
  EXPECT_EQ(Line("abcdef").Print(4, false), "abc>");
  EXPECT_EQ(Line("abcdef").Print(6, false), "abcdef");
  EXPECT_EQ(Line("abc").Print(0, false), "");
  EXPECT_EQ(Line("a\nb\x1b[0m \xC3\xA9", Style::kBad).Print(80, false), "a\\u000ab\\u001b[0m ?");
  EXPECT_EQ(Line("ab", Style::kGood).Add("cd").Print(3, true), "\x1b[32mab\x1b[0m>");
}

}  // namespace
}  // namespace muster::musterctl::top
