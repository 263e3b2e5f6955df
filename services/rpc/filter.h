#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::rpc {

// What `filter` of a List request says: see muster.type.v1.ListChoice. Immutable.
class Filter {
 public:
  struct Node;

  // INVALID_ARGUMENT: what is wrong, and where.
  static absl::StatusOr<Filter> Parse(absl::string_view text,
                                      const google::protobuf::Descriptor& type);

  bool Keeps(const google::protobuf::Message& resource) const;
  // The text that `field`, a field of the resource itself, has in every resource that is kept;
  // nullopt: no `=` that all must meet says so. Lets lists skip other resources early.
  std::optional<std::string> Demanded(const google::protobuf::FieldDescriptor& field) const;

 private:
  explicit Filter(std::shared_ptr<const Node> root) : root_(std::move(root)) {}

  std::shared_ptr<const Node> root_;  // null: keeps all
};

}  // namespace muster::rpc
