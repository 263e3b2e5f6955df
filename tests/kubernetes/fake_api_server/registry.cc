#include "tests/kubernetes/fake_api_server/registry.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "tests/kubernetes/fake_api_server/documents.h"
#include "tests/kubernetes/fake_api_server/patches.h"
#include "tests/kubernetes/fake_api_server/refusal.h"
#include "tests/kubernetes/fake_api_server/rules.h"

namespace muster::testing {
namespace {

constexpr absl::string_view kNameLetters = "bcdfghjklmnpqrstvwxz2456789";
constexpr const char* kNamespaces[] = {"default", "kube-node-lease", "kube-public", "kube-system"};
constexpr char kNotReady[] = "node.kubernetes.io/not-ready";
constexpr int64_t kPodGracePeriod = 30;  // seconds; of a Pod that does not say

Refusal MethodNotAllowed() {
  return {405, "MethodNotAllowed",
          "the server does not allow this method on the requested resource"};
}

Refusal NotFoundOf(const Target& target) {
  return NotFound(target.resource->qualified(), target.name);
}

// What the server makes of a new object by itself.
void Complete(const Resource& resource, Json& object) {
  const absl::string_view kind = resource.kind;
  if (resource.has_status && kind != "Node") object.erase("status");
  if (kind == "Pod") {
    object["status"]["phase"] = "Pending";
    if (!object["spec"].contains("terminationGracePeriodSeconds"))
      object["spec"]["terminationGracePeriodSeconds"] = kPodGracePeriod;
  }
  if (kind == "Namespace") {
    object["metadata"]["labels"]["kubernetes.io/metadata.name"] = object["metadata"]["name"];
    object["spec"]["finalizers"] = Json::array({"kubernetes"});
    object["status"]["phase"] = "Active";
  }
}

// Like its mutating admission: owned by nobody.
void Admit(const Resource& resource, Json& object) {
  if (absl::string_view(resource.kind) != "Node") return;
  Json& taints = object["spec"]["taints"];
  if (taints.is_null()) taints = Json::array();
  const bool has_it = std::any_of(taints.begin(), taints.end(), [](const Json& taint) {
    return taint.value("key", "") == kNotReady;
  });
  if (!has_it) taints.push_back(Json::object({{"key", kNotReady}, {"effect", "NoSchedule"}}));
}

}  // namespace

Registry::Registry(Store& store) : store_(store) {
  for (const char* name : kNamespaces) {
    Target target{&ResourceOf("namespaces"), "", name};
    Insert(target, Json::object({{"metadata", Json::object({{"name", name}})}}), false,
           {"kube-apiserver", "", "v1", Now(absl::Now())});
  }
}

std::string Registry::NewUid() {
  const auto bits = [&](uint32_t limit) { return absl::Uniform<uint32_t>(random_, 0, limit); };
  return absl::StrFormat("%08x-%04x-4%03x-%04x-%08x%04x", bits(UINT32_MAX), bits(1 << 16),
                         bits(1 << 12), 0x8000 | bits(1 << 14), bits(UINT32_MAX), bits(1 << 16));
}

Object Registry::Existing(const Target& target) const {
  Object live = store_.Find(*target.resource, target.key());
  if (live == nullptr) throw NotFoundOf(target);
  return live;
}

Reply Registry::Get(const Target& target) {
  const Object live = Existing(target);
  if (target.subresource == "scale") return {200, ScaleOf(live->object).dump()};
  return {200, FullText(*target.resource, *live)};
}

Reply Registry::Write(const Call& call, const Target& target) {
  if (!call.parameter("dryRun").empty()) throw BadRequest("the fake server knows no dryRun");
  const bool is_object = !target.name.empty();
  if (call.method == "POST") {
    if (target.subresource == "eviction") return Evict(call, target);
    if (!is_object) return Create(call, target);
  }
  if (!is_object || target.subresource == "eviction") throw MethodNotAllowed();
  if (call.method == "DELETE" && target.subresource.empty()) return Delete(call, target);
  if (call.method != "PUT" && call.method != "PATCH") throw MethodNotAllowed();
  if (target.subresource == "scale") return Scale(call, target);
  return call.method == "PUT" ? Replace(call, target) : Patch(call, target);
}

Reply Registry::Create(const Call& call, const Target& target) {
  Json object = ParseObject(call, target);
  std::string name = object["metadata"].value("name", "");
  const std::string prefix = object["metadata"].value("generateName", "");
  if (name.empty() && !prefix.empty()) {
    name = prefix;
    for (int i = 0; i < 5; ++i)
      name += kNameLetters[absl::Uniform<size_t>(random_, 0, kNameLetters.size())];
  }
  if (name.empty())
    throw Unprocessable(target.resource->kind, "",
                        {{"metadata.name", "Required value: name or generateName is required"}});
  if (!object["metadata"].value("resourceVersion", "").empty())
    throw BadRequest("resourceVersion should not be set on objects to be created");
  Target created = target;
  created.name = std::move(name);
  if (store_.Find(*target.resource, created.key()) != nullptr)
    throw AlreadyExists(target.resource->qualified(), created.name);
  return Insert(created, std::move(object), false, WriterOf(call, target, absl::Now()));
}

Reply Registry::Insert(const Target& target, Json object, bool is_apply, const Writer& writer) {
  const Resource& resource = *target.resource;
  if (resource.namespaced &&
      store_.Find(ResourceOf("namespaces"), KeyOf("", target.space)) == nullptr) {
    throw target.space.empty() ? MethodNotAllowed() : NotFound("namespaces", target.space);
  }
  Json config = ConfigOf(target, object);
  if (object["metadata"].contains("generateName"))
    config["metadata"]["generateName"] = object["metadata"]["generateName"];
  config["metadata"]["name"] = target.name;
  Complete(resource, config);
  if (std::string(resource.kind) == "Node" && object.contains("status"))
    config["status"] = object["status"];
  if (is_apply) {
    config = *Apply(nullptr, config, writer, true);
  } else {
    config["metadata"]["managedFields"] = OwnershipAfter(nullptr, config, writer);
  }
  Admit(resource, config);
  Tidy(config);
  Json& metadata = config["metadata"];
  metadata["name"] = target.name;
  metadata["uid"] = NewUid();
  metadata["creationTimestamp"] = writer.now;
  if (resource.namespaced) metadata["namespace"] = target.space;
  if (resource.custom) metadata["generation"] = 1;
  Validate(resource, target.name, nullptr, config);
  return {201, FullText(resource, *store_.Put(resource, target.key(), std::move(config)))};
}

Reply Registry::Replace(const Call& call, const Target& target) {
  Json next = ParseObject(call, target);
  const Resource& resource = *target.resource;
  const Object live = store_.Find(resource, target.key());
  const std::string uid = next["metadata"].value("uid", "");
  if (live == nullptr) {
    if (!resource.create_on_update || !uid.empty()) throw NotFoundOf(target);
    return Insert(target, std::move(next), false, WriterOf(call, target, absl::Now()));
  }
  if (next["metadata"].value("resourceVersion", "").empty() && !resource.unconditional_update) {
    throw Unprocessable(
        resource.kind, target.name,
        {{"metadata.resourceVersion", "Invalid value: 0x0: must be specified for an update"}});
  }
  CheckPreconditions(target, live->object, next["metadata"]);
  return Update({target, WriterOf(call, target, absl::Now()), live, std::move(next)});
}

Reply Registry::Patch(const Call& call, const Target& target) {
  if (call.content_type == "application/apply-patch+yaml") return ApplyPatch(call, target);
  const Object live = Existing(target);
  Json next = Patched(*target.resource, call, DocumentOf(*target.resource, live->object));
  CheckPatched(target, live->object, next.at("metadata"));
  return Update({target, WriterOf(call, target, absl::Now()), live, std::move(next)});
}

Reply Registry::ApplyPatch(const Call& call, const Target& target) {
  const Resource& resource = *target.resource;
  if (call.parameter("fieldManager").empty())
    throw Unprocessable("PatchOptions.meta.k8s.io", "",
                        {{"fieldManager", "Required value: is required for apply patch"}});
  const Json body = Json::parse(call.body);
  if (!body.contains("apiVersion") || !body.contains("kind"))
    throw BadRequest("invalid object type: /, Kind=");
  const Json config = ParseObject(call, target);
  if (!config.at("metadata").value("managedFields", Json::array()).empty())
    throw BadRequest("metadata.managedFields must be nil");
  const Writer writer = WriterOf(call, target, absl::Now());
  const Object live = store_.Find(resource, target.key());
  if (live == nullptr) {
    if (!target.subresource.empty()) throw NotFoundOf(target);
    const std::string uid = config.at("metadata").value("uid", "");
    if (!uid.empty())
      throw Conflict(resource.qualified(), target.name,
                     absl::StrCat("uid mismatch: the provided object specified uid ", uid,
                                  ", and no existing object was found"));
    return Insert(target, config, true, writer);
  }
  CheckPatched(target, live->object, config.at("metadata"));
  std::optional<Json> next =
      Apply(live->object, ConfigOf(target, config), writer, call.parameter("force") == "true");
  if (!next) return {200, FullText(resource, *live)};
  Tidy(*next);
  return Commit({target, writer, live, *std::move(next)});
}

Reply Registry::Scale(const Call& call, const Target& target) {
  const Object live = Existing(target);
  const Json scale = call.method == "PUT" ? Json::parse(call.body)
                                          : Patched(*target.resource, call, ScaleOf(live->object));
  CheckPreconditions(target, live->object, scale.at("metadata"));
  const Json replicas = scale.value(Json::json_pointer("/spec/replicas"), Json(0));
  if (!replicas.is_number_integer() || replicas < 0)
    throw Unprocessable(target.resource->kind, target.name,
                        {{"spec.targetNodes", absl::StrCat("Invalid value: ", replicas.dump(),
                                                           ": should be a non-negative integer")}});
  Json next = live->object;
  next["spec"]["targetNodes"] = replicas;
  Target whole = target;
  whole.subresource.clear();
  Reply reply = Update({whole, WriterOf(call, target, absl::Now()), live, std::move(next)});
  if (const Object now = store_.Find(*target.resource, target.key()))
    reply.body = ScaleOf(now->object).dump();
  return reply;
}

Reply Registry::Update(Edit edit) {
  const Json& live = edit.live->object;
  edit.next = Isolate(edit.target, live, std::move(edit.next));
  if (edit.next == live) return {200, FullText(*edit.target.resource, *edit.live)};
  edit.next["metadata"]["managedFields"] = OwnershipAfter(live, edit.next, edit.writer);
  return Commit(std::move(edit));
}

Reply Registry::Commit(Edit edit) {
  const Resource& resource = *edit.target.resource;
  const Json& live = edit.live->object;
  Validate(resource, edit.target.name, live, edit.next);
  Json& metadata = edit.next["metadata"];
  if (resource.custom && IsSpecChanged(live, edit.next))
    metadata["generation"] = metadata.value("generation", 0) + 1;
  const bool waits_only_for_finalizers = metadata.contains("deletionTimestamp") &&
                                         metadata.value("deletionGracePeriodSeconds", 0) == 0;
  if (waits_only_for_finalizers && !metadata.contains("finalizers") &&
      std::string(resource.kind) != "Namespace") {
    store_.Erase(resource, edit.target.key());
    return {200, DocumentOf(resource, edit.next).dump()};
  }
  return {200, FullText(resource, *store_.Put(resource, edit.target.key(), std::move(edit.next)))};
}

}  // namespace muster::testing
