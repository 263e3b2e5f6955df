#include "services/capacity/core/validate.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "services/capacity/core/limits.h"
#include "services/capacity/core/names.h"
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
    if (!holds)
      faults_.push_back({path_.empty() ? std::string(field) : absl::StrCat(path_, ".", field),
                         std::string(rule)});
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

// 1 to 63 letters, digits, `-`, `_`, `.`, first and last a letter or digit: the name of a label
// key, and a label value.
bool IsLabelWord(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxLabelValueBytes &&
         absl::ascii_isalnum(static_cast<unsigned char>(text.front())) &&
         absl::ascii_isalnum(static_cast<unsigned char>(text.back())) && IsInstanceTypeId(text);
}

bool IsLabelKey(absl::string_view key) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(key, absl::MaxSplits('/', 1));
  if (!absl::StrContains(key, '/')) return IsLabelWord(key);
  return key.size() <= kMaxLabelKeyBytes && IsDnsSubdomain(parts.first) &&
         IsLabelWord(parts.second);
}

std::string At(absl::string_view path, size_t index) { return absl::StrCat(path, "[", index, "]"); }

void ValidateMachine(const MachineRow& machine, absl::string_view path, Faults& faults) {
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
    const std::string field = absl::StrCat("labels[", key.substr(0, kMaxLabelKeyBytes), "]");
    check.That(IsLabelKey(key), field, "must be a label key as Kubernetes has it.");
    check.That(value.empty() || IsLabelWord(value), field,
               "must have a label value as Kubernetes has it.");
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

void Validate(const RegisterMachines& command, absl::string_view path, Faults& faults) {
  Check check("", faults);
  const size_t size = command.machines.size();
  check.That(size >= 1 && size <= kMaxBatch, path, absl::StrCat("must be 1 to ", kMaxBatch, "."));
  std::set<absl::string_view> ids;
  for (size_t i = 0; i < size && i < kMaxBatch; ++i) {
    const MachineRow& machine = command.machines[i];
    ValidateMachine(machine, At(path, i), faults);
    // An id that did not parse is empty, and already told of.
    check.That(machine.id.empty() || ids.insert(machine.id).second,
               absl::StrCat(At(path, i), ".name"), "must not stand in the call twice.");
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
  check.That(claim.generation >= 1, "generation", "must be at least 1.");
  check.Zone(claim.zone, "zone");
  check.InstanceType(claim.instance_type, "instance_type");
  check.Range(claim.nodes, 0, kMaxNodes, "nodes");
  check.That(!claim.release || claim.nodes == 0, "nodes", "must be 0 with release.");
  // Postgres' text cannot hold a zero byte; nor does a name want other control characters.
  check.That(
      claim.pool.size() <= kMaxPoolBytes &&
          std::none_of(claim.pool.begin(), claim.pool.end(),
                       [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); }),
      "pool",
      absl::StrCat("must be at most ", kMaxPoolBytes, " bytes without control characters."));
  check.That(claim.returns.size() <= kMaxReturns, "returns",
             absl::StrCat("must be at most ", kMaxReturns, "."));
  std::set<absl::string_view> ids;
  for (size_t i = 0; i < claim.returns.size() && i < kMaxReturns; ++i) {
    const std::string& id = claim.returns[i].machine;
    const std::string field = absl::StrCat(At("returns", i), ".machine");
    check.That(IsMachineId(id), field, "must be a machine's id: a DNS label.");
    check.That(ids.insert(id).second, field, "must not be given back twice.");
  }
}

void Validate(const SyncClaims& command, absl::string_view path, Faults& faults) {
  Check check("", faults);
  const size_t size = command.claims.size();
  check.That(size >= 1 && size <= kMaxBatch, path, absl::StrCat("must be 1 to ", kMaxBatch, "."));
  std::set<absl::string_view> uids;
  for (size_t i = 0; i < size && i < kMaxBatch; ++i) {
    Validate(command.claims[i], At(path, i), faults);
    check.That(uids.insert(command.claims[i].pool_uid).second,
               absl::StrCat(At(path, i), ".pool_uid"), "must not stand in the call twice.");
  }
}

}  // namespace muster::capacity
