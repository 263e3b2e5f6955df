#pragma once

#include <google/protobuf/field_mask.pb.h>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "services/common/faults.h"

// Update masks as in AIP-134: an empty mask means all that can be updated; `*` too.
namespace muster::rpc {

// A fault at `update_mask`: a path that is not one of `updatable`.
void CheckUpdateMask(const google::protobuf::FieldMask& mask,
                     absl::Span<const absl::string_view> updatable, error::Faults& faults);

// Whether the field is to be written. The mask must have been checked.
bool InUpdateMask(const google::protobuf::FieldMask& mask, absl::string_view path);

}  // namespace muster::rpc
