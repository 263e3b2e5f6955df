// The API's field_behavior against what the services do: of a seed's request, one field is left out
// at a time.
#include <google/api/field_behavior.pb.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "tests/fuzz/harness.h"

namespace muster::testing {
namespace {

using google::api::FieldBehavior;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Fields that may be empty in some requests and not in others: which, and on what that depends.
struct Depends {
  absl::string_view field;
  absl::string_view on;
};
constexpr absl::string_view kNewest = "a Check RPC takes 0 for the newest";
constexpr absl::string_view kMoment = "`revision` or `time` is set";
constexpr Depends kDepends[] = {
    {"muster.access.v1.CheckAccessRequest.resource", "whether the method is about one"},
    {"muster.history.v1.GetPastRequest.revision", kMoment},
    {"muster.history.v1.GetPastRequest.time", kMoment},
    {"muster.history.v1.ListPastRequest.revision", kMoment},
    {"muster.history.v1.ListPastRequest.time", kMoment},
    {"muster.quota.v1.Quota.name", "CreateQuota has it in `parent` and `quota_id`"},
    {"muster.capacity.v1.ClaimRequest.generation", kNewest},
    {"muster.quota.v1.HoldingRequest.generation", kNewest},
    {"muster.configuration.v1.ConfigurationRequest.generation", kNewest},
    {"muster.configuration.v1.ConfigurationRequest.spec", "a release has none"},
    {"muster.configuration.v1.ConfigurationRequest.release", "it stands for the spec"},
    {"muster.capacity.v1.InstanceType.gpus", "a type with a GPU model has GPUs"},
    {"muster.capacity.v1.InstanceType.gpu_model", "a type without GPUs has none"},
    {"muster.capacity.v1.AffinityExpression.values", "its operator"},
    {"muster.lifecycle.v1.NodeAffinityExpression.values", "its operator"},
    {"muster.lifecycle.v1.NodePoolSpec.max_nodes", "autoscaling has a bound"},
    {"muster.lifecycle.v1.NodePoolSpec.compute_class", "a pool that is spot stays so"},
    {"muster.lifecycle.v1.ResizeNodePoolRequest.remove_machines", "a target may be set instead"},
    {"muster.lifecycle.v1.ResizeNodePoolRequest.target_nodes", "machines may be named instead"},
};

bool IsOurs(const google::protobuf::Descriptor* message) {
  return message != nullptr && absl::StartsWith(message->full_name(), "muster.");
}

// A field that is set in a request: the way there, through messages and elements of lists.
struct Place {
  std::vector<std::pair<const FieldDescriptor*, int>> way = {};
  const FieldDescriptor* field = nullptr;
};

void AddPlaces(const Message& message, const Place& above, std::vector<Place>& places) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    Place place = above;
    place.field = field;
    places.push_back(place);
    if (!IsOurs(field->message_type()) || field->is_map()) continue;
    const int count = field->is_repeated() ? message.GetReflection()->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      place.way.emplace_back(field, i);
      AddPlaces(field->is_repeated()
                    ? message.GetReflection()->GetRepeatedMessage(message, field, i)
                    : message.GetReflection()->GetMessage(message, field),
                place, places);
      place.way.pop_back();
    }
  }
}

std::vector<Place> PlacesOf(const Message& request) {
  std::vector<Place> places;
  AddPlaces(request, {}, places);
  return places;
}

// The message that has the field.
Message& At(const Place& place, Message& request) {
  Message* message = &request;
  for (const auto& [field, index] : place.way) {
    message = field->is_repeated()
                  ? message->GetReflection()->MutableRepeatedMessage(message, field, index)
                  : message->GetReflection()->MutableMessage(message, field);
  }
  return *message;
}

// Gives the field any value.
void Set(const FieldDescriptor& field, Message& message) {
  const auto& reflection = *message.GetReflection();
  const bool repeated = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return repeated ? reflection.AddString(&message, &field, "x")
                      : reflection.SetString(&message, &field, "x");
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.SetInt64(&message, &field, 7);
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.SetBool(&message, &field, true);
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.SetEnumValue(&message, &field, 77);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      repeated ? reflection.AddMessage(&message, &field)
               : reflection.MutableMessage(&message, &field);
      return;
    default:
      FAIL() << field.full_name() << " is of a type that is not known here";
  }
}

bool Is(FieldBehavior behavior, const FieldDescriptor& field) {
  const auto& options = field.options();
  for (int i = 0; i < options.ExtensionSize(google::api::field_behavior); ++i) {
    if (options.GetExtension(google::api::field_behavior, i) == behavior) return true;
  }
  return false;
}
bool IsRequired(const FieldDescriptor& field) { return Is(google::api::REQUIRED, field); }

// Whether the request must have the field: in one with an update_mask only the name and the
// request's own fields.
bool IsAskedFor(const Message& request, const Place& place) {
  return request.GetDescriptor()->FindFieldByName("update_mask") == nullptr || place.way.empty() ||
         (place.way.size() == 1 && place.field->name() == "name");
}

// Adds the required fields of a message and of the messages in it.
void AddRequired(const google::protobuf::Descriptor& message,
                 std::set<const google::protobuf::Descriptor*>& seen,
                 std::set<std::string>& required) {
  if (!IsOurs(&message) || !seen.insert(&message).second) return;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    // Requests do not have what only the server sets.
    if (Is(google::api::OUTPUT_ONLY, field)) continue;
    if (IsRequired(field)) required.insert(field.full_name());
    if (field.message_type() != nullptr) AddRequired(*field.message_type(), seen, required);
  }
}

bool IsListed(const FieldDescriptor& field) {
  return std::any_of(std::begin(kDepends), std::end(kDepends),
                     [&](const Depends& depends) { return depends.field == field.full_name(); });
}

class RequiredTest : public ::testing::Test {
 protected:
  using Change = std::function<void(Message&)>;

  // The code that the request is answered after the change.
  grpc::StatusCode Answer(const FuzzCall& call, const Message& request, const Change& change) {
    const std::unique_ptr<Message> changed(request.New());
    changed->CopyFrom(request);
    change(*changed);
    return harness_.Run(EncodeCalls({{call.method, changed->SerializeAsString()}}))
        .at(0)
        .error_code();
  }

  // Whether the request without that field is refused as INVALID_ARGUMENT.
  bool IsRefusedWithout(const FuzzCall& call, const Message& request, const Place& place) {
    return Answer(call, request, [&](Message& changed) {
             Message& message = At(place, changed);
             message.GetReflection()->ClearField(&message, place.field);
           }) == grpc::StatusCode::INVALID_ARGUMENT;
  }

  // Calls `visit(call, request, place)` for each field of each seed.
  template <class Visit>
  void VisitSeeds(Visit visit) {
    for (const auto* part : {&harness_.seeds().world, &harness_.seeds().calls}) {
      for (const FuzzCall& call : *part) {
        const std::unique_ptr<Message> request = NewRequest(*call.method);
        ASSERT_TRUE(request->ParseFromString(call.request));
        for (const Place& place : PlacesOf(*request)) visit(call, *request, place);
      }
    }
  }

  Harness harness_{MakeFuzzedService()};
};

TEST_F(RequiredTest, WhatIsRequiredIsRefusedEmpty) {
  std::set<const google::protobuf::Descriptor*> seen;
  std::set<std::string> untried;
  for (int i = 0; i < harness_.descriptor().method_count(); ++i)
    AddRequired(*harness_.descriptor().method(i)->input_type(), seen, untried);
  ASSERT_FALSE(untried.empty());
  VisitSeeds([&](const FuzzCall& call, const Message& request, const Place& place) {
    if (!IsRequired(*place.field) || !IsAskedFor(request, place)) return;
    untried.erase(place.field->full_name());
    EXPECT_TRUE(IsRefusedWithout(call, request, place))
        << call.method->name() << " without " << place.field->full_name();
  });
  EXPECT_EQ(untried, std::set<std::string>()) << "no seed has them";
}

TEST_F(RequiredTest, WhatIsNotRequiredMayBeLeftOut) {
  int seen = 0;
  VisitSeeds([&](const FuzzCall& call, const Message& request, const Place& place) {
    if (IsRequired(*place.field)) return;
    ++seen;
    if (IsListed(*place.field)) return;
    EXPECT_FALSE(IsRefusedWithout(call, request, place))
        << call.method->name() << " without " << place.field->full_name() << ": "
        << request.ShortDebugString();
  });
  EXPECT_GT(seen, 0);
}

// A client that reads a resource, changes it and sends all of it back need not clear these fields.
TEST_F(RequiredTest, WhatIsOutputOnlyIsTakenAsIfItWasNotThere) {
  VisitSeeds([&](const FuzzCall& call, const Message& request, const Place& place) {
    if (!IsOurs(place.field->message_type()) || place.field->is_repeated()) return;
    const google::protobuf::Descriptor& type = *place.field->message_type();
    for (int i = 0; i < type.field_count(); ++i) {
      if (!Is(google::api::OUTPUT_ONLY, *type.field(i))) continue;
      const auto set = [&](Message& changed) {
        Message& message = At(place, changed);
        Set(*type.field(i), *message.GetReflection()->MutableMessage(&message, place.field));
      };
      EXPECT_EQ(Answer(call, request, set), Answer(call, request, [](Message&) {}))
          << call.method->name() << " with " << type.field(i)->full_name();
    }
  });
}

}  // namespace
}  // namespace muster::testing
