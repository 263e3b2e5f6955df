#include "services/musterctl/query/sorting.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "services/common/status_macros.h"

namespace muster::musterctl {
namespace {

using nlohmann::json;

// Takes a run of digits, without leading zeros.
absl::string_view TakeDigits(absl::string_view& text) {
  size_t end = 0;
  while (end < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[end]))) ++end;
  absl::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  while (digits.size() > 1 && digits[0] == '0') digits.remove_prefix(1);
  return digits;
}

bool Less(const json* a, const json* b) {
  if (a == nullptr || b == nullptr) return a == nullptr && b != nullptr;
  if (a->is_number() && b->is_number()) return *a < *b;
  return NaturalLess(PathText(*a), PathText(*b));
}

}  // namespace

bool NaturalLess(absl::string_view a, absl::string_view b) {
  while (!a.empty() && !b.empty()) {
    const bool digits = absl::ascii_isdigit(static_cast<unsigned char>(a[0])) &&
                        absl::ascii_isdigit(static_cast<unsigned char>(b[0]));
    if (digits) {
      const absl::string_view x = TakeDigits(a);
      const absl::string_view y = TakeDigits(b);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else if (a[0] != b[0]) {
      return a[0] < b[0];
    } else {
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.size() < b.size();
}

absl::StatusOr<std::vector<size_t>> SortedBy(absl::string_view path,
                                             const std::vector<json>& objects) {
  ASSIGN_OR_RETURN(const JsonPath parsed, JsonPath::Parse(path));
  std::vector<const json*> keys;
  for (const json& object : objects) {
    const std::vector<const json*> found = parsed.Find(object);
    keys.push_back(found.empty() ? nullptr : found.front());
  }
  const bool known = std::any_of(keys.begin(), keys.end(), [](const json* key) { return key; });
  if (!objects.empty() && !known) {
    return absl::InvalidArgumentError(
        absl::StrCat("--sort-by: nothing in the list has a field ", path));
  }
  std::vector<size_t> order(objects.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return Less(keys[a], keys[b]); });
  return order;
}

}  // namespace muster::musterctl
