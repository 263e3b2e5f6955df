#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// RETURN_IF_ERROR(expr): returns the status of `expr` from the function unless it is OK.
// ASSIGN_OR_RETURN(lhs, expr): assigns the value of the StatusOr `expr` to `lhs`, or returns its
// status.
#define RETURN_IF_ERROR(expr)                                                              \
  do {                                                                                     \
    if (absl::Status muster_status_ = (expr); !muster_status_.ok()) return muster_status_; \
  } while (false)

#define MUSTER_CONCAT_INNER(a, b) a##b
#define MUSTER_CONCAT(a, b) MUSTER_CONCAT_INNER(a, b)
#define ASSIGN_OR_RETURN(lhs, expr) \
  MUSTER_ASSIGN_OR_RETURN(MUSTER_CONCAT(muster_statusor_, __COUNTER__), lhs, expr)
#define MUSTER_ASSIGN_OR_RETURN(var, lhs, expr)  \
  auto var = (expr);                             \
  if (!var.ok()) return std::move(var).status(); \
  lhs = std::move(var).value()
