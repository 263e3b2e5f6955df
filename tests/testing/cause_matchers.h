#pragma once

#include <gmock/gmock.h>

#include <string>

#include "services/common/cause.h"
#include "tests/testing/status_matchers.h"

namespace muster::testing {

// INTERNAL because a constraint of the database refused the change: the cause, which operators
// read, names the constraint, and the message, which callers read, does not.
MATCHER_P(IsRefusedBy, constraint, "is refused by " + std::string(constraint)) {
  const absl::Status& status = StatusOf(arg);
  *result_listener << status.ToString();
  const std::string name(constraint);
  return status.code() == absl::StatusCode::kInternal &&
         error::CauseOf(status).find(name) != std::string::npos &&
         std::string(status.message()).find(name) == std::string::npos;
}

}  // namespace muster::testing
