#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

// What isolation_test asks: requests of every method, made of what protobuf says of it.
namespace muster::testing {

// A pool, and all that names it.
struct World {
  std::string organization = {};
  std::string cluster = {};  // whole name
  std::string zone = {};
  std::string instance_type = {};
  std::string uid = {};
  std::string profile = {};
  std::string machine = {};
  std::string pool_id = {};

  std::string Pool() const { return absl::StrCat(cluster, "/nodePools/", pool_id); }
  std::string Quota() const {
    return absl::StrCat("organizations/", organization, "/quotas/", zone, "~", instance_type,
                        "~default");
  }
};
// The method's request in protobuf's text format; throws if there is none: a new method has to have
// one. `$POOL` and the like are to be replaced by a World's.
const std::string& ValidRequest(const google::protobuf::MethodDescriptor& method);

// Of all services.
std::vector<const google::protobuf::MethodDescriptor*> AllMethods();
bool IsDebug(const google::protobuf::MethodDescriptor& method);

std::unique_ptr<google::protobuf::Message> NewMessage(const google::protobuf::Descriptor& type);
std::unique_ptr<google::protobuf::Message> CopyOf(const google::protobuf::Message& message);

// Sets `validate_only`, if the request has it.
void OnlyTry(google::protobuf::Message& request);

// From a request to each of its string fields.
using Path = std::vector<const google::protobuf::FieldDescriptor*>;
std::vector<Path> StringFields(const google::protobuf::Descriptor& type, int depth = 4);

// Whether the method's access option says that the resource's name is there.
bool IsResource(const google::protobuf::MethodDescriptor& method, const Path& path);

void Set(google::protobuf::Message& message, const Path& path, const std::string& text);

// Of a list that can be filtered and ordered: all that there is, filtered, and ordered.
std::vector<std::unique_ptr<google::protobuf::Message>> ChosenLists(
    const google::protobuf::MethodDescriptor& method);

}  // namespace muster::testing
