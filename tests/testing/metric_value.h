#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <optional>
#include <string>

namespace muster::testing {

// The value of the counter or gauge `name` whose first label has the value `label`, or which has no
// labels if `label` is empty; nullopt: there is none.
inline std::optional<double> MetricValue(const prometheus::Collectable& collectable,
                                         const std::string& name, const std::string& label = "") {
  for (const auto& family : collectable.Collect()) {
    if (family.name != name) continue;
    for (const auto& metric : family.metric) {
      if (metric.label.empty() ? label.empty() : metric.label[0].value == label)
        return metric.gauge.value + metric.counter.value;
    }
  }
  return std::nullopt;
}

// The sum of a counter or gauge over all its labels; 0: there is none.
inline double MetricSum(const prometheus::Collectable& collectable, const std::string& name) {
  double sum = 0;
  for (const auto& family : collectable.Collect()) {
    if (family.name != name) continue;
    for (const auto& metric : family.metric) sum += metric.gauge.value + metric.counter.value;
  }
  return sum;
}

}  // namespace muster::testing
