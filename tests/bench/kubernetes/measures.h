#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::bench {

// A histogram as /metrics shows it: upper bound -> observations up to it.
using Buckets = std::map<double, double>;
Buckets ReadBuckets(absl::string_view metrics, absl::string_view name);
// `after` - `before`.
Buckets Since(const Buckets& before, const Buckets& after);
// As Prometheus' histogram_quantile, in the histogram's unit; 0 for an empty one.
double Quantile(const Buckets& buckets, double share);

// The sum of all series of a counter whose labels contain the text.
double SumOf(absl::string_view metrics, absl::string_view name, absl::string_view label = "");

// Memory of a process now, in MiB; 0 when it is gone.
int64_t ResidentMegabytes(pid_t pid);

}  // namespace muster::bench
