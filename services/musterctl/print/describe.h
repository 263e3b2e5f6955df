#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"
#include "services/musterctl/manifest/kinds.h"

namespace muster::musterctl {

// One NodePool as the API reference's "Healthy Node Pools" shows it: same fields, order,
// indentation and columns. Of `events` those about the pool itself are shown, oldest first. Fields
// that the reference's pool does not have (labels, taints, ...) are shown if they are set; the
// configuration (nodeProfile and revisions) as soon as another one than the first was staged, is
// pending or waiting, or one is disabled. `all`: all fields, whatever their values.
std::string DescribeNodePool(const Item& pool, const std::vector<lifecycle::v1::Event>& events,
                             absl::Time now, bool all = false);

// One Node in the same manner.
std::string DescribeNode(const Item& node, const std::vector<lifecycle::v1::Event>& events,
                         absl::Time now);

// A resource of any kind in the same manner; for kinds that have no events of their own none are
// shown.
std::string DescribeItem(const Item& item, const std::vector<lifecycle::v1::Event>& events,
                         absl::Time now, bool all = false);

// `disableUnhealthyNodeEviction` → `Disable Unhealthy Node Eviction`, `uid` → `UID`; keys with
// anything but letters and dashes stay as they are.
std::string LabelFor(absl::string_view field);

}  // namespace muster::musterctl
