#include "services/common/state.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

namespace muster {
namespace {

struct Fruit {
  static constexpr char kKind[] = "Fruit";
  std::string name = {};
  int weight = 0;
  const std::string& Key() const { return name; }
  bool operator==(const Fruit&) const = default;
};

struct Basket {
  static constexpr char kKind[] = "Basket";
  std::string name = {};
  std::string Key() const { return name; }
  bool operator==(const Basket&) const = default;
};

class Market : public StateBase<Market, Fruit, Basket> {
 public:
  void Reindex(const Fruit* before, const Fruit* after) {
    weight_ += (after != nullptr ? after->weight : 0) - (before != nullptr ? before->weight : 0);
  }
  void Reindex(const Basket*, const Basket*) {}
  int weight() const { return weight_; }

 private:
  int weight_ = 0;
};

// All that can be seen of a state, as text.
std::vector<std::string> Contents(const Market& market) {
  std::vector<std::string> lines = {std::to_string(market.weight())};
  market.ForEach([&](const Revised<Market::Change>& revised) {
    std::string line = std::string(revised.change.kind()) + " " + revised.change.key + " " +
                       std::to_string(revised.revision);
    if (const auto* fruit = std::get_if<std::shared_ptr<const Fruit>>(&revised.change.row)) {
      line += " " + std::to_string((*fruit)->weight);
    }
    lines.push_back(line);
  });
  return lines;
}

TEST(StagedStateTest, GivesEachChangeTheNextRevision) {
  Market market;
  StagedState<Market> staged(market, 41);
  EXPECT_TRUE(staged.Put(Fruit{"fig", 3}));
  EXPECT_TRUE(staged.Put(Basket{"big"}));
  EXPECT_TRUE(staged.Delete<Fruit>("fig"));
  EXPECT_EQ(staged.revision(), 44);
  ASSERT_EQ(staged.changes().size(), 3u);
  EXPECT_EQ(staged.changes()[0].revision, 42);
  EXPECT_FALSE(staged.changes()[0].change.deleted());
  EXPECT_EQ(staged.changes()[1].change.kind(), "Basket");
  EXPECT_TRUE(staged.changes()[2].change.deleted());
  EXPECT_EQ(staged.changes()[2].change.kind(), "Fruit");
  EXPECT_EQ(market.table<Basket>().FindVersioned("big")->revision, 43);
}

TEST(StagedStateTest, WhatIsSoAlreadyIsNoChange) {
  Market market;
  StagedState<Market> staged(market, 0);
  EXPECT_TRUE(staged.Put(Fruit{"fig", 3}));
  EXPECT_FALSE(staged.Put(Fruit{"fig", 3}));
  EXPECT_FALSE(staged.Delete<Fruit>("kiwi"));
  EXPECT_EQ(staged.revision(), 1);
  EXPECT_TRUE(staged.Put(Fruit{"fig", 4}));
  EXPECT_EQ(market.weight(), 4);
}

TEST(StagedStateTest, RollBackToAMarkKeepsWhatWasBefore) {
  Market market;
  StagedState<Market> staged(market, 0);
  staged.Put(Fruit{"fig", 3});
  const auto before = Contents(market);
  const size_t mark = staged.Mark();
  staged.Put(Fruit{"fig", 5});
  staged.Delete<Fruit>("fig");
  staged.Put(Fruit{"fig", 7});
  staged.Put(Fruit{"kiwi", 1});
  staged.RollBack(mark);
  EXPECT_EQ(Contents(market), before);
  EXPECT_EQ(staged.revision(), 1);
  staged.RollBack();
  EXPECT_EQ(market.size(), 0u);
  EXPECT_EQ(market.weight(), 0);
}

TEST(StagedStateTest, WhatIsPutAgainSinceAMarkIsOneChange) {
  Market market;
  StagedState<Market> staged(market, 41);
  staged.Put(Fruit{"fig", 3});
  staged.Put(Basket{"big"});
  staged.Put(Fruit{"fig", 4});
  EXPECT_EQ(staged.revision(), 43);
  EXPECT_EQ(std::get<std::shared_ptr<const Fruit>>(staged.changes()[0].change.row)->weight, 4);
  EXPECT_EQ(market.table<Fruit>().FindVersioned("fig")->revision, 42);
  EXPECT_EQ(staged.before(0).revision, 0) << "it was not there";

  const size_t mark = staged.Mark();
  staged.Put(Fruit{"fig", 5});
  staged.Put(Fruit{"fig", 6});
  EXPECT_EQ(staged.revision(), 44) << "what was before the mark may be wanted again";
  staged.RollBack(mark);
  EXPECT_EQ(market.weight(), 4);
  staged.Put(Fruit{"fig", 7});
  staged.Delete<Fruit>("fig");
  staged.Put(Fruit{"fig", 8});
  EXPECT_EQ(staged.revision(), 46) << "it went in between";
  staged.RollBack();
  EXPECT_EQ(market.size(), 0u);
}

// As where a head was set back by hand: what was there is not taken for what was put here.
TEST(StagedStateTest, ARowOfARevisionBeyondTheBaseIsAnothersChange) {
  Market market;
  StagedState<Market>(market, 1).Put(Fruit{"fig", 3});
  StagedState<Market> staged(market, 0);
  staged.Put(Fruit{"fig", 4});
  staged.Put(Basket{"big"});
  staged.Put(Fruit{"kiwi", 1});
  ASSERT_EQ(staged.changes().size(), 3u);
  EXPECT_EQ(staged.before(0).revision, 2);
  staged.RollBack();
  EXPECT_EQ(market.table<Fruit>().FindVersioned("fig")->revision, 2);
  EXPECT_EQ(market.weight(), 3);

  staged.Put(Basket{"big"});
  staged.Put(Basket{"small"});
  staged.Put(Fruit{"fig", 5});
  ASSERT_EQ(staged.changes().size(), 3u);
  EXPECT_EQ(staged.changes()[1].change.key, "small");
  staged.RollBack();
  EXPECT_EQ(market.weight(), 3);
}

TEST(StagedStateTest, RowsAreSharedByCopiesButStatesAreNot) {
  Market market;
  StagedState<Market>(market, 0).Put(Fruit{"fig", 3});
  const Market copy = market;
  StagedState<Market>(market, 1).Put(Fruit{"fig", 9});
  EXPECT_EQ(copy.table<Fruit>().Find("fig")->weight, 3);
  EXPECT_EQ(market.table<Fruit>().Find("fig")->weight, 9);
}

// Whatever is done on a staged state, taking it back restores all, revisions and indexes included;
// and the list of changes, applied to a copy of the first state, gives the last.
TEST(StagedStateTest, RollBackAndReplayHoldForAnySequence) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Market market;
    {
      StagedState<Market> first(market, 0);
      for (unsigned i = 0; i < random() % 6; ++i)
        first.Put(Fruit{std::string(1, static_cast<char>('a' + random() % 5)), 1});
    }
    const Market start = market;
    StagedState<Market> staged(market, 100);
    std::vector<std::pair<size_t, Market>> marks;
    for (unsigned i = 0; i < 20; ++i) {
      const std::string key(1, static_cast<char>('a' + random() % 5));
      switch (random() % 5) {
        case 0:
          staged.Put(Fruit{key, static_cast<int>(random() % 4)});
          break;
        case 1:
          staged.Delete<Fruit>(key);
          break;
        case 2:
          staged.Put(Basket{key});
          break;
        case 3:
          marks.emplace_back(staged.Mark(), market);
          break;
        case 4:
          if (marks.empty()) break;
          marks.resize(random() % marks.size() + 1);
          staged.RollBack(marks.back().first);
          ASSERT_EQ(Contents(market), Contents(marks.back().second));
          break;
      }
    }
    Market replayed = start;
    for (const auto& [change, revision] : staged.changes()) replayed.Apply(change, revision);
    ASSERT_EQ(Contents(replayed), Contents(market));
    staged.RollBack();
    ASSERT_EQ(Contents(market), Contents(start));
  }
}

TEST(TableTest, IsOrderedByKey) {
  Market market;
  StagedState<Market> staged(market, 0);
  for (const char* name : {"c", "a", "b"}) staged.Put(Fruit{name, 1});
  const auto& rows = market.table<Fruit>().rows();
  EXPECT_EQ(rows.begin()->first, "a");
  EXPECT_EQ(rows.upper_bound("a")->first, "b");
  EXPECT_EQ(market.table<Fruit>().Find("d"), nullptr);
}

TEST(StateTest, TellsTheRowsOfAKindWhoseKeysBeginSo) {
  Market market;
  StagedState<Market> staged(market, 0);
  for (const char* name : {"date", "fig", "figs/1", "figure", "plum"}) staged.Put(Fruit{name, 1});
  staged.Put(Basket{"figs"});
  const auto keys = [&](absl::string_view kind, absl::string_view prefix, size_t most = 100) {
    std::vector<std::string> told;
    market.ForEachUnder([&](absl::string_view each) { return kind.empty() || each == kind; },
                        prefix,
                        [&](const Revised<Market::Change>& row) {
                          told.push_back(row.change.key);
                          return told.size() < most;
                        });
    return told;
  };
  using Keys = std::vector<std::string>;
  EXPECT_EQ(keys(Fruit::kKind, "fig"), (Keys{"fig", "figs/1", "figure"}));
  EXPECT_EQ(keys("", "figs"), (Keys{"figs/1", "figs"}));
  EXPECT_EQ(keys(Basket::kKind, ""), Keys{"figs"});
  EXPECT_EQ(keys(Fruit::kKind, "z"), Keys{});
  EXPECT_EQ(keys("", "fig", 2), (Keys{"fig", "figs/1"})) << "no further, of no kind";
}

}  // namespace
}  // namespace muster
