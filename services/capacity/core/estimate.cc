#include "services/capacity/core/estimate.h"

#include <algorithm>
#include <cmath>

namespace muster::capacity {
namespace {

constexpr double kTenth = 1.2816;  // beyond so many standard deviations lies a tenth on either side

struct Quantiles {
  double low = 0;
  double high = 0;
};

// Of Gamma(a) / a over Gamma(b) / b, b at least 1: the cube root of each is nearly normal, with
// mean 1 - 1 / 9a and variance 1 / 9a (Wilson and Hilferty), so that the cube root of a quantile
// solves a quadratic equation (Paulson). Within some per cent.
Quantiles TenthsOfRatio(double a, double b) {
  const double variance_a = 1 / (9 * a);
  const double variance_b = 1 / (9 * b);
  const double mean_a = 1 - variance_a;
  const double mean_b = 1 - variance_b;
  const double square = kTenth * kTenth;
  const double middle = mean_a * mean_b;
  const double half =
      kTenth * std::sqrt(variance_a * mean_b * mean_b + variance_b * mean_a * mean_a -
                         square * variance_a * variance_b);
  const double scale = mean_b * mean_b - square * variance_b;
  return {std::pow(std::max(0.0, middle - half) / scale, 3), std::pow((middle + half) / scale, 3)};
}

// What bursts bring of some Nodes: no burst more than all of them.
struct BurstSizes {
  double mean = 0;
  double spread = 0;  // variance over mean squared
};

BurstSizes SizesOf(const std::vector<Burst>& bursts, int64_t nodes) {
  const double count = static_cast<double>(bursts.size()) - 1;
  double sum = 0;
  double squares = 0;
  for (auto burst = bursts.begin() + 1; burst != bursts.end(); ++burst) {
    const double size = static_cast<double>(std::min(burst->machines, nodes));
    sum += size;
    squares += size * size;
  }
  return {sum / count, std::max(0.0, squares * count / (sum * sum) - 1)};
}

}  // namespace

std::optional<WaitRange> EstimateWait(const std::vector<Burst>& bursts, int64_t nodes,
                                      absl::Time now) {
  if (bursts.size() < 2 || nodes <= 0) return std::nullopt;
  const double seen = static_cast<double>(bursts.size()) - 0.5;
  const BurstSizes sizes = SizesOf(bursts, nodes);
  const double needed = static_cast<double>(nodes) / sizes.mean;
  // Who needs one burst only does not care how they differ.
  const double unequal = 1 + sizes.spread * (1 - 1 / needed);
  if (seen / unequal < kLeastBursts) return std::nullopt;
  const double drift = kDrift * needed / (needed + seen);
  const Quantiles tenths = TenthsOfRatio(needed / unequal, 1 / (unequal / seen + drift));
  const absl::Duration mean = (now - bursts.front().time) * (needed / seen);
  if (mean * tenths.high > kLongestWait) return std::nullopt;
  return WaitRange{absl::Floor(mean * tenths.low, absl::Seconds(1)),
                   absl::Ceil(mean * tenths.high, absl::Seconds(1))};
}

}  // namespace muster::capacity
