// How objects end: deletes, graceful ends of Pods, evictions.
#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "tests/kubernetes/fake_api_server/budgets.h"
#include "tests/kubernetes/fake_api_server/documents.h"
#include "tests/kubernetes/fake_api_server/refusal.h"
#include "tests/kubernetes/fake_api_server/registry.h"

namespace muster::testing {
namespace {

std::string UidOf(const Object& object) { return object->object.at("metadata").at("uid"); }

bool IsEnding(const Object& object) {
  return object->object.at("metadata").contains("deletionTimestamp");
}

// DeleteOptions of a request; its body may be empty.
Json OptionsOf(const Call& call) {
  Json options = call.body.empty() ? Json::object() : Json::parse(call.body);
  int64_t grace = 0;
  if (absl::SimpleAtoi(call.parameter("gracePeriodSeconds"), &grace))
    options["gracePeriodSeconds"] = grace;
  return options;
}

// How long a Pod has to end: at once if nobody runs it.
int64_t GraceOf(const Json& pod, const Json& options) {
  const std::string phase = pod.value(Json::json_pointer("/status/phase"), "");
  if (pod.value(Json::json_pointer("/spec/nodeName"), "").empty() || phase == "Succeeded" ||
      phase == "Failed") {
    return 0;
  }
  const Json asked = options.value("gracePeriodSeconds", Json());
  if (asked.is_number_integer()) return std::max<int64_t>(0, asked.get<int64_t>());
  return pod.at("spec").at("terminationGracePeriodSeconds").get<int64_t>();
}

Reply Done() {
  return {200, R"({"apiVersion":"v1","kind":"Status","metadata":{},"status":"Success"})"};
}

}  // namespace

void Registry::Vanish(const Target& target) { store_.Erase(*target.resource, target.key()); }

PodCounts Registry::counts(const std::string& uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? PodCounts() : found->second;
}

Reply Registry::Delete(const Call& call, const Target& target) {
  const Object live = Existing(target);
  const Json options = OptionsOf(call);
  CheckPreconditions(target, live->object, options.value("preconditions", Json::object()));
  if (std::string(target.resource->kind) != "Pod") return Remove(target, live);
  PodCounts& counts = pods_[UidOf(live)];
  ++(IsEnding(live) ? counts.deletes_again : counts.deletes);
  return EndPod(target, live, options);
}

Reply Registry::EndPod(const Target& target, const Object& live, const Json& options) {
  const int64_t grace = GraceOf(live->object, options);
  if (grace == 0) return Remove(target, live);
  Json next = live->object;
  Json& metadata = next["metadata"];
  // A second delete can only shorten the time.
  if (IsEnding(live) && metadata.value("deletionGracePeriodSeconds", int64_t{0}) <= grace)
    return {200, FullText(*target.resource, *live)};
  metadata["deletionTimestamp"] = Now(absl::Now() + absl::Seconds(grace));
  metadata["deletionGracePeriodSeconds"] = grace;
  return {200,
          FullText(*target.resource, *store_.Put(*target.resource, target.key(), std::move(next)))};
}

Reply Registry::Remove(const Target& target, const Object& live) {
  const Resource& resource = *target.resource;
  const bool is_namespace = std::string(resource.kind) == "Namespace";
  Json next = live->object;
  Json& metadata = next["metadata"];
  if (!metadata.contains("finalizers") && !is_namespace) {
    store_.Erase(resource, target.key());
    return Done();
  }
  if (!IsEnding(live) && resource.custom)
    metadata["generation"] = metadata.value("generation", 0) + 1;
  if (!IsEnding(live)) metadata["deletionTimestamp"] = Now(absl::Now());
  metadata["deletionGracePeriodSeconds"] = 0;
  if (is_namespace) next["status"]["phase"] = "Terminating";
  if (next == live->object) return {200, FullText(resource, *live)};
  return {200, FullText(resource, *store_.Put(resource, target.key(), std::move(next)))};
}

Reply Registry::Evict(const Call& call, const Target& target) {
  const Object live = Existing(target);
  const Json eviction = Json::parse(call.body);
  const Json options = eviction.value("deleteOptions", Json::object());
  CheckPreconditions(target, live->object, options.value("preconditions", Json::object()));
  PodCounts& counts = pods_[UidOf(live)];
  if (!IsEnding(live)) {
    const auto objects = [&](const char* plural) {
      return store_.All(ResourceOf(plural), target.space, store_.version());
    };
    try {
      CheckBudgets(live->object, objects("poddisruptionbudgets"), [&] { return objects("pods"); });
    } catch (const Refusal&) {
      ++counts.evictions_refused;
      throw;
    }
  }
  ++(IsEnding(live) ? counts.evictions_again : counts.evictions);
  EndPod(target, live, options);
  return {201,
          R"({"apiVersion":"v1","code":201,"kind":"Status","metadata":{},"status":"Success"})"};
}

}  // namespace muster::testing
