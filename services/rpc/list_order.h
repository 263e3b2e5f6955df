#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/rpc/field_path.h"

namespace muster::rpc {

// What `order_by` of a List request says: see muster.type.v1.ListChoice. Immutable.
class ListOrder {
 public:
  // INVALID_ARGUMENT: what is wrong.
  static absl::StatusOr<ListOrder> Parse(absl::string_view text,
                                         const google::protobuf::Descriptor& type);

  // Of bytes whose order is that of the resources; `name` decides where all else is equal.
  std::string KeyOf(const google::protobuf::Message& resource, absl::string_view name) const;

 private:
  struct Field {
    FieldPath path = {};
    bool descending = false;
  };
  std::vector<Field> fields_;
};

}  // namespace muster::rpc
