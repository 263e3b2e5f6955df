#include "tests/metrics/reference.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace muster::testing {
namespace {

// How we work inside: these go with how that is done.
constexpr absl::string_view kEvolving[] = {
    "exposer_",
    "muster_lane_",
    "muster_database_",
    "muster_configuration_settle",
    "muster_configuration_unsettled_pools",
    "muster_lifecycle_books_",
    "muster_lifecycle_due_pools",
    "muster_lifecycle_generations_raised_total",
    "muster_lifecycle_node_moves_total",
    "muster_lifecycle_oldest_due_seconds",
    "muster_lifecycle_orphans",
    "muster_lifecycle_pass_duration_seconds",
    "muster_lifecycle_peer_breaker",
    "muster_lifecycle_peer_unanswered_pools",
    "muster_lifecycle_plans_total",
    "muster_lifecycle_scheduled_pools",
    "muster_watch_",
};

// Of `name{a="x",b="y"} 1`; values have no quotes in them.
std::vector<std::string> LabelsOf(absl::string_view line) {
  std::vector<std::string> labels;
  const size_t open = line.find('{');
  const size_t close = line.rfind('}');
  if (open == absl::string_view::npos || close == absl::string_view::npos) return labels;
  // Every second piece is a value.
  const std::vector<absl::string_view> pieces =
      absl::StrSplit(line.substr(open + 1, close - open - 1), '"');
  for (size_t i = 0; i + 1 < pieces.size(); i += 2)
    labels.emplace_back(absl::StripSuffix(absl::StripPrefix(pieces[i], ","), "="));
  return labels;
}

// The family that a sample of this name is of.
MetricDescription* FamilyOf(MetricDescriptions& metrics, absl::string_view sample) {
  for (const absl::string_view suffix : {"", "_bucket", "_sum", "_count"}) {
    if (!absl::EndsWith(sample, suffix)) continue;
    const auto it = metrics.find(std::string(absl::StripSuffix(sample, suffix)));
    if (it != metrics.end()) return &it->second;
  }
  return nullptr;
}

}  // namespace

MetricDescriptions DescriptionsIn(const std::string& page) {
  MetricDescriptions metrics;
  for (const absl::string_view line : absl::StrSplit(page, '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 3));
    if (words.size() == 4 && words[0] == "#" && words[1] == "HELP") {
      metrics[words[2]].help = words[3];
    } else if (words.size() == 4 && words[0] == "#" && words[1] == "TYPE") {
      metrics[words[2]].type = words[3];
    } else if (!line.empty() && line[0] != '#') {
      MetricDescription* family = FamilyOf(metrics, line.substr(0, line.find_first_of(" {")));
      if (family == nullptr) continue;
      for (std::string& label : LabelsOf(line))
        if (label != "le") family->labels.insert(std::move(label));
    }
  }
  return metrics;
}

double SampleIn(const std::string& page, absl::string_view sample) {
  double value = std::nan("");
  for (const absl::string_view line : absl::StrSplit(page, '\n')) {
    absl::string_view rest = line;
    if (absl::ConsumePrefix(&rest, sample) && absl::ConsumePrefix(&rest, " ") &&
        absl::SimpleAtod(rest, &value))
      return value;
  }
  return value;
}

absl::string_view StabilityOf(absl::string_view metric) {
  const bool evolves =
      std::any_of(std::begin(kEvolving), std::end(kEvolving),
                  [&](absl::string_view prefix) { return absl::StartsWith(metric, prefix); });
  return evolves ? "evolving" : "stable";
}

std::string TableOf(const MetricDescriptions& metrics) {
  std::string table =
      "| name | type | labels | meaning | stability |\n| --- | --- | --- | --- | --- |\n";
  for (const auto& [name, metric] : metrics) {
    absl::StrAppend(
        &table, "| `", name, "` | ", metric.type, " | ", absl::StrJoin(metric.labels, ", "), " | ",
        absl::StrReplaceAll(metric.help, {{"|", "\\|"}}), " | ", StabilityOf(name), " |\n");
  }
  return table;
}

}  // namespace muster::testing
