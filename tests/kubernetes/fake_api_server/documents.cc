#include "tests/kubernetes/fake_api_server/documents.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/kubernetes/fake_api_server/refusal.h"

namespace muster::testing {
namespace {

// What of metadata a client can write.
constexpr const char* kUserMetadata[] = {"labels", "annotations", "finalizers", "ownerReferences"};

// Sets `key` of `object` to what it is in `from`, absent included.
void Restore(Json& object, const Json& from, const char* key) {
  const auto found = from.find(key);
  if (found == from.end()) {
    object.erase(key);
  } else {
    object[key] = *found;
  }
}

void CheckName(const Json& metadata, const char* field, const std::string& wanted) {
  const std::string given = metadata.value(field, "");
  if (given.empty() || wanted.empty() || given == wanted) return;
  throw BadRequest(absl::StrCat("the ", field, " of the object (", given, ") does not match the ",
                                field, " on the URL (", wanted, ")"));
}

void CheckType(const Json& body, const char* field, const std::string& wanted) {
  const std::string given = body.value(field, "");
  if (!given.empty() && given != wanted)
    throw BadRequest(absl::StrCat("the ", field, " in the data (", given,
                                  ") does not match the expected ", field, " (", wanted, ")"));
}

void CheckVersion(const Target& target, const Json& live, const Json& metadata) {
  const std::string version = metadata.value("resourceVersion", "");
  if (!version.empty() && version != live.at("metadata").at("resourceVersion")) {
    throw Conflict(target.resource->qualified(), target.name,
                   "the object has been modified; please apply your changes to the latest version "
                   "and try again");
  }
}

}  // namespace

Json DocumentOf(const Resource& resource, const Json& object) {
  Json document = object;
  document["apiVersion"] = resource.api_version();
  document["kind"] = resource.kind;
  return document;
}

Json ScaleOf(const Json& object) {
  const Json& metadata = object.at("metadata");
  Json scale = {{"apiVersion", "autoscaling/v1"}, {"kind", "Scale"}};
  for (const char* key : {"name", "uid", "resourceVersion", "creationTimestamp"})
    scale["metadata"][key] = metadata.at(key);
  scale["spec"]["replicas"] = object.value(Json::json_pointer("/spec/targetNodes"), 0);
  scale["status"]["replicas"] = object.value(Json::json_pointer("/status/currentNodes"), 0);
  return scale;
}

std::string Now(absl::Time now) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", now, absl::UTCTimeZone());
}

Json ParseObject(const Call& call, const Target& target) {
  Json body = Json::parse(call.body);
  if (!body.is_object()) throw BadRequest("the body is not an object");
  CheckType(body, "apiVersion", target.resource->api_version());
  CheckType(body, "kind", target.resource->kind);
  Json& metadata = body["metadata"];
  if (metadata.is_null()) metadata = Json::object();
  CheckName(metadata, "name", target.name);
  CheckName(metadata, "namespace", target.space);
  body.erase("apiVersion");
  body.erase("kind");
  return body;
}

Writer WriterOf(const Call& call, const Target& target, absl::Time now) {
  std::string manager = call.parameter("fieldManager");
  if (manager.empty()) manager = call.user_agent.substr(0, call.user_agent.find('/'));
  return {std::move(manager), target.subresource, target.resource->api_version(), Now(now)};
}

void CheckPreconditions(const Target& target, const Json& live, const Json& preconditions) {
  const std::string uid = preconditions.value("uid", "");
  const std::string live_uid = live.at("metadata").at("uid");
  if (!uid.empty() && uid != live_uid) {
    throw Conflict(
        target.resource->qualified(), target.name,
        absl::StrCat("the UID in the precondition (", uid, ") does not match the UID in record (",
                     live_uid, "). The object might have been deleted and then recreated"));
  }
  CheckVersion(target, live, preconditions);
}

void CheckPatched(const Target& target, const Json& live, const Json& metadata) {
  const std::string uid = metadata.value("uid", "");
  const bool is_read = !target.resource->custom || target.subresource.empty();
  if (is_read && !uid.empty() && uid != live.at("metadata").at("uid")) {
    throw Unprocessable(
        target.resource->kind, target.name,
        {{"metadata.uid", absl::StrCat("Invalid value: \"", uid, "\": field is immutable")}});
  }
  CheckVersion(target, live, metadata);
}

Json Isolate(const Target& target, const Json& live, Json next) {
  const Resource& resource = *target.resource;
  next.erase("apiVersion");
  next.erase("kind");
  if (target.subresource.empty()) {
    if (resource.has_status) Restore(next, live, "status");
  } else if (resource.custom) {
    Json status = next.value("status", Json());
    next = live;
    if (status.is_null()) {
      next.erase("status");
    } else {
      next["status"] = std::move(status);
    }
  } else {
    Restore(next, live, "spec");
  }
  Json metadata = live.at("metadata");
  for (const char* key : kUserMetadata)
    Restore(metadata, next.value("metadata", Json::object()), key);
  next["metadata"] = std::move(metadata);
  Tidy(next);
  return next;
}

Json ConfigOf(const Target& target, Json config) {
  Json metadata = Json::object();
  const bool is_status = target.subresource == "status";
  if (!is_status || !target.resource->custom) {
    for (const char* key : kUserMetadata) Restore(metadata, config.at("metadata"), key);
  }
  config["metadata"] = std::move(metadata);
  if (is_status && target.resource->custom) {
    Json status = config.value("status", Json());
    config = Json::object({{"metadata", Json::object()}});
    if (!status.is_null()) config["status"] = std::move(status);
  } else if (is_status) {
    config.erase("spec");
  } else if (target.resource->has_status) {
    config.erase("status");
  }
  return config;
}

void Tidy(Json& object) {
  Json& metadata = object["metadata"];
  for (const char* key : kUserMetadata) {
    const auto found = metadata.find(key);
    if (found != metadata.end() && found->empty()) metadata.erase(found);
  }
}

bool IsSpecChanged(const Json& before, const Json& after) {
  const auto differs = [](const Json& one, const Json& other) {
    for (const auto& [key, value] : one.items()) {
      if (key == "metadata" || key == "status") continue;
      const auto found = other.find(key);
      if (found == other.end() || *found != value) return true;
    }
    return false;
  };
  return differs(before, after) || differs(after, before);
}

}  // namespace muster::testing
