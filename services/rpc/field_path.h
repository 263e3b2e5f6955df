#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace muster::rpc {

// One value of a field. Enums are the names of their values.
using FieldValue = std::variant<bool, int64_t, double, std::string, absl::Time, absl::Duration>;

// A field of a message, or of one in it, as muster.type.v1.ListChoice writes it:
// `spec.node_labels.team`, `status.conditions.Ready`.
class FieldPath {
 public:
  // INVALID_ARGUMENT: it leads nowhere; the message says how far it came and what there is.
  static absl::StatusOr<FieldPath> Resolve(const google::protobuf::Descriptor& type,
                                           absl::Span<const std::string> segments);

  // Whether it leads to one value: not to a message, a list or a map.
  bool is_value() const { return !is_many_ && !has_fields_; }
  // Whether it leads to a list or a map.
  bool is_many() const { return is_many_; }
  // Of many: whether elements are told apart by a text, as those of maps and conditions are; or are
  // messages that are not, as taints.
  bool is_keyed() const { return is_many_ && is_keyed_; }
  bool is_nameless() const { return is_many_ && !is_keyed_ && has_fields_; }
  const google::protobuf::FieldDescriptor& field() const { return *field_; }

  // A word of a filter as a value of this field, to compare with. INVALID_ARGUMENT: it is none.
  absl::StatusOr<FieldValue> ParseValue(const std::string& text) const;

  // The field's value; one that is not set is empty, 0, false, or the time before all others. Only
  // if is_value().
  FieldValue Get(const google::protobuf::Message& message) const;
  // Whether it is set, or not empty.
  bool IsSet(const google::protobuf::Message& message) const;
  // Whether a list has the value, or a map the key. Only if is_many().
  bool Has(const google::protobuf::Message& message, const std::string& text) const;

 private:
  struct Step {
    const google::protobuf::FieldDescriptor* field = nullptr;
    // Of a map, or the `type` of an element of a list; empty: the field itself.
    std::string key = {};
  };

  // Goes from a list or map to the element that segments[key] names. INVALID_ARGUMENT as Resolve.
  absl::Status AddKeyed(const google::protobuf::FieldDescriptor& field,
                        absl::Span<const std::string> segments, size_t key);
  FieldValue Zero() const;
  FieldValue ValueIn(const google::protobuf::Message& message, int index) const;
  // The message that holds the last step's field; null: one on the way is not there.
  const google::protobuf::Message* Walk(const google::protobuf::Message& message) const;

  std::vector<Step> steps_;  // the last one is field_ without a key
  const google::protobuf::FieldDescriptor* field_ = nullptr;
  bool is_many_ = false;
  bool has_fields_ = false;
  bool is_keyed_ = false;
  bool is_time_ = false;
  bool is_duration_ = false;
};

}  // namespace muster::rpc
