#include "tests/observability/expressions.h"

#include <algorithm>
#include <iterator>
#include <regex>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace muster::testing {
namespace {

constexpr absl::string_view kWords[] = {"absent",
                                        "and",
                                        "by",
                                        "histogram_quantile",
                                        "increase",
                                        "label_replace",
                                        "label_values",
                                        "max",
                                        "max_over_time",
                                        "min",
                                        "min_over_time",
                                        "on",
                                        "or",
                                        "present_over_time",
                                        "unless",
                                        "rate",
                                        "scalar",
                                        "sum",
                                        "time"};

}  // namespace

std::set<std::string> MetricsOf(absl::string_view expression) {
  std::string bare(expression);
  for (const char* not_a_metric :
       {R"("([^"\\]|\\.)*")", R"(\{[^}]*\})", R"(\[[^\]]*\])", R"(\b(by|on)\s*\([^)]*\))"})
    bare = std::regex_replace(bare, std::regex(not_a_metric), " ");
  std::set<std::string> metrics;
  static const auto& word = *new std::regex("[a-zA-Z_:][a-zA-Z0-9_:]*|[0-9][0-9.e]*");
  for (std::sregex_iterator it(bare.begin(), bare.end(), word), end; it != end; ++it) {
    const std::string found = it->str();
    if (found[0] >= '0' && found[0] <= '9') continue;
    if (std::find(std::begin(kWords), std::end(kWords), found) == std::end(kWords))
      metrics.insert(found);
  }
  return metrics;
}

std::string FamilyOf(const std::string& metric) {
  for (const absl::string_view suffix : {"_bucket", "_sum", "_count"}) {
    if (absl::EndsWith(metric, suffix)) return std::string(absl::StripSuffix(metric, suffix));
  }
  return metric;
}

}  // namespace muster::testing
