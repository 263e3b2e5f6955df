#include "tests/bench/report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace muster::bench {

Rate Report::MedianRate(const std::string& work) const {
  const auto it = rounds_.find(work);
  if (it == rounds_.end() || it->second.empty()) return {};
  std::vector<Rate> rates = it->second;
  std::sort(rates.begin(), rates.end(),
            [](const Rate& a, const Rate& b) { return a.per_second < b.per_second; });
  return rates[rates.size() / 2];
}

double Report::Median(const std::string& work) const { return MedianRate(work).per_second; }

void Report::Best(const std::string& name, const std::vector<std::string>& works) {
  Rate best;
  for (const std::string& work : works) {
    if (Median(work) > best.per_second) best = MedianRate(work);
  }
  rounds_[name] = {best};
}

std::string Report::Table(const std::vector<Row>& rows) const {
  std::string out = absl::StrFormat("%-22s %12s %10s %10s %8s  %s\n", "WORK", "OPS/S", "P50 MS",
                                    "P99 MS", "RATIO", "TO");
  for (const Row& row : rows) {
    const Rate rate = MedianRate(row.work);
    const double base = row.yardstick.empty() ? 0 : Median(row.yardstick);
    absl::StrAppendFormat(
        &out, "%-22s %12.0f %10.2f %10.2f %8s  %s%s\n", row.work, rate.per_second, rate.p50_ms,
        rate.p99_ms, base > 0 ? absl::StrFormat("%.2f", rate.per_second / base) : "-",
        row.yardstick, rate.failed > 0 ? absl::StrCat("  (", rate.failed, " failed)") : "");
  }
  return out;
}

std::string Report::Json(const std::vector<Row>& rows) const {
  std::string out;
  for (const Row& row : rows) {
    const Rate rate = MedianRate(row.work);
    const double base = row.yardstick.empty() ? 0 : Median(row.yardstick);
    absl::StrAppendFormat(
        &out,
        R"({"work": "%s", "value": %.1f, "unit": "ops/s", "p50_ms": %.3f, "p99_ms": %.3f, "yardstick": "%s", )"
        R"("ratio": %.3f, "failed": %d})"
        "\n",
        row.work, rate.per_second, rate.p50_ms, rate.p99_ms, row.yardstick,
        base > 0 ? rate.per_second / base : 0.0, rate.failed);
  }
  return out;
}

}  // namespace muster::bench
