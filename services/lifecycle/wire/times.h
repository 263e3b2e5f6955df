#pragma once

#include <google/protobuf/timestamp.pb.h>

#include "absl/time/time.h"
#include "services/lifecycle/core/types.h"

namespace muster::lifecycle {

inline google::protobuf::Timestamp ToTimestamp(absl::Time time) {
  google::protobuf::Timestamp out;
  out.set_seconds(absl::ToUnixSeconds(time));
  out.set_nanos(
      static_cast<int>(absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(out.seconds()))));
  return out;
}

inline absl::Time FromTimestamp(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

}  // namespace muster::lifecycle

// Fields that are left out when the time is kNever.
#define MUSTER_SET_TIME(message, field, time)                               \
  do {                                                                      \
    if ((time) != kNever) *(message).mutable_##field() = ToTimestamp(time); \
  } while (false)
#define MUSTER_GET_TIME(message, field) \
  ((message).has_##field() ? FromTimestamp((message).field()) : kNever)
