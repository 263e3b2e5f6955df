#include "services/capacity/core/validate.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "services/capacity/core/limits.h"
#include "services/capacity/core/names.h"
#include "services/common/cut.h"
#include "services/common/generation.h"
#include "services/common/label_limits.h"
#include "services/common/resource_name.h"

namespace muster::capacity {
namespace {

// Models are names for people, such as "RTX Pro 6000".
bool IsModelName(absl::string_view model) {
  return !model.empty() && absl::StripAsciiWhitespace(model) == model &&
         IsPlaceName(absl::StrReplaceAll(model, {{" ", "-"}}));
}

// Collects faults below one path.
class Check {
 public:
  Check(absl::string_view path, Faults& faults) : path_(path), faults_(faults) {}

  void That(bool holds, absl::string_view field, absl::string_view rule) {
    if (!holds) faults_.Add(muster::error::Below(path_, field), rule);
  }
  void Range(int64_t value, int64_t low, int64_t high, absl::string_view field) {
    That(value >= low && value <= high, field, absl::StrCat("must be ", low, " to ", high, "."));
  }
  void Zone(absl::string_view id, absl::string_view field) {
    That(IsZoneId(id), field, "must be a zone id such as US-EAST-04A.");
  }
  void InstanceType(absl::string_view id, absl::string_view field) {
    That(IsInstanceTypeId(id), field,
         "must be an instance type id: 1 to 63 letters, digits, '-', '_', '.'.");
  }

 private:
  const std::string path_;
  Faults& faults_;
};

using muster::error::At;

constexpr absl::string_view kLabelKeyShape = "must be a label key as Kubernetes has it.";

void ValidateExpression(const AffinityExpression& expression, absl::string_view path,
                        Faults& faults) {
  Check check(path, faults);
  check.That(IsLabelKey(expression.key), "key", kLabelKeyShape);
  const size_t values = expression.values.size();
  switch (expression.op) {
    case AffinityOperator::kIn:
    case AffinityOperator::kNotIn:
      check.That(values >= 1 && values <= kMaxAffinityValues, "values",
                 absl::StrCat("must be 1 to ", kMaxAffinityValues,
                              " with OPERATOR_IN and OPERATOR_NOT_IN."));
      break;
    case AffinityOperator::kExists:
    case AffinityOperator::kDoesNotExist:
      check.That(values == 0, "values",
                 "must be empty with OPERATOR_EXISTS and OPERATOR_DOES_NOT_EXIST.");
      break;
  }
  for (size_t i = 0; i < values && i < kMaxAffinityValues; ++i) {
    check.That(IsLabelValue(expression.values[i]), At("values", i),
               "must be a label value as Kubernetes has it.");
  }
}

size_t BytesOf(const Affinity& affinity) {
  size_t bytes = 0;
  for (const AffinityTerm& term : affinity.terms()) {
    for (const AffinityExpression& expression : term.expressions) {
      bytes += expression.key.size();
      for (const std::string& value : expression.values) bytes += value.size();
    }
  }
  return bytes;
}

void ValidateAffinity(const Affinity& affinity, absl::string_view path, Faults& faults) {
  Check check(path, faults);
  check.That(affinity.terms().size() <= kMaxAffinityTerms, "terms",
             absl::StrCat("must be at most ", kMaxAffinityTerms, "."));
  check.That(
      BytesOf(affinity) <= kMaxAffinityBytes, "terms",
      absl::StrCat("must have at most ", kMaxAffinityBytes, " bytes of keys and values in all."));
  for (size_t i = 0; i < affinity.terms().size() && i < kMaxAffinityTerms; ++i) {
    const std::vector<AffinityExpression>& expressions = affinity.terms()[i].expressions;
    const std::string term = absl::StrCat(path, ".", At("terms", i));
    Check(term, faults)
        .That(!expressions.empty() && expressions.size() <= kMaxAffinityExpressions, "expressions",
              absl::StrCat("must be 1 to ", kMaxAffinityExpressions, "."));
    for (size_t j = 0; j < expressions.size() && j < kMaxAffinityExpressions; ++j) {
      ValidateExpression(expressions[j], absl::StrCat(term, ".", At("expressions", j)), faults);
    }
  }
}

}  // namespace

void Validate(const ZoneRow& zone, absl::string_view path, Faults& faults) {
  Check check(path, faults);
  check.That(zone.instance_types.size() <= kMaxZoneTypes, "instance_types",
             absl::StrCat("must be at most ", kMaxZoneTypes, "."));
  for (size_t i = 0; i < zone.instance_types.size() && i < kMaxZoneTypes; ++i) {
    check.InstanceType(zone.instance_types[i], At("instance_types", i));
  }
}

void Validate(const InstanceTypeRow& type, absl::string_view path, Faults& faults) {
  Check check(path, faults);
  check.That(IsLabelWord(type.id), "name",
             "must have an id that begins and ends with a letter or digit.");
  check.Range(type.gpus, 0, kMaxGpus, "gpus");
  check.That(type.gpus > 0 ? IsModelName(type.gpu_model) : type.gpu_model.empty(), "gpu_model",
             "must be 1 to 63 letters, digits, '-', '_', '.' and spaces inside for a type with "
             "GPUs, and empty for one without.");
  check.Range(type.vcpus, 1, kMaxVcpus, "vcpus");
  check.Range(type.memory_kib, 1, kMaxKib, "memory_kib");
  check.Range(type.ephemeral_storage_kib, 0, kMaxKib, "ephemeral_storage_kib");
  check.That(type.architecture == "amd64" || type.architecture == "arm64", "architecture",
             "must be amd64 or arm64.");
  check.Range(type.max_pods, 1, kMaxPods, "max_pods");
  check.Range(type.nodes_per_rack, 0, kMaxNodesPerRack, "nodes_per_rack");
}

void Validate(const MachineRow& machine, absl::string_view path, Faults& faults) {
  Check check(path, faults);
  check.Zone(machine.zone, "zone");
  check.InstanceType(machine.instance_type, "instance_type");
  constexpr absl::string_view kPlace = "must be empty or 1 to 63 letters, digits, '-', '_', '.'.";
  check.That(machine.fabric.empty() || IsPlaceName(machine.fabric), "fabric", kPlace);
  check.That(machine.rack.empty() || IsPlaceName(machine.rack), "rack", kPlace);
  check.Range(machine.slot, 0, kMaxSlot, "slot");
  check.That(machine.labels.size() <= kMaxLabels, "labels",
             absl::StrCat("must be at most ", kMaxLabels, "."));
  for (const auto& [key, value] : machine.labels) {
    const std::string field = absl::StrCat("labels[", Cut(key, kMaxLabelKeyBytes), "]");
    check.That(IsLabelKey(key), field, kLabelKeyShape);
    check.That(IsLabelValue(value), field, "must have a label value as Kubernetes has it.");
  }
}

void Validate(const SetMachineState& command, Faults& faults) {
  const bool allowed = command.state == MachineState::kFree ||
                       command.state == MachineState::kInRepair ||
                       command.state == MachineState::kRetired;
  Check("", faults).That(allowed, "state", "must be STATE_FREE, STATE_IN_REPAIR or STATE_RETIRED.");
}

void Validate(const SyncClaim& claim, absl::string_view path, Faults& faults) {
  Check check(path, faults);
  check.That(IsPoolUid(claim.pool_uid), "pool_uid",
             "must be 1 to 64 of lower-case letters, digits and '-'.");
  check.That(IsGeneration(claim.generation), "generation", kGenerationShape);
  check.That(IsDnsLabel(claim.organization), "organization",
             "must be an organization's id: a DNS label.");
  check.Zone(claim.zone, "zone");
  check.InstanceType(claim.instance_type, "instance_type");
  check.Range(claim.nodes, 0, kMaxNodes, "nodes");
  check.That(!claim.release || claim.nodes == 0, "nodes", "must be 0 with release.");
  check.Range(claim.wanted_nodes, 0, kMaxNodes, "wanted_nodes");
  check.That(!claim.release || claim.wanted_nodes == 0, "wanted_nodes", "must be 0 with release.");
  check.Range(claim.leaving_nodes, 0, kMaxNodes, "leaving_nodes");
  check.That(!claim.release || claim.leaving_nodes == 0, "leaving_nodes",
             "must be 0 with release.");
  // Postgres' text cannot hold a zero byte; nor does a name want other control characters.
  check.That(
      claim.pool.size() <= kMaxPoolBytes &&
          std::none_of(claim.pool.begin(), claim.pool.end(),
                       [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); }),
      "pool",
      absl::StrCat("must be at most ", kMaxPoolBytes, " bytes without control characters."));
  check.That(claim.known_machines.size() <= kMaxPrintBytes, "known_machines",
             absl::StrCat("must be at most ", kMaxPrintBytes, " bytes."));
  check.That(claim.returns.size() <= kMaxReturns, "returns",
             absl::StrCat("must be at most ", kMaxReturns, "."));
  ValidateAffinity(claim.affinity, absl::StrCat(path, ".affinity"), faults);
  std::set<absl::string_view> ids;
  for (size_t i = 0; i < claim.returns.size() && i < kMaxReturns; ++i) {
    const std::string& id = claim.returns[i].machine;
    const std::string field = absl::StrCat(At("returns", i), ".machine");
    check.That(IsMachineId(id), field, "must be a machine's id: a DNS label.");
    check.That(ids.insert(id).second, field, "must not be given back twice.");
  }
}

void Validate(const PlacementQuery& query, Faults& faults) {
  Check check("", faults);
  const size_t size = query.requests.size();
  check.That(size >= 1 && size <= kMaxPlacementRequests, "requests",
             absl::StrCat("must be 1 to ", kMaxPlacementRequests, "."));
  for (size_t i = 0; i < size && i < kMaxPlacementRequests; ++i) {
    Check request(At("requests", i), faults);
    request.InstanceType(query.requests[i].instance_type, "instance_type");
    request.Range(query.requests[i].nodes, 1, kMaxNodes, "nodes");
  }
  check.That(query.zones.size() <= kMaxPlacementZones, "zones",
             absl::StrCat("must be at most ", kMaxPlacementZones, "."));
  std::set<absl::string_view> zones;
  for (size_t i = 0; i < query.zones.size() && i < kMaxPlacementZones; ++i) {
    check.Zone(query.zones[i], At("zones", i));
    check.That(zones.insert(query.zones[i]).second, At("zones", i),
               "must not stand in the call twice.");
  }
}

}  // namespace muster::capacity
