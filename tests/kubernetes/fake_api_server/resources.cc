#include "tests/kubernetes/fake_api_server/resources.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/kubernetes/fake_api_server/refusal.h"

namespace muster::testing {
namespace {

std::vector<Resource> MakeResources() {
  std::vector<Resource> all = {
      {.version = "v1",
       .plural = "nodes",
       .kind = "Node",
       .has_status = true,
       .unconditional_update = true,
       .fields = {"spec.unschedulable"}},
      {.version = "v1",
       .plural = "pods",
       .kind = "Pod",
       .namespaced = true,
       .has_status = true,
       .unconditional_update = true,
       .fields = {"spec.nodeName", "status.phase"}},
      {.version = "v1",
       .plural = "namespaces",
       .kind = "Namespace",
       .has_status = true,
       .unconditional_update = true,
       .fields = {"status.phase"}},
      {.group = "policy",
       .version = "v1",
       .plural = "poddisruptionbudgets",
       .kind = "PodDisruptionBudget",
       .namespaced = true,
       .has_status = true},
      {.group = "coordination.k8s.io",
       .version = "v1",
       .plural = "leases",
       .kind = "Lease",
       .namespaced = true,
       .create_on_update = true},
      {.group = "events.k8s.io",
       .version = "v1",
       .plural = "events",
       .kind = "Event",
       .namespaced = true,
       .unconditional_update = true,
       .create_on_update = true,
       .fields = {"reason", "type", "reportingController", "regarding.apiVersion",
                  "regarding.fieldPath", "regarding.kind", "regarding.name", "regarding.namespace",
                  "regarding.resourceVersion", "regarding.uid"}},
      {.group = "compute.coreweave.com",
       .version = "v1alpha1",
       .plural = "nodepools",
       .kind = "NodePool",
       .has_status = true,
       .custom = true},
  };
  for (size_t i = 0; i < all.size(); ++i) all[i].index = i;
  return all;
}

const Resource* Find(absl::string_view group, absl::string_view version, absl::string_view plural) {
  for (const Resource& resource : Resources()) {
    if (resource.group == group && resource.version == version && resource.plural == plural)
      return &resource;
  }
  return nullptr;
}

Refusal NoSuchPath() {
  return {404, "NotFound", "the server could not find the requested resource"};
}

bool Serves(const Resource& resource, absl::string_view subresource) {
  if (subresource == "status") return resource.has_status;
  if (subresource == "scale") return resource.custom;
  return subresource.empty() ||
         (subresource == "eviction" && absl::string_view(resource.kind) == "Pod");
}

}  // namespace

std::string Resource::api_version() const {
  return *group == '\0' ? version : absl::StrCat(group, "/", version);
}

std::string Resource::qualified() const {
  return *group == '\0' ? plural : absl::StrCat(plural, ".", group);
}

const std::vector<Resource>& Resources() {
  static const auto& resources = *new std::vector<Resource>(MakeResources());
  return resources;
}

const Resource& ResourceOf(absl::string_view plural) {
  const auto found = std::find_if(Resources().begin(), Resources().end(),
                                  [&](const Resource& each) { return each.plural == plural; });
  if (found == Resources().end()) throw std::out_of_range(std::string(plural));
  return *found;
}

std::string Target::key() const { return KeyOf(space, name); }

Target ParsePath(absl::string_view path) {
  const std::vector<std::string> parts = absl::StrSplit(path.substr(path.find('/') + 1), '/');
  const bool is_core = parts[0] == "api";
  const size_t version = is_core ? 1 : 2;
  if ((!is_core && parts[0] != "apis") || parts.size() < version + 2) throw NoSuchPath();
  const std::string group = is_core ? "" : parts[1];
  size_t next = version + 1;
  Target target;
  if (parts[next] == "namespaces" && parts.size() > next + 2 &&
      Find(group, parts[version], parts[next + 2]) != nullptr) {
    target.space = parts[next + 1];
    next += 2;
  }
  target.resource = Find(group, parts[version], parts[next]);
  if (parts.size() > next + 1) target.name = parts[next + 1];
  if (parts.size() > next + 2) target.subresource = parts[next + 2];
  const bool is_object = !target.name.empty();
  if (target.resource == nullptr || parts.size() > next + 3 ||
      !Serves(*target.resource, target.subresource) ||
      (target.space.empty() ? target.resource->namespaced && is_object
                            : !target.resource->namespaced)) {
    throw NoSuchPath();
  }
  return target;
}

std::string KeyOf(absl::string_view space, absl::string_view name) {
  return absl::StrCat(space, "/", name);
}

std::string Call::parameter(const std::string& key) const {
  const auto found = parameters.find(key);
  return found == parameters.end() ? "" : found->second;
}

}  // namespace muster::testing
