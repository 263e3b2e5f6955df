#include "services/kubernetes/core/status.h"

#include <google/protobuf/util/json_util.h>

#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/condition_names.h"
#include "services/common/error.h"
#include "services/kubernetes/core/conditions.h"
#include "services/kubernetes/core/find_condition.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/ready.h"
#include "services/kubernetes/core/refusal.h"
#include "services/kubernetes/core/text.h"

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

// Types of both editions that are ours.
constexpr std::array kOwnConditions = {condition::kValidated,
                                       condition::kCapacity,
                                       condition::kQuota,
                                       condition::kAtTarget,
                                       condition::kNodeReconfigurationRequired,
                                       condition::kNodesRemoved,
                                       condition::kMaxNodesUnreachable,
                                       condition::kAccepted,
                                       kAllocated,
                                       kSufficientCapacity,
                                       kMetadataSynced,
                                       kRemovalsHeld,
                                       condition::kReady,
                                       condition::kReconciling,
                                       condition::kStalled};

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
  put(condition::kReady, summary.status);
  if (summary.status != condition_status::kTrue)
    put(summary.stalled ? condition::kStalled : condition::kReconciling, condition_status::kTrue);
  status["observedGeneration"] = generation;
}

// Our fields that `out` does not have it takes from `status`.
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
  conditions.push_back(OwnCondition(facts, {condition::kNodesRemoved, reason::kComplete},
                                    condition_status::kTrue, "All Nodes have been removed.",
                                    facts.object->generation, now));
  Json out = {{"conditions", std::move(conditions)},
              {"currentNodes", 0},
              {"inProgress", 0},
              {"queuedNodes", 0}};
  KeepShown(status, out);
  return out;
}

}  // namespace

std::optional<std::string> SaysHeld(const Json& status) {
  const Json* condition = FindCondition(status, kRemovalsHeld);
  if (condition == nullptr) return std::nullopt;
  return TextOf(MemberOf(*condition, "message"));
}

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
  // Where Muster says nothing of a pool, what there is may well be there still.
  if (facts.pool == nullptr && facts.refusal->hides_pool()) KeepShown(facts.object->status, status);
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
