#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "services/musterctl/manifest/manifest.h"
#include "services/musterctl/print/objects.h"

// What `-o yaml` and `-o json` print of a resource: all of it.
namespace muster::musterctl {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using ::testing::IsEmpty;

constexpr int kDeepest = 8;

bool IsTimestamp(const FieldDescriptor& field) {
  return field.message_type() != nullptr &&
         field.message_type()->full_name() == "google.protobuf.Timestamp";
}

// Sets every field, each number and text to another one, and one entry of every list and map.
class Filler {
 public:
  void Fill(Message& message, int depth = 0) {
    const auto& type = *message.GetDescriptor();
    for (int i = 0; i < type.field_count() && depth < kDeepest; ++i)
      Set(message, *type.field(i), depth);
  }

  void Set(Message& message, const FieldDescriptor& field, int depth) {
    const Reflection& in = *message.GetReflection();
    const bool many = field.is_repeated();
    const int64_t number = ++last_;
    const std::string text = "v" + std::to_string(number);
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE: {
        Message& part =
            many ? *in.AddMessage(&message, &field) : *in.MutableMessage(&message, &field);
        if (IsTimestamp(field)) {
          part.GetReflection()->SetInt64(&part, part.GetDescriptor()->field(0),
                                         1'750'000'000 + number);
        } else {
          Fill(part, depth + 1);
        }
        break;
      }
      case FieldDescriptor::CPPTYPE_STRING:
        many ? in.AddString(&message, &field, text) : in.SetString(&message, &field, text);
        break;
      case FieldDescriptor::CPPTYPE_BOOL:
        in.SetBool(&message, &field, true);
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        in.SetEnum(&message, &field,
                   field.enum_type()->value(field.enum_type()->value_count() - 1));
        break;
      case FieldDescriptor::CPPTYPE_INT32:
        in.SetInt32(&message, &field, static_cast<int32_t>(number));
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        in.SetInt64(&message, &field, number);
        break;
      default:
        ADD_FAILURE() << field.full_name();
    }
  }

 private:
  int64_t last_ = 1'000;
};

// Calls `visit` with each field that is a value, each list of values among them, and the message
// that it is in.
void ForEachValue(
    Message& message, const std::string& path,
    const std::function<void(const std::string&, Message&, const FieldDescriptor&)>& visit) {
  std::vector<const FieldDescriptor*> fields;
  const Reflection& in = *message.GetReflection();
  in.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string name = path.empty() ? field->name() : path + "." + field->name();
    if (field->message_type() == nullptr || IsTimestamp(*field) || field->is_map()) {
      visit(name, message, *field);
    } else if (field->is_repeated()) {
      ForEachValue(*in.MutableRepeatedMessage(&message, field, 0), name, visit);
    } else {
      ForEachValue(*in.MutableMessage(&message, field), name, visit);
    }
  }
}

// The fields whose values make no difference to what is printed.
template <class Resource>
std::vector<std::string> Unseen(const std::string& name) {
  Resource full;
  Filler().Fill(full);
  full.set_name(name);
  const nlohmann::json shown = ToObject(Item(full));
  std::vector<std::string> unseen;
  bool more = true;
  for (int nth = 0; more; ++nth) {
    Resource other = full;
    std::string path;
    int at = 0;
    ForEachValue(other, "",
                 [&](const std::string& here, Message& in, const FieldDescriptor& field) {
                   if (at++ != nth) return;
                   path = here;
                   in.GetReflection()->ClearField(&in, &field);
                 });
    more = !path.empty();
    if (more && path != "name" && ToObject(Item(other)) == shown) unseen.push_back(path);
  }
  return unseen;
}

// Without those that are beside what people ask for: the services' own books, and what is only set
// in answers of one method, which shows it by itself.
template <class Resource>
std::vector<std::string> UnseenBut(const std::string& name, const std::vector<std::string>& known) {
  std::vector<std::string> unseen = Unseen<Resource>(name);
  std::erase_if(unseen, [&](const std::string& path) {
    return path == "revision" ||
           std::any_of(known.begin(), known.end(), [&](const std::string& part) {
             return path == part || path.starts_with(part + ".");
           });
  });
  return unseen;
}

TEST(EveryField, OfLifecycleIsShown) {
  EXPECT_THAT(
      UnseenBut<lifecycle::v1::NodePool>(
          "organizations/a/clusters/c/nodePools/p",
          // The etag stands for the revision; true is the eviction's default.
          {"account", "preview", "warnings", "changed_fields", "etag", "object_generation", "zone",
           "spec.lifecycle.disable_unhealthy_node_eviction", "status.conditions.event_reason",
           "status.pending_node_configuration.active_nodes",
           "status.waiting_node_configuration.active_nodes"}),
      IsEmpty());
  EXPECT_THAT(UnseenBut<lifecycle::v1::Node>(
                  "organizations/a/clusters/c/nodePools/p/nodes/n",
                  // The name ends with the machine.
                  {"preview", "machine", "desired.phase_time", "observed.unhealthy_time",
                   "observed.healthy_time", "observed.health_window_time", "observed.relapses",
                   "observed.boot_time", "conditions.event_reason", "request_time", "grant_time"}),
              IsEmpty());
  EXPECT_THAT(UnseenBut<lifecycle::v1::Event>("organizations/a/clusters/c/events/e", {}),
              IsEmpty());
  EXPECT_THAT(UnseenBut<lifecycle::v1::Cluster>("organizations/a/clusters/c", {}), IsEmpty());
}

TEST(EveryField, OfQuotaAndCapacityIsShown) {
  EXPECT_THAT(UnseenBut<quota::v1::Holding>("organizations/a/quotas/Z-1A~t~spot/holdings/u", {}),
              IsEmpty());
  EXPECT_THAT(UnseenBut<quota::v1::Quota>("organizations/a/quotas/Z-1A~t~spot", {}), IsEmpty());
  EXPECT_THAT(UnseenBut<capacity::v1::Zone>("zones/Z-1A", {}), IsEmpty());
  EXPECT_THAT(UnseenBut<capacity::v1::InstanceType>("instanceTypes/t", {}), IsEmpty());
  EXPECT_THAT(UnseenBut<capacity::v1::Machine>("machines/m", {"place_time"}), IsEmpty());
  EXPECT_THAT(
      UnseenBut<capacity::v1::Claim>(
          "claims/u", {"places", "withheld_parts", "withheld_places", "withheld_generation",
                       "granted", "reclaim_generation", "racks", "organization", "request_times",
                       "grant_times", "lost_times", "lost_since", "returns_digest", "leaving_nodes",
                       "leaving_generation", "machines_print", "machines_unchanged"}),
      IsEmpty());
}

TEST(EveryField, OfConfigurationIsShown) {
  EXPECT_THAT(
      UnseenBut<configuration::v1::Release>("channels/stable/components/kernel/releases/1", {}),
      IsEmpty());
  EXPECT_THAT(UnseenBut<configuration::v1::PoolConfiguration>(
                  "poolConfigurations/u",
                  {"spec_unmet", "problem_of_spec", "pending.disabled", "pending.enable_count",
                   "waiting.disabled", "waiting.enable_count"}),
              IsEmpty());
  EXPECT_THAT(UnseenBut<configuration::v1::NodeProfile>("nodeProfiles/np-1", {}), IsEmpty());
}

// What is printed is applied again: a default must not take the place of what was said.
TEST(EveryField, ADefaultStandsOnlyWhereNothingWasSaid) {
  lifecycle::v1::NodePool pool;
  pool.set_name("organizations/a/clusters/c/nodePools/p");
  EXPECT_EQ(ToObject(Item(pool))["spec"]["lifecycle"]["disableUnhealthyNodeEviction"], true);
  pool.mutable_spec()->mutable_lifecycle()->set_disable_unhealthy_node_eviction(false);
  EXPECT_EQ(ToObject(Item(pool))["spec"]["lifecycle"]["disableUnhealthyNodeEviction"], false);
}

TEST(EveryField, OfSeveralCellsEachObjectSaysItsOwn) {
  quota::v1::Holding holding;
  holding.set_name("organizations/a/quotas/Z-1A~t~spot/holdings/u");
  Item item(holding);
  EXPECT_FALSE(ToObject(item)["metadata"].contains("cell"));
  item.cell = "east";
  EXPECT_EQ(ToObject(item)["metadata"]["cell"], "east");
  EXPECT_EQ(ToObject(item)["metadata"]["organization"], "a");
}

TEST(EveryField, WhatThereIsNoneOfIsLeftOut) {
  EXPECT_FALSE(ToObject(Item(quota::v1::Quota()))["spec"].contains("overrides"));
  EXPECT_FALSE(ToObject(Item(capacity::v1::Machine()))["spec"].contains("labels"));
  EXPECT_FALSE(ToObject(Item(capacity::v1::Claim()))["spec"].contains("affinity"));
  EXPECT_FALSE(ToObject(Item(configuration::v1::PoolConfiguration())).contains("spec"));
  EXPECT_FALSE(ToObject(Item(lifecycle::v1::Node()))["spec"].contains("orders"));
  const nlohmann::json status = ToObject(Item(configuration::v1::PoolConfiguration()))["status"];
  for (const char* part : {"pending", "waiting", "problem"}) EXPECT_FALSE(status.contains(part));
}

// "what `apply` reads again": all of the spec, as it was.
template <class Resource>
void ExpectSpecIsReadAgain(Resource resource, const std::string& name) {
  resource.set_name(name);
  const nlohmann::json shown = ToObject(Item(resource));
  const auto manifests = ParseManifests("f", ToYaml(shown), {.organization = "a"});
  ASSERT_TRUE(manifests.ok()) << manifests.status();
  ASSERT_EQ(manifests->size(), 1u);
  const Resource* read = std::get_if<Resource>(&manifests->front().resource);
  ASSERT_NE(read, nullptr) << name;
  EXPECT_EQ(read->name(), name);
  EXPECT_EQ(ToObject(Item(*read))["spec"], shown["spec"]);
}

template <class Resource>
Resource Filled() {
  Resource resource;
  Filler().Fill(resource);
  return resource;
}

TEST(EveryField, OfASpecIsReadAgain) {
  for (const auto access :
       {capacity::v1::Zone::ACCESS_GENERAL, capacity::v1::Zone::ACCESS_DEDICATED}) {
    auto zone = Filled<capacity::v1::Zone>();
    zone.set_access(access);
    ExpectSpecIsReadAgain(zone, "zones/Z-1A");
  }
  ExpectSpecIsReadAgain(Filled<capacity::v1::InstanceType>(), "instanceTypes/t");
  ExpectSpecIsReadAgain(Filled<capacity::v1::Machine>(), "machines/m");
  ExpectSpecIsReadAgain(Filled<quota::v1::Quota>(), "organizations/a/quotas/Z-1A~t~spot");
  ExpectSpecIsReadAgain(Filled<lifecycle::v1::Cluster>(), "organizations/a/clusters/c");
  auto release = Filled<configuration::v1::Release>();
  release.clear_withdraw_time();
  ExpectSpecIsReadAgain(release, "channels/stable/components/kernel/releases/1");
}

}  // namespace
}  // namespace muster::musterctl
