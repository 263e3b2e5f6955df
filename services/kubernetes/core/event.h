#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"
#include "services/kubernetes/core/objects.h"
#include "services/kubernetes/core/status.h"

namespace muster::kubernetes {

// How events.k8s.io/v1 shows an event of Muster: one object each, its repeats counted in `series`.
inline constexpr char kReportingController[] = "compute.coreweave.com/muster";

// The object's name, which follows from the event and so is found again: `{first
// time}.{object}.{event id}`, the time as sixteen hexadecimal digits, so that what is listed by
// name is listed by time.
std::string EventName(const lifecycle::v1::Event& event);

// The v1 Node that an event's machine is, or was; empty where it is not known.
struct EventNode {
  std::string name = {};
  std::string uid = {};
};

// What a create request carries. `node`: of an event about a Node; as long as its name is not
// known, the machine's stands for it (an event about a NodePool has the pool's name and uid).
// `instance`: which replica writes.
Json EventObject(const lifecycle::v1::Event& event, const EventNode& node,
                 const std::string& instance, Edition edition);

// The merge patch that brings one that was written before level; only `series` may change.
Json EventSeries(const lifecycle::v1::Event& event);

// `series.count` of an event object, 1 without.
int64_t EventCount(const Json& object);
// When it came last: its `series.lastObservedTime`, or `eventTime` without.
absl::Time EventLastTime(const Json& object);

}  // namespace muster::kubernetes
