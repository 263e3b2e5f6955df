#include "services/kubernetes/core/conditions.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/condition_names.h"
#include "services/common/count_text.h"
#include "services/kubernetes/core/find_condition.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/ready.h"
#include "services/kubernetes/core/refusal.h"
#include "services/kubernetes/core/text.h"

namespace muster::kubernetes {
namespace {

namespace v1 = lifecycle::v1;

constexpr char kNotTaken[] = "Muster has not taken the NodePool.";

// The generation of the object that a condition of Muster speaks of. Muster counts its own; what it
// said of the spec that it has now is of the object that this came from. What it said before that
// is of an earlier one: of the one that the status names, if it names one.
int64_t ObservedGeneration(const StatusFacts& facts, const v1::Condition& condition) {
  const int64_t taken = facts.pool->object_generation();
  if (condition.observed_generation() >= facts.pool->generation()) return taken;
  const Json* before = FindCondition(facts.object->status, condition.type());
  const auto first =
      FirstEditionOfCondition(condition.type(), condition.reason(), condition.event_reason());
  if (before == nullptr && first) before = FindCondition(facts.object->status, first->type);
  const int64_t named = before == nullptr ? 0 : NumberOf(MemberOf(*before, "observedGeneration"));
  return std::clamp<int64_t>(named, 0, std::max<int64_t>(taken - 1, 0));
}

// When the object's condition last changed its status. Muster knows nothing of what was said here
// in its place (a refusal): time does not go back over that.
std::string TransitionTime(const StatusFacts& facts, const v1::Condition& condition,
                           absl::string_view type, absl::Time now) {
  const std::string told = KubernetesTime(condition.last_transition_time());
  const Json* before = FindCondition(facts.object->status, type);
  const std::string shown =
      before == nullptr ? "" : TextOf(MemberOf(*before, "lastTransitionTime"));
  if (shown <= told) return told;
  return TextOf(MemberOf(*before, "status")) == condition.status() ? shown : KubernetesTime(now);
}

// Of two conditions of today that one of the first edition's is made of, in their order: True while
// both are, else what the first of them says that is not. `shown`: as the object has it, or null;
// its time stays while its status does, whichever part that is of.
Json Together(const Json* shown, const Json& first, Json second) {
  const bool first_holds = first["status"] == condition_status::kTrue;
  const bool second_holds = second["status"] == condition_status::kTrue;
  Json both = first_holds && !second_holds ? second : first;
  const std::string times[] = {TextOf(MemberOf(first, "lastTransitionTime")),
                               TextOf(MemberOf(second, "lastTransitionTime"))};
  if (first_holds && second_holds) both["lastTransitionTime"] = std::max(times[0], times[1]);
  if (shown == nullptr && !first_holds && !second_holds)
    both["lastTransitionTime"] = std::min(times[0], times[1]);
  if (shown != nullptr && MemberOf(*shown, "status") == both["status"]) {
    const std::string& since = TextOf(MemberOf(*shown, "lastTransitionTime"));
    if (!since.empty()) both["lastTransitionTime"] = since;
  }
  return both;
}

std::string SaysMetadataRefusal(const MetadataRefusal& refusal) {
  return absl::StrCat("The API server refuses the metadata of ", CountText(refusal.nodes, "Node"),
                      ": ", refusal.message);
}

// Muster does not see what the API server refuses: a Node without its labels and taints is there,
// and cannot be told to be the pool's.
void AddMetadataRefusal(const StatusFacts& facts, absl::Time now, Json& condition) {
  if (!facts.metadata_refusal || condition["type"] != condition::kAtTarget) return;
  const std::string message = absl::StrCat(TextOf(MemberOf(condition, "message")), " ",
                                           SaysMetadataRefusal(*facts.metadata_refusal));
  condition["message"] = message;
  if (condition["reason"] != reason::kTargetMet) return;
  condition = OwnCondition(facts, {condition::kAtTarget, reason::kInternalError},
                           condition_status::kUnknown, message,
                           NumberOf(MemberOf(condition, "observedGeneration")), now);
}

void PutCondition(const StatusFacts& facts, const v1::Condition& condition, absl::Time now,
                  Json& out) {
  Json object = {{"type", condition.type()},
                 {"status", condition.status()},
                 {"reason", condition.reason()},
                 {"message", condition.message()},
                 {"observedGeneration", ObservedGeneration(facts, condition)},
                 {"lastTransitionTime", TransitionTime(facts, condition, condition.type(), now)}};
  if (facts.edition != Edition::kFirst) {
    out.push_back(object);
    AddMetadataRefusal(facts, now, out.back());
  }
  if (facts.edition == Edition::kCurrent) return;
  const auto first =
      FirstEditionOfCondition(condition.type(), condition.reason(), condition.event_reason());
  if (!first) return;
  object["type"] = first->type;
  object["reason"] = first->reason;
  object["lastTransitionTime"] = TransitionTime(facts, condition, first->type, now);
  Json* there = FindIn(out, first->type);
  if (there == nullptr) {
    out.push_back(std::move(object));
  } else if (first->type != condition.type()) {
    *there = Together(FindCondition(facts.object->status, first->type), *there, std::move(object));
  }
}

// The first edition told of a policy in both of its conditions.
void PutPolicyViolation(Json& out) {
  const Json* accepted = FindIn(out, condition::kAccepted);
  Json* allocated = FindIn(out, kAllocated);
  if (accepted == nullptr || (*accepted)["reason"] != kPolicyViolation) return;
  if (allocated == nullptr || (*allocated)["reason"] != reason::kUnderTarget) return;
  (*allocated)["reason"] = kPolicyViolation;
  (*allocated)["message"] = absl::StrCat(TextOf(MemberOf(*allocated, "message")), " ",
                                         TextOf(MemberOf(*accepted, "message")));
}

void PutRefusal(const StatusFacts& facts, absl::Time now, Json& out) {
  const RefusalPlace place = PlaceOf(*facts.refusal);
  const auto put = [&](const FirstEditionCondition& as) {
    out.push_back(OwnCondition(facts, as, place.status, facts.refusal->message,
                               facts.refusal->generation, now));
  };
  const FirstEditionCondition& name = place.condition;
  if (facts.edition != Edition::kFirst) put(name);
  if (facts.edition == Edition::kCurrent) return;
  if (const auto first = FirstEditionOfCondition(name.type, name.reason)) put(*first);
}

Json MetadataSynced(const StatusFacts& facts, absl::Time now) {
  const Synced& synced = facts.synced;
  const auto say = [&](const char* status, const char* reason, const std::string& message) {
    return OwnCondition(facts, {kMetadataSynced, reason}, status, message, facts.object->generation,
                        now);
  };
  const std::string nodes = absl::StrCat(" of ", CountText(synced.nodes, "Node"), " ");
  if (facts.pool == nullptr) return say(condition_status::kUnknown, reason::kUnknown, kNotTaken);
  if (synced.pending > 0) {
    const std::string refused =
        facts.metadata_refusal ? absl::StrCat(" ", SaysMetadataRefusal(*facts.metadata_refusal))
                               : "";
    return say(condition_status::kFalse, reason::kPending,
               absl::StrCat("Metadata of ", synced.pending, nodes, "is not synced yet.", refused));
  }
  if (synced.unknown > 0) {
    return say(condition_status::kUnknown, reason::kUnknown,
               absl::StrCat("It is not known whether ", synced.unknown, nodes,
                            "are those that are in the cluster."));
  }
  const bool spins_up =
      synced.nodes == 0 && facts.pool->spec().target_nodes() > 0 && !facts.pool->has_delete_time();
  if (spins_up)
    return say(condition_status::kFalse, reason::kPending, "The NodePool has no Node yet.");
  return say(condition_status::kTrue, reason::kSynced, "Metadata of all Nodes is synced.");
}

// What the first edition has beside what it calls otherwise.
void PutFirstEdition(const StatusFacts& facts, absl::Time now, Json& out) {
  if (facts.edition == Edition::kCurrent) return;
  PutPolicyViolation(out);
  const bool allocated = FindIn(out, kAllocated) != nullptr;
  if (!allocated) {
    out.push_back(OwnCondition(facts, {kAllocated, reason::kUnknown}, condition_status::kUnknown,
                               facts.pool == nullptr ? kNotTaken : "Nothing is known yet.",
                               facts.object->generation, now));
  }
  out.push_back(MetadataSynced(facts, now));
}

}  // namespace

Json OwnCondition(const StatusFacts& facts, const FirstEditionCondition& name,
                  const std::string& status, const std::string& message, int64_t generation,
                  absl::Time now) {
  const Json* before = FindCondition(facts.object->status, name.type);
  const bool same = before != nullptr && TextOf(MemberOf(*before, "status")) == status;
  const std::string time = same ? TextOf(MemberOf(*before, "lastTransitionTime")) : "";
  return {{"type", name.type},
          {"status", status},
          {"reason", name.reason},
          {"message", message},
          {"observedGeneration", generation},
          {"lastTransitionTime", time.empty() ? KubernetesTime(now) : time}};
}

Json ConditionsOf(const StatusFacts& facts, absl::Time now) {
  Json conditions = Json::array();
  if (facts.refusal) PutRefusal(facts, now, conditions);
  static const v1::NodePoolStatus& none = *new v1::NodePoolStatus();
  const v1::NodePoolStatus& said = facts.pool == nullptr ? none : facts.pool->status();
  for (const v1::Condition& condition : said.conditions()) {
    if (facts.refusal && condition.type() == PlaceOf(*facts.refusal).condition.type) continue;
    // What sums up is made here: it knows of the object, too.
    if (IsSummaryCondition(condition.type())) continue;
    PutCondition(facts, condition, now, conditions);
  }
  PutFirstEdition(facts, now, conditions);
  if (facts.held) {
    conditions.push_back(OwnCondition(facts, {kRemovalsHeld, reason::kMoreThanAFew},
                                      condition_status::kTrue, *facts.held,
                                      facts.object->generation, now));
  }
  return conditions;
}

}  // namespace muster::kubernetes
