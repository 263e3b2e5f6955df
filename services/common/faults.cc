#include "services/common/faults.h"

namespace muster::error {

void Faults::Rename(absl::string_view from, absl::string_view to) {
  for (FieldViolation& fault : named_) {
    if (fault.field == from) fault.field = std::string(to);
  }
}

absl::Status Faults::status() const {
  if (empty()) return absl::OkStatus();
  std::vector<FieldViolation> fields = named_;
  if (cut_) {
    fields.push_back({"", "and more."});
  } else if (others_ > 0) {
    fields.push_back({"", absl::StrCat("and ", others_, " more.")});
  }
  return InvalidFields(std::move(fields));
}

}  // namespace muster::error
