#include "services/fleetsim/registry.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace muster::fleetsim {
namespace {

constexpr uint64_t kIds = 1u << 24;
// Odd, so that multiplying by it permutes the ids.
constexpr uint64_t kStride = 0x9e3779b1u;

}  // namespace

absl::StatusOr<std::vector<MachineLot>> ParseLots(absl::string_view text) {
  std::vector<MachineLot> lots;
  int64_t machines = 0;
  for (absl::string_view part : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    const std::vector<std::string> fields = absl::StrSplit(absl::StripAsciiWhitespace(part), ':');
    MachineLot lot{.rack_size = kRackSize};
    const bool right =
        (fields.size() == 3 || fields.size() == 4) && !fields[0].empty() && !fields[1].empty() &&
        absl::SimpleAtoi(fields[2], &lot.count) && lot.count > 0 && lot.count <= kMaxMachines &&
        (fields.size() == 3 || (absl::SimpleAtoi(fields[3], &lot.rack_size) && lot.rack_size > 0));
    if (!right) {
      return absl::InvalidArgumentError(
          absl::StrCat("machines \"", part,
                       "\": must be ZONE:TYPE:COUNT[:MACHINES A RACK], COUNT 1 to ", kMaxMachines));
    }
    machines += lot.count;
    if (machines > kMaxMachines)
      return absl::InvalidArgumentError(absl::StrCat("more than ", kMaxMachines, " machines"));
    lot.zone = fields[0];
    lot.instance_type = fields[1];
    lots.push_back(std::move(lot));
  }
  return lots;
}

std::vector<capacity::v1::Machine> MakeMachines(const std::vector<MachineLot>& lots,
                                                uint64_t seed) {
  std::vector<capacity::v1::Machine> machines;
  const uint64_t offset = seed * 0x9e3779b97f4a7c15u >> 40;
  for (size_t lot_index = 0; lot_index < lots.size(); ++lot_index) {
    const MachineLot& lot = lots[lot_index];
    for (int64_t i = 0; i < lot.count; ++i) {
      const uint64_t id = (machines.size() * kStride + offset) % kIds;
      capacity::v1::Machine machine;
      machine.set_name(absl::StrFormat("machines/g%06x", id));
      machine.set_zone(lot.zone);
      machine.set_instance_type(lot.instance_type);
      machine.set_rack(absl::StrFormat("sim%d-r%05d", lot_index, i / lot.rack_size));
      machine.set_slot(static_cast<int32_t>(i % lot.rack_size));
      machines.push_back(std::move(machine));
    }
  }
  return machines;
}

}  // namespace muster::fleetsim
