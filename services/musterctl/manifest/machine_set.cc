#include "services/musterctl/manifest/machine_set.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "services/common/fnv.h"

namespace muster::musterctl {
namespace {

// FNV-1a with a final mix: the ids must never change, so the hash is ours.
uint64_t Hash(absl::string_view text) {
  uint64_t hash = Fnv1a(text);
  hash ^= hash >> 31;
  hash *= 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

// Numbers of racks that are tried for a set of which it is not known. With more, any id would fit
// some place.
constexpr int64_t kRacksThoughtOf = 10'000;

}  // namespace

std::string MachineId(absl::string_view prefix, int64_t index, int attempt) {
  return absl::StrFormat("g%06x", Hash(absl::StrCat(prefix, "/", index, "/", attempt)) & 0xffffffu);
}

bool IsNameOf(absl::string_view name, absl::string_view prefix, int64_t index) {
  const absl::string_view id = absl::StripPrefix(name, "machines/");
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (MachineId(prefix, index, attempt) == id) return true;
  }
  return false;
}

std::optional<SetRack> ParseRack(absl::string_view rack) {
  const size_t mark = rack.rfind("-r");
  if (mark == absl::string_view::npos) return std::nullopt;
  const absl::string_view digits = rack.substr(mark + 2);
  SetRack parsed{.prefix = rack.substr(0, mark)};
  if (digits.size() < 3 || !absl::c_all_of(digits, absl::ascii_isdigit) ||
      !absl::SimpleAtoi(digits, &parsed.number)) {
    return std::nullopt;
  }
  return parsed;
}

bool IsOfItsRack(const capacity::v1::Machine& machine) {
  const std::optional<SetRack> rack = ParseRack(machine.rack());
  if (!rack || rack->number >= kMaxMachinesASet) return false;
  const auto is_at = [&](int64_t index) { return IsNameOf(machine.name(), rack->prefix, index); };
  if (machine.slot() < kMachinesARack && is_at(rack->number * kMachinesARack + machine.slot()))
    return true;
  if (machine.slot() == 0) return is_at(rack->number);
  for (int64_t racks = rack->number + 1; racks <= kRacksThoughtOf; ++racks) {
    if (is_at(machine.slot() * racks + rack->number)) return true;
  }
  return false;
}

std::vector<capacity::v1::Machine> Expand(const MachineSetSpec& spec,
                                          absl::flat_hash_set<std::string>& used) {
  std::vector<capacity::v1::Machine> machines;
  machines.reserve(static_cast<size_t>(spec.count));
  for (int64_t index = 0; index < spec.count; ++index) {
    int attempt = 0;
    std::string id = MachineId(spec.prefix, index, attempt);
    while (!used.insert(id).second) id = MachineId(spec.prefix, index, ++attempt);
    const int64_t rack = spec.racks > 0 ? index % spec.racks : index / kMachinesARack;
    const int64_t slot = spec.racks > 0 ? index / spec.racks : index % kMachinesARack;
    capacity::v1::Machine machine;
    machine.set_name(absl::StrCat("machines/", id));
    machine.set_zone(spec.zone);
    machine.set_instance_type(spec.instance_type);
    machine.set_fabric(spec.fabric);
    machine.set_rack(absl::StrFormat("%s-r%03d", spec.prefix, rack));
    machine.set_slot(static_cast<int32_t>(slot));
    machines.push_back(std::move(machine));
  }
  return machines;
}

}  // namespace muster::musterctl
