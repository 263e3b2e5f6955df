#include "services/common/pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/row_follower.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Apple {
  static constexpr char kKind[] = "apple";
  std::string name = {};
  int weight = 0;
  std::string Key() const { return name; }
  bool operator==(const Apple&) const = default;
};
struct Tree {
  static constexpr char kKind[] = "tree";
  std::string Key() const { return ""; }
  bool operator==(const Tree&) const = default;
};

class Orchard : public StateBase<Orchard, Apple, Tree> {
 public:
  void Reindex(const Apple*, const Apple*) {}
  void Reindex(const Tree*, const Tree*) {}
};

// A lane's memory. `between`: what others commit between two looks at it.
struct FakeMemory {
  Orchard orchard = {};
  std::function<void(Orchard&)> between = {};
  mutable int looks = 0;

  template <class F>
  auto Peek(F f) const {
    if (looks++ > 0 && between) between(const_cast<Orchard&>(orchard));
    return f(orchard, int64_t{0});
  }
};

Orchard::Change ChangeTo(const std::string& name, int weight) {
  return {name, std::make_shared<const Apple>(Apple{name, weight})};
}
Orchard::Change Gone(const std::string& name) { return {name, std::shared_ptr<const Apple>()}; }

std::vector<std::string> KeysOf(const FakeMemory& memory) {
  std::vector<std::string> keys;
  ForAllInPieces<Apple>(memory, [&](const Orchard&, absl::string_view key, const Apple& apple) {
    EXPECT_EQ(key, apple.name);
    keys.emplace_back(key);
  });
  return keys;
}

std::string NameOf(size_t i) { return absl::StrCat("apple-", 100'000 + i); }

TEST(PiecesTest, OfAnEmptyTableThereAreNone) { EXPECT_THAT(KeysOf({}), IsEmpty()); }

TEST(PiecesTest, EveryRowIsSeenOnceWhateverTheSize) {
  for (const size_t size : {size_t{1}, kPiece - 1, kPiece, kPiece + 1, 3 * kPiece}) {
    FakeMemory memory;
    std::vector<std::string> all;
    for (size_t i = 0; i < size; ++i) {
      all.push_back(NameOf(i));
      memory.orchard.Apply(ChangeTo(all.back(), 1), 1);
    }
    EXPECT_EQ(KeysOf(memory), all) << size;
    EXPECT_LE(memory.looks, static_cast<int>(size / kPiece) + 1) << size;
  }
}

TEST(PiecesTest, TheRowThatItStoodAtMayGo) {
  FakeMemory memory;
  for (size_t i = 0; i < 2 * kPiece; ++i) memory.orchard.Apply(ChangeTo(NameOf(i), 1), 1);
  memory.between = [](Orchard& orchard) { orchard.Apply(Gone(NameOf(kPiece - 1)), 2); };
  EXPECT_EQ(KeysOf(memory).size(), 2 * kPiece);
}

TEST(PiecesTest, OfRowsUnderAPrefixOnlyTheyAreSeen) {
  Orchard orchard;
  for (const char* name : {"a", "b/1", "b/2", "b/3", "c"}) orchard.Apply(ChangeTo(name, 1), 7);
  const auto piece = [&](absl::string_view after, size_t most) {
    std::string seen;
    const std::string last =
        ForSomeUnder(orchard.table<Apple>(), "b/", after, most,
                     [&](absl::string_view key, const Versioned<Apple>& apple) {
                       absl::StrAppend(&seen, key, "@", apple.revision, " ");
                     });
    return absl::StrCat(seen, "then ", last);
  };
  EXPECT_EQ(piece("", 2), "b/1@7 b/2@7 then b/2");
  EXPECT_EQ(piece("b/2", 2), "b/3@7 then ");
  EXPECT_EQ(piece("b/3", 2), "then ");
}

class RowFollowerTest : public ::testing::Test {
 protected:
  void Tell(std::vector<Orchard::Change> changes) {
    std::vector<Revised<Orchard::Change>> revised;
    for (Orchard::Change& change : changes) revised.push_back({std::move(change), 1});
    follower_.Follow(absl::MakeConstSpan(revised), [&](const Apple& before, const Apple* after) {
      told_.push_back(absl::StrCat(before.name, " ", before.weight, " to ",
                                   after == nullptr ? 0 : after->weight));
    });
  }
  RowFollower<Apple> follower_;
  std::vector<std::string> told_;
};

TEST_F(RowFollowerTest, TellsWhatWasBefore) {
  Tell({ChangeTo("apple", 1)});
  Tell({ChangeTo("apple", 2), ChangeTo("pear", 7), ChangeTo("apple", 3)});
  EXPECT_THAT(told_, ElementsAre("apple 1 to 2", "apple 2 to 3"));
}

TEST_F(RowFollowerTest, ForgetsWhatIsGone) {
  Tell({ChangeTo("apple", 1), Gone("apple")});
  EXPECT_EQ(follower_.size(), 0u);
  Tell({ChangeTo("apple", 2)});
  EXPECT_THAT(told_, ElementsAre("apple 1 to 0"));
}

TEST_F(RowFollowerTest, FindsWhatItKnows) {
  EXPECT_EQ(follower_.Find("apple"), nullptr);
  Tell({ChangeTo("apple", 1), ChangeTo("apple", 2)});
  ASSERT_NE(follower_.Find("apple"), nullptr);
  EXPECT_EQ(follower_.Find("apple")->weight, 2);
  Tell({Gone("apple")});
  EXPECT_EQ(follower_.Find("apple"), nullptr);
}

TEST_F(RowFollowerTest, WhatItNeverKnewMayGo) {
  Tell({Gone("apple")});
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_EQ(follower_.size(), 0u);
}

TEST_F(RowFollowerTest, OtherKindsAreNothingToIt) {
  Tell({{"tree", std::make_shared<const Tree>()}});
  EXPECT_EQ(follower_.size(), 0u);
}

TEST_F(RowFollowerTest, LearnsMemoryAndKeepsWhatItHeardSince) {
  FakeMemory memory;
  memory.orchard.Apply(ChangeTo("apple", 1), 1);
  memory.orchard.Apply(ChangeTo("pear", 1), 1);
  Tell({ChangeTo("apple", 2)});
  LearnAll(memory, follower_);
  Tell({ChangeTo("apple", 3), ChangeTo("pear", 3)});
  EXPECT_THAT(told_, ElementsAre("apple 2 to 3", "pear 1 to 3"));
  follower_.Forget();
  Tell({ChangeTo("pear", 4)});
  EXPECT_EQ(told_.size(), 2u);
}

}  // namespace
}  // namespace muster
