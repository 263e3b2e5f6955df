#pragma once

#include <map>
#include <set>
#include <string>

#include "absl/strings/string_view.h"

// The reference of the metrics, made from what servers show.
namespace muster::testing {

struct MetricDescription {
  std::string type = {};              // `gauge`
  std::string help = {};              // as it stands in the page
  std::set<std::string> labels = {};  // without `le`
};
// By name.
using MetricDescriptions = std::map<std::string, MetricDescription>;

// What a page in Prometheus' text format describes.
MetricDescriptions DescriptionsIn(const std::string& page);

// The value of a sample that stands so in the page, with its labels; NaN: it is not there.
double SampleIn(const std::string& page, absl::string_view sample);

// A table in Markdown, a row a family.
std::string TableOf(const MetricDescriptions& metrics);

// `stable` or `evolving`, by the name.
absl::string_view StabilityOf(absl::string_view metric);

}  // namespace muster::testing
