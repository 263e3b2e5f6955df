#include "tests/bench/kubernetes/measures.h"

#include <fstream>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace muster::bench {
namespace {

double ValueOf(absl::string_view line) {
  double value = 0;
  const size_t space = line.rfind(' ');
  if (space != absl::string_view::npos) (void)absl::SimpleAtod(line.substr(space + 1), &value);
  return value;
}

}  // namespace

Buckets ReadBuckets(absl::string_view metrics, absl::string_view name) {
  Buckets buckets;
  for (absl::string_view line : absl::StrSplit(metrics, '\n')) {
    if (!absl::ConsumePrefix(&line, absl::StrCat(name, "_bucket{le=\""))) continue;
    const absl::string_view bound = line.substr(0, line.find('"'));
    double upper = std::numeric_limits<double>::infinity();
    if (bound != "+Inf") (void)absl::SimpleAtod(bound, &upper);
    buckets[upper] = ValueOf(line);
  }
  return buckets;
}

Buckets Since(const Buckets& before, const Buckets& after) {
  Buckets delta = after;
  for (const auto& [upper, count] : before) delta[upper] -= count;
  return delta;
}

double Quantile(const Buckets& buckets, double share) {
  if (buckets.empty() || buckets.rbegin()->second <= 0) return 0;
  const double rank = share * buckets.rbegin()->second;
  double lower = 0;
  double below = 0;
  for (const auto& [upper, count] : buckets) {
    if (count >= rank) {
      if (upper == std::numeric_limits<double>::infinity() || count <= below) return lower;
      return lower + (upper - lower) * (rank - below) / (count - below);
    }
    lower = upper;
    below = count;
  }
  return lower;
}

double SumOf(absl::string_view metrics, absl::string_view name, absl::string_view label) {
  double sum = 0;
  for (const absl::string_view line : absl::StrSplit(metrics, '\n')) {
    const bool named = absl::StartsWith(line, absl::StrCat(name, "{")) ||
                       absl::StartsWith(line, absl::StrCat(name, " "));
    if (named && absl::StrContains(line, label)) sum += ValueOf(line);
  }
  return sum;
}

int64_t ResidentMegabytes(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/statm"));
  int64_t size = 0;
  int64_t pages = 0;
  file >> size >> pages;
  return pages * 4096 / (1 << 20);
}

}  // namespace muster::bench
