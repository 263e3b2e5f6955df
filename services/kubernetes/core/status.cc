#include "services/kubernetes/core/status.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/condition_names.h"
#include "services/common/error.h"
#include "services/common/first_edition.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/ready.h"
#include "services/kubernetes/core/refusal.h"

namespace muster::kubernetes {
namespace {

namespace v1 = lifecycle::v1;

// Top-level fields of the status that are ours.
constexpr std::array kOwnFields = {"currentNodes",
                                   "inProgress",
                                   "queuedNodes",
                                   "nodeProfile",
                                   "pendingNodeConfiguration",
                                   "waitingNodeConfiguration",
                                   "nodeConfigurationRevisions",
                                   "grantableNodes",
                                   "grantableNodesBoundBy",
                                   "observedGeneration"};

constexpr char kNotTaken[] = "Muster has not taken the NodePool.";

// Types of both editions that are ours.
constexpr std::array kOwnConditions = {condition::kValidated,
                                       condition::kCapacity,
                                       condition::kQuota,
                                       condition::kAtTarget,
                                       condition::kNodeReconfigurationRequired,
                                       condition::kNodesRemoved,
                                       condition::kMaxNodesUnreachable,
                                       condition::kAccepted,
                                       "Allocated",
                                       "SufficientCapacity",
                                       "MetadataSynced",
                                       kRemovalsHeld,
                                       "Ready",
                                       "Reconciling",
                                       "Stalled"};

const Json* FindCondition(const Json& status, absl::string_view type) {
  const auto conditions = status.find("conditions");
  if (conditions == status.end() || !conditions->is_array()) return nullptr;
  for (const Json& condition : *conditions) {
    if (TextOf(MemberOf(condition, "type")) == type) return &condition;
  }
  return nullptr;
}

Json Configuration(const v1::NodeConfiguration& configuration, bool revision) {
  Json object = {{"nodeProfile", configuration.node_profile()}, {"summary", Json::array()}};
  for (const std::string& line : configuration.summary()) object["summary"].push_back(line);
  if (configuration.has_created_at())
    object["createdAt"] = KubernetesTime(configuration.created_at());
  if (!revision) return object;
  object["activeNodes"] = configuration.active_nodes();
  if (configuration.disabled()) object["disabled"] = true;
  if (configuration.enable_count() > 0) object["enableCount"] = configuration.enable_count();
  return object;
}

// Our own condition: its transition time stays while its status does.
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
  const bool first_holds = first["status"] == "True";
  const bool second_holds = second["status"] == "True";
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
  return absl::StrCat("The API server refuses the metadata of ", refusal.nodes,
                      refusal.nodes == 1 ? " Node: " : " Nodes: ", refusal.message);
}

// Muster does not see what the API server refuses: a Node without its labels and taints is there,
// and cannot be told to be the pool's.
void AddMetadataRefusal(const StatusFacts& facts, absl::Time now, Json& condition) {
  if (!facts.metadata_refusal || condition["type"] != condition::kAtTarget) return;
  const std::string message = absl::StrCat(TextOf(MemberOf(condition, "message")), " ",
                                           SaysMetadataRefusal(*facts.metadata_refusal));
  condition["message"] = message;
  if (condition["reason"] != reason::kTargetMet) return;
  condition = OwnCondition(facts, {condition::kAtTarget, reason::kInternalError}, "Unknown",
                           message, NumberOf(MemberOf(condition, "observedGeneration")), now);
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
  const auto there = std::find_if(out.begin(), out.end(),
                                  [&](const Json& it) { return it["type"] == object["type"]; });
  if (there == out.end()) {
    out.push_back(std::move(object));
  } else if (first->type != condition.type()) {
    *there = Together(FindCondition(facts.object->status, first->type), *there, std::move(object));
  }
}

// The first edition told of a policy in both of its conditions.
void PutPolicyViolation(Json& out) {
  const auto find = [&](const char* type) {
    return std::find_if(out.begin(), out.end(), [&](const Json& it) { return it["type"] == type; });
  };
  const auto accepted = find(condition::kAccepted);
  const auto allocated = find(kAllocated);
  if (accepted == out.end() || (*accepted)["reason"] != kPolicyViolation) return;
  if (allocated == out.end() || (*allocated)["reason"] != reason::kUnderTarget) return;
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
  const std::string nodes =
      absl::StrCat(" of ", synced.nodes, synced.nodes == 1 ? " Node " : " Nodes ");
  if (facts.pool == nullptr) return say("Unknown", "Unknown", kNotTaken);
  if (synced.pending > 0) {
    const std::string refused =
        facts.metadata_refusal ? absl::StrCat(" ", SaysMetadataRefusal(*facts.metadata_refusal))
                               : "";
    return say("False", "Pending",
               absl::StrCat("Metadata of ", synced.pending, nodes, "is not synced yet.", refused));
  }
  if (synced.unknown > 0) {
    return say("Unknown", "Unknown",
               absl::StrCat("It is not known whether ", synced.unknown, nodes,
                            "are those that are in the cluster."));
  }
  const bool spins_up =
      synced.nodes == 0 && facts.pool->spec().target_nodes() > 0 && !facts.pool->has_delete_time();
  if (spins_up) return say("False", "Pending", "The NodePool has no Node yet.");
  return say("True", "Synced", "Metadata of all Nodes is synced.");
}

// What the first edition has beside what it calls otherwise.
void PutFirstEdition(const StatusFacts& facts, absl::Time now, Json& out) {
  if (facts.edition == Edition::kCurrent) return;
  PutPolicyViolation(out);
  const bool allocated =
      std::any_of(out.begin(), out.end(), [](const Json& it) { return it["type"] == kAllocated; });
  if (!allocated) {
    out.push_back(OwnCondition(facts, {kAllocated, "Unknown"}, "Unknown",
                               facts.pool == nullptr ? kNotTaken : "Nothing is known yet.",
                               facts.object->generation, now));
  }
  out.push_back(MetadataSynced(facts, now));
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
    conditions.push_back(OwnCondition(facts, {kRemovalsHeld, "MoreThanAFew"}, "True", *facts.held,
                                      facts.object->generation, now));
  }
  return conditions;
}

// Ready, and as kstatus has it: Reconciling or Stalled, neither once it is ready.
void PutReady(const StatusFacts& facts, absl::Time now, Json& status) {
  Json conditions = status["conditions"];
  if (facts.edition != Edition::kCurrent) {
    StatusFacts current = facts;
    current.edition = Edition::kCurrent;
    conditions = ConditionsOf(current, now);
  }
  const Summary summary = Summarize(facts, conditions);
  const int64_t generation = SummarizedGeneration(facts, conditions);
  const auto put = [&](const char* type, const std::string& word) {
    status["conditions"].push_back(
        OwnCondition(facts, {type, summary.reason}, word, summary.message, generation, now));
  };
  put("Ready", summary.status);
  if (summary.status != "True") put(summary.stalled ? "Stalled" : "Reconciling", "True");
  status["observedGeneration"] = generation;
}

// Of what `out` says nothing it says what `status` did.
void KeepShown(const Json& status, Json& out) {
  for (const char* field : kOwnFields) {
    if (!out.contains(field) && status.contains(field)) out[field] = status[field];
  }
}

// Muster forgot the pool when the last of it was gone: what was still to be said is said here.
Json StatusOfGone(const StatusFacts& facts, absl::Time now) {
  Json status = facts.object->status;
  Json conditions = Json::array();
  for (const absl::string_view type : kOwnConditions) {
    const Json* condition = FindCondition(status, type);
    if (condition != nullptr && type != condition::kNodesRemoved && type != kRemovalsHeld)
      conditions.push_back(*condition);
  }
  conditions.push_back(OwnCondition(facts, {condition::kNodesRemoved, reason::kComplete}, "True",
                                    "All Nodes have been removed.", facts.object->generation, now));
  Json out = {{"conditions", std::move(conditions)},
              {"currentNodes", 0},
              {"inProgress", 0},
              {"queuedNodes", 0}};
  KeepShown(status, out);
  return out;
}

}  // namespace

bool SaysRefusal(const Json& status, const Refusal& refusal) {
  const std::string types[] = {PlaceOf(refusal).condition.type, condition::kAccepted};
  for (const std::string& type : types) {
    const Json* condition = FindCondition(status, type);
    if (condition != nullptr && TextOf(MemberOf(*condition, "message")) == refusal.message &&
        NumberOf(MemberOf(*condition, "observedGeneration")) == refusal.generation)
      return true;
  }
  return false;
}

std::string KubernetesTime(absl::Time time) {
  return absl::FormatTime("%E4Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

std::string KubernetesTime(const google::protobuf::Timestamp& time) {
  if (time.seconds() == 0 && time.nanos() == 0) return "";
  return KubernetesTime(absl::FromUnixSeconds(time.seconds()));
}

absl::StatusOr<v1::NodePoolSpec> SpecOf(const Json& spec) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  v1::NodePoolSpec out;
  const auto status = google::protobuf::util::JsonStringToMessage(spec.dump(), &out, options);
  if (status.ok()) return out;
  // `(image.kernel): invalid value ...` or `(image) kernel: ...`, if it names the field.
  absl::string_view text(status.message().data(), status.message().size());
  std::string field = "spec";
  const size_t close = text.find(')');
  const size_t colon = text.find(": ", close);
  if (absl::StartsWith(text, "(") && colon != absl::string_view::npos) {
    for (const absl::string_view part :
         {text.substr(1, close - 1), text.substr(close + 1, colon - close - 1)}) {
      const absl::string_view name = absl::StripAsciiWhitespace(part);
      if (!name.empty()) absl::StrAppend(&field, ".", name);
    }
    text.remove_prefix(colon + 2);
  }
  return error::InvalidField(field, text);
}

std::optional<Json> DesiredStatus(const StatusFacts& facts, absl::Time now) {
  if (facts.gone) return StatusOfGone(facts, now);
  if (facts.pool == nullptr && !facts.refusal) return std::nullopt;
  static const v1::NodePoolStatus& none = *new v1::NodePoolStatus();
  const v1::NodePoolStatus& from = facts.pool == nullptr ? none : facts.pool->status();
  Json status = {{"conditions", ConditionsOf(facts, now)}};
  // Without its cluster Muster says nothing of a pool: what there is may well be there still.
  if (facts.pool == nullptr && facts.refusal->kind == Refusal::Kind::kNoCluster)
    KeepShown(facts.object->status, status);
  for (const auto& [field, nodes] :
       {std::pair("currentNodes", from.current_nodes()),
        std::pair("inProgress", from.in_progress()), std::pair("queuedNodes", from.queued_nodes())})
    if (!status.contains(field)) status[field] = nodes;
  if (!from.node_profile().empty()) status["nodeProfile"] = from.node_profile();
  if (from.has_pending_node_configuration())
    status["pendingNodeConfiguration"] = Configuration(from.pending_node_configuration(), false);
  if (from.has_waiting_node_configuration())
    status["waitingNodeConfiguration"] = Configuration(from.waiting_node_configuration(), false);
  for (const v1::NodeConfiguration& revision : from.node_configuration_revisions())
    status["nodeConfigurationRevisions"].push_back(Configuration(revision, true));
  if (from.has_grantable_nodes()) {
    status["grantableNodes"] = from.grantable_nodes();
    status["grantableNodesBoundBy"] = from.grantable_nodes_bound_by();
  }
  if (facts.ready) PutReady(facts, now, status);
  return status;
}

std::optional<std::string> GrantableText(const v1::NodePool& pool) {
  if (!pool.status().has_grantable_nodes()) return std::nullopt;
  return absl::StrCat(pool.status().grantable_nodes());
}

bool StatusMatches(const Json& status, const Json& desired) {
  for (const char* field : kOwnFields) {
    const bool wanted = desired.contains(field);
    if (wanted != status.contains(field)) return false;
    if (wanted && status[field] != desired[field]) return false;
  }
  for (const char* type : kOwnConditions) {
    const Json* is = FindCondition(status, type);
    const Json* should = FindCondition(desired, type);
    if ((is == nullptr) != (should == nullptr)) return false;
    if (is != nullptr && *is != *should) return false;
  }
  return true;
}

}  // namespace muster::kubernetes
