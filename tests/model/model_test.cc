#include <cstdlib>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/model/beside.h"

// The core of capacity against the model, over random histories.
namespace muster::model {
namespace {

uint32_t FromEnvironment(const char* name, uint32_t otherwise) {
  const char* text = std::getenv(name);
  uint32_t value = 0;
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : otherwise;
}

std::string Report(uint32_t seed) {
  const History shrunk = Shrink(RandomHistory(seed));
  std::string text = absl::StrCat("seed ", seed, ", shortened:\n");
  for (const Step& step : shrunk.steps) absl::StrAppend(&text, "  ", Print(step), "\n");
  const auto found = Play(shrunk);
  return absl::StrCat(text, found ? found->what : "", "again: MUSTER_MODEL_SEED=", seed,
                      " MUSTER_MODEL_HISTORIES=1 build/dev/tests/model/model_test");
}

TEST(ModelTest, CapacityDoesWhatTheTextSays) {
  const uint32_t first = FromEnvironment("MUSTER_MODEL_SEED", 1);
  const uint32_t histories = FromEnvironment("MUSTER_MODEL_HISTORIES", 10'000);
  for (uint32_t seed = first; seed < first + histories; ++seed) {
    ASSERT_FALSE(Play(RandomHistory(seed)).has_value()) << Report(seed);
  }
}

}  // namespace
}  // namespace muster::model
