#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace muster::musterd {

// `musterd check-policy FILE [PRINCIPAL ...]`: checks the policy file, and prints what each of the
// callers may do by it. INVALID_ARGUMENT: every fault of the file.
absl::Status RunCheckPolicy(const std::string& file, const std::vector<std::string>& principals,
                            std::ostream& out);

}  // namespace muster::musterd
