#pragma once

#include "services/common/timestamp.h"
#include "services/lifecycle/core/types.h"

// Set and get a timestamp field, which is left out when the time is kNever.
#define MUSTER_SET_TIME(message, field, time)                              \
  do {                                                                     \
    if ((time) != kNever) SetTimestamp(time, (message).mutable_##field()); \
  } while (false)
#define MUSTER_GET_TIME(message, field) \
  ((message).has_##field() ? FromTimestamp((message).field()) : kNever)
