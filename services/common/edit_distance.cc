#include "services/common/edit_distance.h"

#include <algorithm>
#include <vector>

namespace muster {

size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<std::vector<size_t>> at(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) at[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) at[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = at[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      at[i][j] = std::min({at[i - 1][j] + 1, at[i][j - 1] + 1, changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        at[i][j] = std::min(at[i][j], at[i - 2][j - 2] + 1);
    }
  }
  return at[a.size()][b.size()];
}

}  // namespace muster
