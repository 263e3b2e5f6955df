#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <string>

#include "services/lifecycle/core/explain.h"

namespace muster::lifecycle {
namespace {

bool IsApiWord(const std::string& word) {
  for (const char c : word)
    if (!std::isupper(static_cast<unsigned char>(c)) && c != '_') return false;
  return !word.empty();
}

TEST(ExplainWords, EveryReasonOfADeferHasAWordOfItsOwn) {
  std::set<std::string> words;
  for (int i = 0; i < kDeferReasons; ++i)
    words.insert(DeferReasonName(static_cast<DeferReason>(i)));
  EXPECT_EQ(words.size(), static_cast<size_t>(kDeferReasons));
  for (const std::string& word : words) EXPECT_TRUE(IsApiWord(word)) << word;
}

// What time alone ends, nobody need act on; what somebody set, its setter takes back.
TEST(ExplainWords, WhoMustAct) {
  EXPECT_EQ(ActorOf(DeferReason::kProtected), Actor::kNobody);
  EXPECT_EQ(ActorOf(DeferReason::kPreempting), Actor::kNobody);
  EXPECT_EQ(ActorOf(DeferReason::kDrainBlocked), Actor::kUser);
  EXPECT_EQ(ActorOf(DeferReason::kReconfigurationPaused), Actor::kUser);
  EXPECT_EQ(ActorOf(DeferReason::kAgentSilent), Actor::kOperator);
  EXPECT_EQ(ActorOf(DeferReason::kConfigurationDisabled), Actor::kOperator);
}

}  // namespace
}  // namespace muster::lifecycle
