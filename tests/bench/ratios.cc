#include "tests/bench/ratios.h"

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace muster::bench {
namespace {

// Rates of one work by those of another.
struct RateGoal {
  const char* work;
  const char* yardstick;
  double at_least;
};
constexpr RateGoal kRateGoals[] = {
    {"hold_hot_64", "pgbench_hot_64", 20},          {"hold_hot_256", "empty_rpc_256", 0.5},
    {"hold_batch_500", "pgbench_arrays_1000", 0.9}, {"claim_hot_256", "empty_rpc_256", 0.4},
    {"claim_batch_500", "hold_batch_500", 0.7},     {"read_pool_64", "empty_rpc_64", 0.8},
    {"apply_watched_64", "apply_pool_64", 0.8},
};

}  // namespace

std::vector<Ratio> RatiosOf(const Report& report) {
  std::vector<Ratio> ratios;
  // One call alone waits for an RPC and twice for what pgbench waits for once.
  const double alone = report.Median("hold_hot_1").p50_ms;
  const double rpc = report.Median("empty_rpc_1").p50_ms;
  const double commit = report.Median("pgbench_hot_1").p50_ms;
  if (alone > 0 && rpc > 0 && commit > 0)
    ratios.push_back({"hold_hot_1_p50/(empty_rpc_1_p50+2*pgbench_hot_1_p50)",
                      alone / (rpc + 2 * commit), 1, false});
  for (const auto& [work, yardstick, at_least] : kRateGoals) {
    const double ratio = report.Ratio(work, yardstick);
    if (ratio > 0) ratios.push_back({absl::StrFormat("%s/%s", work, yardstick), ratio, at_least});
  }
  return ratios;
}

std::string RatioTable(const std::vector<Ratio>& ratios) {
  if (ratios.empty()) return "";
  std::string out = absl::StrFormat("%-52s %8s  %s\n", "RATIO", "IS", "TO REACH");
  for (const Ratio& ratio : ratios) {
    absl::StrAppendFormat(&out, "%-52s %8.2f  %s %.2f\n", ratio.name, ratio.value,
                          ratio.at_least ? ">=" : "<=", ratio.goal);
  }
  return out;
}

std::string RatioJson(const std::vector<Ratio>& ratios) {
  return absl::StrFormat(R"({"ratios": {%s}})"
                         "\n",
                         absl::StrJoin(ratios, ", ", [](std::string* out, const Ratio& ratio) {
                           absl::StrAppendFormat(out, R"("%s": %.3f)", ratio.name, ratio.value);
                         }));
}

}  // namespace muster::bench
