#include "tests/observability/faster_rules.h"

#include <algorithm>
#include <cstdint>
#include <regex>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace muster::testing {
namespace {

constexpr int64_t kLeastWindow = 4;
// What has to last for a few minutes lasts for longer here than a busy machine stands still.
constexpr int64_t kStall = 4;
bool IsFewMinutes(int64_t seconds) { return seconds >= 2 && seconds <= 5; }
// What has to last for an hour shows nothing by it that half of that does not.
constexpr int64_t kLongestFor = 30;

int64_t Seconds(const std::string& number, const std::string& unit) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(number, &value)) return 0;
  if (unit == "m") return value * 60;
  if (unit == "h") return value * 3'600;
  if (unit == "d") return value * 86'400;
  return value;
}

}  // namespace

std::string FasterRules(absl::string_view rules, int times) {
  static const std::regex& duration = *new std::regex(
      R"re((\[|for: |group_wait: |group_interval: |repeat_interval: )([0-9]+)([smhd])(\]?))re");
  const std::string all(rules);
  std::string faster;
  auto from = all.cbegin();
  for (std::sregex_iterator it(all.begin(), all.end(), duration), end; it != end; ++it) {
    const std::smatch& found = *it;
    int64_t seconds = Seconds(found[2], found[3]) / times;
    if (found[1] == "for: ") {
      if (IsFewMinutes(seconds)) seconds += kStall;
      seconds = std::min(seconds, kLongestFor);
    }
    faster.append(from, found[0].first);
    absl::StrAppend(&faster, found[1].str(),
                    found[1] == "[" ? std::max(seconds, kLeastWindow) : seconds, "s",
                    found[4].str());
    from = found[0].second;
  }
  return faster.append(from, all.cend());
}

}  // namespace muster::testing
