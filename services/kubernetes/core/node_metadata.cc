#include "services/kubernetes/core/node_metadata.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/text.h"

namespace muster::kubernetes {
namespace {

namespace v1 = lifecycle::v1;

// True when the object has just these pairs, and they are ours.
bool IsOwned(const StringMap& wanted, const StringMap& there, const std::set<std::string>& own) {
  if (own.size() != wanted.size()) return false;
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& pair) {
    const auto found = there.find(pair.first);
    return own.contains(pair.first) && found != there.end() && found->second == pair.second;
  });
}

Json ToJson(const StringMap& map) {
  Json object = Json::object();
  for (const auto& [key, value] : map) object[key] = value;
  return object;
}

// Those of them that are ours.
StringMap OwnOf(const StringMap& there, const std::set<std::string>& own) {
  StringMap found;
  for (const auto& [key, value] : there) {
    if (own.contains(key)) found[key] = value;
  }
  return found;
}

Json Frame(const NodeObject& object) {
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata", {{"name", object.name}, {"uid", object.uid}}}};
}

bool IsCordonDone(const v1::NodeDesired& desired, const NodeObject& object) {
  return object.owns_unschedulable == desired.cordoned() &&
         (!desired.cordoned() || object.unschedulable);
}

// All that is ours by server-side apply: what an apply leaves out goes.
Json OwnFields(const NodeObject& object, const StringMap& labels, const StringMap& annotations,
               bool cordoned) {
  Json patch = Frame(object);
  patch["metadata"]["labels"] = ToJson(labels);
  patch["metadata"]["annotations"] = ToJson(annotations);
  if (cordoned) patch["spec"] = {{"unschedulable", true}};
  return patch;
}

std::string TaintId(absl::string_view key, absl::string_view effect) {
  return absl::StrCat(key, ":", effect);
}

Json ToJson(const v1::Taint& taint) {
  Json object = {{"key", taint.key()}, {"effect", taint.effect()}};
  if (!taint.value().empty()) object["value"] = taint.value();
  return object;
}

struct MergedTaints {
  Json list = Json::array();
  bool changed = false;
};

// The object's taints with those that are wanted; of the others, all but `ours` stay as they are.
MergedTaints MergeTaints(const v1::Node& node, const NodeObject& object,
                         const std::set<std::string>& ours) {
  MergedTaints merged;
  std::set<std::string> done;
  for (const TaintObject& taint : object.taints) {
    const std::string id = TaintId(taint.key, taint.effect);
    const auto& all = node.desired().taints();
    const auto own = std::find_if(all.begin(), all.end(), [&](const v1::Taint& it) {
      return TaintId(it.key(), it.effect()) == id;
    });
    if (own != all.end() && own->value() == taint.value) {
      merged.list.push_back(taint.json);
    } else if (own != all.end()) {
      merged.list.push_back(ToJson(*own));
      merged.changed = true;
    } else if (!ours.contains(id)) {
      merged.list.push_back(taint.json);
    } else {
      merged.changed = true;
    }
    done.insert(id);
  }
  for (const v1::Taint& taint : node.desired().taints()) {
    if (done.contains(TaintId(taint.key(), taint.effect()))) continue;
    merged.list.push_back(ToJson(taint));
    merged.changed = true;
  }
  return merged;
}

}  // namespace

std::string LifeMark(const v1::Node& node) { return MicroTime(TimeOf(node.create_time())); }

std::optional<Json> MetadataPatch(const v1::Node& node, const NodeObject& object) {
  const v1::NodeDesired& desired = node.desired();
  const StringMap labels(desired.labels().begin(), desired.labels().end());
  StringMap annotations(desired.annotations().begin(), desired.annotations().end());
  annotations[kLifeAnnotation] = LifeMark(node);
  if (IsOwned(labels, object.labels, object.own_labels) &&
      IsOwned(annotations, object.annotations, object.own_annotations) &&
      IsCordonDone(desired, object)) {
    return std::nullopt;
  }
  return OwnFields(object, labels, annotations, desired.cordoned());
}

std::optional<Json> CordonPatch(const v1::Node& node, const NodeObject& object) {
  if (IsCordonDone(node.desired(), object)) return std::nullopt;
  return OwnFields(object, OwnOf(object.labels, object.own_labels),
                   OwnOf(object.annotations, object.own_annotations), node.desired().cordoned());
}

std::optional<Json> TaintsPatch(const v1::Node& node, const NodeObject& object) {
  const auto mark = object.annotations.find(kTaintsAnnotation);
  const std::string listed = mark == object.annotations.end() ? "" : mark->second;
  const std::set<std::string> ours = absl::StrSplit(listed, ',', absl::SkipEmpty());
  std::set<std::string> wanted;
  for (const v1::Taint& taint : node.desired().taints())
    wanted.insert(TaintId(taint.key(), taint.effect()));

  MergedTaints merged = MergeTaints(node, object, ours);
  if (ours == wanted && !merged.changed) return std::nullopt;
  return Json{{"metadata",
               {{"uid", object.uid},
                {"resourceVersion", object.resource_version},
                {"annotations", {{kTaintsAnnotation, absl::StrJoin(wanted, ",")}}}}},
              {"spec", {{"taints", std::move(merged.list)}}}};
}

std::optional<Json> ConditionsPatch(const v1::Node& node, const NodeObject& object) {
  Json conditions = Json::array();
  bool changed = false;
  for (const v1::Condition& condition : node.conditions()) {
    Json wanted = {{"type", condition.type()},
                   {"status", condition.status()},
                   {"reason", condition.reason()},
                   {"message", condition.message()}};
    const std::string time = KubernetesTime(condition.last_transition_time());
    if (!time.empty()) wanted["lastTransitionTime"] = time;
    const auto there =
        std::find_if(object.conditions.begin(), object.conditions.end(),
                     [&](const Json& it) { return it.value("type", "") == condition.type(); });
    // The server adds fields of its own, e.g. an empty lastHeartbeatTime.
    const bool same =
        there != object.conditions.end() &&
        std::all_of(wanted.items().begin(), wanted.items().end(), [&](const auto& it) {
          const auto field = there->find(it.key());
          const bool empty = it.value() == "" && field == there->end();
          return empty || (field != there->end() && *field == it.value());
        });
    changed |= !same;
    conditions.push_back(std::move(wanted));
  }
  if (!changed) return std::nullopt;
  Json patch = Frame(object);
  patch["status"] = {{"conditions", std::move(conditions)}};
  return patch;
}

}  // namespace muster::kubernetes
