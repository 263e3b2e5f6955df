#include "services/capacity/core/machines_print.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/fnv.h"

namespace muster::capacity {
namespace {

// The end of MurmurHash3. FNV-1a hardly spreads the last bytes, and in sums that would show.
uint64_t Spread(uint64_t hash) {
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccd;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53;
  return hash ^ (hash >> 33);
}

absl::uint128 PrintOf(absl::string_view text) {
  const uint64_t once = Spread(Fnv1a(text));
  return absl::MakeUint128(once, Spread(Fnv1a(text, once)));
}

}  // namespace

// No id, rack or uid has a line's end in it.
MachinesPrint PrintOf(const MachineRow& machine) {
  const std::string& rack = machine.rack;
  return PrintOf(absl::StrCat(machine.id, "\n", rack, "\n",
                              absl::ToUnixNanos(machine.request_time.value_or(machine.state_time)),
                              "\n", absl::ToUnixNanos(machine.state_time)));
}

std::string PrintOf(const ClaimRow& claim, MachinesPrint machines) {
  const absl::uint128 print = PrintOf(absl::StrCat(claim.pool_uid, "\n", claim.generation, "\n",
                                                   absl::Hex(absl::Uint128High64(machines)), "\n",
                                                   absl::Hex(absl::Uint128Low64(machines))));
  return absl::StrCat(absl::Hex(absl::Uint128High64(print), absl::kZeroPad16),
                      absl::Hex(absl::Uint128Low64(print), absl::kZeroPad16));
}

}  // namespace muster::capacity
