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

  // A key: the order of keys, as bytes, is the order of the resources. Where all else is equal
  // `name` decides.
  std::string KeyOf(const google::protobuf::Message& resource, absl::string_view name) const;

 private:
  struct Field {
    FieldPath path = {};
    bool descending = false;
  };
  std::vector<Field> fields_;
};

}  // namespace muster::rpc
