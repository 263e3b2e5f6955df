#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <algorithm>
#include <string>

#include "absl/time/time.h"
#include "services/common/timestamp.h"
#include "services/musterctl/print/table.h"

namespace muster::musterctl::top {

// The time of a timestamp; InfinitePast: it is not set.
inline absl::Time TimeOf(const google::protobuf::Timestamp& time) {
  if (time.seconds() == 0 && time.nanos() == 0) return absl::InfinitePast();
  return FromTimestamp(time);
}

// The time passed, e.g. `3m`; empty: `since` is not known. A future time counts as now, because
// clocks differ.
inline std::string Ago(absl::Time since, absl::Time now) {
  if (since == absl::InfinitePast()) return "";
  return HumanDuration(std::max(now - since, absl::ZeroDuration()));
}

}  // namespace muster::musterctl::top
