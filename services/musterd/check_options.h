#pragma once

#include <vector>

#include "services/common/error.h"
#include "services/musterd/options.h"

namespace muster::musterd {

// What is missing in the options, and what does not go together, each named by its flag: first the
// services, then addresses, TLS and tokens, then the database and memory. Bounds are those of the
// flags (options.cc). Pure.
std::vector<error::FieldViolation> CheckTogether(const ServeOptions& options);

}  // namespace muster::musterd
