#include "tests/bench/report.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace muster::bench {

Rate Report::Median(const std::string& work) const {
  const auto it = rounds_.find(work);
  if (it == rounds_.end() || it->second.empty()) return {};
  std::vector<Rate> rates = it->second;
  std::sort(rates.begin(), rates.end(),
            [](const Rate& a, const Rate& b) { return a.per_second < b.per_second; });
  Rate median = rates[rates.size() / 2];
  median.failed = 0;
  for (const Rate& rate : rates) median.failed += rate.failed;
  return median;
}

double Report::Ratio(const std::string& work, const std::string& yardstick) const {
  const double base = Median(yardstick).per_second;
  return base > 0 ? Median(work).per_second / base : 0;
}

void Report::AddBest(const std::string& name, const std::string& prefix) {
  Rate best;
  for (const auto& [work, rates] : rounds_) {
    const Rate rate = Median(work);
    if (absl::StartsWith(work, prefix) && rate.per_second > best.per_second) best = rate;
  }
  if (best.per_second > 0) rounds_[name] = {best};
}

std::string Report::Table(const std::vector<Row>& rows) const {
  const auto number = [](double value, const char* unknown) {
    return value > 0 ? absl::StrFormat("%.2f", value) : unknown;
  };
  std::string out =
      absl::StrFormat("%-22s %10s %-6s %9s %9s %8s %8s %8s %7s  %s\n", "WORK", "VALUE", "",
                      "P50 MS", "P99 MS", "SRV US", "PG US", "CLI US", "FAILED", "RATIO TO, ALSO");
  for (const Row& row : rows) {
    const Rate rate = Median(row.work);
    std::vector<std::string> notes;
    for (const std::string& yardstick : row.yardsticks)
      notes.push_back(absl::StrCat(number(Ratio(row.work, yardstick), "-"), " ", yardstick));
    for (const auto& [name, value] : rate.also)
      notes.push_back(absl::StrCat(number(value, "0"), " ", name));
    absl::StrAppendFormat(&out, "%-22s %10.0f %-6s %9s %9s %8s %8s %8s %7d  %s\n", row.work,
                          rate.per_second, rate.unit, number(rate.p50_ms, "-"),
                          number(rate.p99_ms, "-"), number(rate.cpu.server_us, "-"),
                          number(rate.cpu.postgres_us, "-"), number(rate.cpu.client_us, "-"),
                          rate.failed, absl::StrJoin(notes, ", "));
  }
  absl::StrAppend(&out,
                  "SRV, PG, CLI US: microseconds of CPU an operation of musterd, Postgres and the "
                  "client.\n");
  return out;
}

std::string Report::JsonOf(const Row& row) const {
  const Rate rate = Median(row.work);
  std::vector<std::string> ratios;
  for (const std::string& yardstick : row.yardsticks)
    ratios.push_back(absl::StrFormat(R"("yardstick": "%s", "ratio": %.3f)", yardstick,
                                     Ratio(row.work, yardstick)));
  const std::string first = ratios.empty() ? R"("yardstick": "", "ratio": 0.000)" : ratios[0];
  std::string also;
  for (size_t i = 1; i < ratios.size(); ++i)
    absl::StrAppend(&also, also.empty() ? "" : ", ", "{", ratios[i], "}");
  std::string more = also.empty() ? "" : absl::StrCat(R"(, "also": [)", also, "]");
  for (const auto& [name, value] : rate.also)
    absl::StrAppendFormat(&more, R"(, "%s": %.3f)", name, value);
  return absl::StrFormat(
      R"({"work": "%s", "value": %.1f, "unit": "%s", "p50_ms": %.3f, "p99_ms": %.3f, %s, "failed": %d, )"
      R"("musterd_cpu_us": %.2f, "postgres_cpu_us": %.2f, "client_cpu_us": %.2f%s})",
      row.work, rate.per_second, rate.unit, rate.p50_ms, rate.p99_ms, first, rate.failed,
      rate.cpu.server_us, rate.cpu.postgres_us, rate.cpu.client_us, more);
}

std::string Report::Json(const std::vector<Row>& rows) const {
  std::string out;
  for (const Row& row : rows) absl::StrAppend(&out, JsonOf(row), "\n");
  return out;
}

}  // namespace muster::bench
