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
  std::string Key() const { return name; }
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
std::vector<std::string> Picture(const Market& market) {
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

TEST(OverlayTest, GivesEachChangeTheNextRevision) {
  Market market;
  Overlay<Market> overlay(market, 41);
  EXPECT_TRUE(overlay.Put(Fruit{"fig", 3}));
  EXPECT_TRUE(overlay.Put(Basket{"big"}));
  EXPECT_TRUE(overlay.Delete<Fruit>("fig"));
  EXPECT_EQ(overlay.revision(), 44);
  ASSERT_EQ(overlay.changes().size(), 3u);
  EXPECT_EQ(overlay.changes()[0].revision, 42);
  EXPECT_FALSE(overlay.changes()[0].change.deleted());
  EXPECT_EQ(overlay.changes()[1].change.kind(), "Basket");
  EXPECT_TRUE(overlay.changes()[2].change.deleted());
  EXPECT_EQ(overlay.changes()[2].change.kind(), "Fruit");
  EXPECT_EQ(market.table<Basket>().FindVersioned("big")->revision, 43);
}

TEST(OverlayTest, WhatIsSoAlreadyIsNoChange) {
  Market market;
  Overlay<Market> overlay(market, 0);
  EXPECT_TRUE(overlay.Put(Fruit{"fig", 3}));
  EXPECT_FALSE(overlay.Put(Fruit{"fig", 3}));
  EXPECT_FALSE(overlay.Delete<Fruit>("kiwi"));
  EXPECT_EQ(overlay.revision(), 1);
  EXPECT_TRUE(overlay.Put(Fruit{"fig", 4}));
  EXPECT_EQ(market.weight(), 4);
}

TEST(OverlayTest, RollBackToAMarkKeepsWhatWasBefore) {
  Market market;
  Overlay<Market> overlay(market, 0);
  overlay.Put(Fruit{"fig", 3});
  const auto before = Picture(market);
  const size_t mark = overlay.Mark();
  overlay.Put(Fruit{"fig", 5});
  overlay.Delete<Fruit>("fig");
  overlay.Put(Fruit{"fig", 7});
  overlay.Put(Fruit{"kiwi", 1});
  overlay.RollBack(mark);
  EXPECT_EQ(Picture(market), before);
  EXPECT_EQ(overlay.revision(), 1);
  overlay.RollBack();
  EXPECT_EQ(market.size(), 0u);
  EXPECT_EQ(market.weight(), 0);
}

TEST(OverlayTest, RowsAreSharedByCopiesButStatesAreNot) {
  Market market;
  Overlay<Market>(market, 0).Put(Fruit{"fig", 3});
  const Market copy = market;
  Overlay<Market>(market, 1).Put(Fruit{"fig", 9});
  EXPECT_EQ(copy.table<Fruit>().Find("fig")->weight, 3);
  EXPECT_EQ(market.table<Fruit>().Find("fig")->weight, 9);
}

// Whatever is done on an overlay, taking it back restores all, revisions and indexes included; and
// the list of changes, applied to a copy of the first state, gives the last.
TEST(OverlayTest, RollBackAndReplayHoldForAnySequence) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Market market;
    {
      Overlay<Market> first(market, 0);
      for (unsigned i = 0; i < random() % 6; ++i)
        first.Put(Fruit{std::string(1, static_cast<char>('a' + random() % 5)), 1});
    }
    const Market start = market;
    Overlay<Market> overlay(market, 100);
    for (unsigned i = 0; i < 12; ++i) {
      const std::string key(1, static_cast<char>('a' + random() % 5));
      switch (random() % 3) {
        case 0:
          overlay.Put(Fruit{key, static_cast<int>(random() % 4)});
          break;
        case 1:
          overlay.Delete<Fruit>(key);
          break;
        case 2:
          overlay.Put(Basket{key});
          break;
      }
    }
    Market replayed = start;
    for (const auto& [change, revision] : overlay.changes()) replayed.Apply(change, revision);
    ASSERT_EQ(Picture(replayed), Picture(market));
    overlay.RollBack();
    ASSERT_EQ(Picture(market), Picture(start));
  }
}

TEST(TableTest, IsOrderedByKey) {
  Market market;
  Overlay<Market> overlay(market, 0);
  for (const char* name : {"c", "a", "b"}) overlay.Put(Fruit{name, 1});
  const auto& rows = market.table<Fruit>().rows();
  EXPECT_EQ(rows.begin()->first, "a");
  EXPECT_EQ(rows.upper_bound("a")->first, "b");
  EXPECT_EQ(market.table<Fruit>().Find("d"), nullptr);
}

}  // namespace
}  // namespace muster
