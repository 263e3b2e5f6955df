#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "services/common/cause.h"
#include "services/common/error.h"

namespace muster::daemon {

// Collects the faults that several checks find.
class Findings {
 public:
  void Add(error::FieldViolation fault) { faults_.push_back(std::move(fault)); }
  // `flag` is the field of a status that names none.
  void Add(absl::string_view flag, const absl::Status& status) {
    if (status.ok()) return;
    auto detail = error::DetailOf(status);
    if (!detail || detail->fields.empty())
      return Add({std::string(flag), error::ForOperators(status)});
    for (error::FieldViolation& fault : detail->fields) Add(std::move(fault));
  }
  // INVALID_ARGUMENT with all faults; OK if there are none.
  absl::Status status() const {
    return faults_.empty() ? absl::OkStatus() : error::InvalidFields(faults_);
  }

 private:
  std::vector<error::FieldViolation> faults_;
};

}  // namespace muster::daemon
