#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"

namespace muster::musterctl {

// One NodePool as the API reference's "Healthy Node Pools" shows it: same fields, order,
// indentation and columns. Of `events` those about the pool itself are shown, oldest first. What
// the reference's pool does not have (labels, taints, more than one configuration, ...) is shown
// where there is some.
std::string DescribeNodePool(const lifecycle::v1::NodePool& pool,
                             const std::vector<lifecycle::v1::Event>& events, absl::Time now);

// One Node in the same manner.
std::string DescribeNode(const lifecycle::v1::Node& node,
                         const std::vector<lifecycle::v1::Event>& events, absl::Time now);

// `disableUnhealthyNodeEviction` → `Disable Unhealthy Node Eviction`, `uid` → `UID`; keys with
// anything but letters and dashes stay as they are.
std::string LabelFor(absl::string_view field);

}  // namespace muster::musterctl
