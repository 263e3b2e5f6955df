#pragma once

#include <string>

#include "absl/numeric/int128.h"
#include "services/capacity/core/rows.h"

// Prints of the machines that a claim holds (Claim.machines_print): who has an answer of before
// need not be told the same lists again. Made of what the lists say and of nothing else, so that a
// print is right in every process and after every restore; equal prints of different lists are as
// likely as two equal random numbers of 128 bits.
namespace muster::capacity {

// The sum over some machines, so that it follows every change of one without a look at the others.
using MachinesPrint = absl::uint128;

// All that the lists which a print stands for say of the machine: what they say more some day, this
// must look at, too.
MachinesPrint PrintOf(const MachineRow& machine);

// As callers get it, of a claim whose machines have this sum. 32 hexadecimal digits.
std::string PrintOf(const ClaimRow& claim, MachinesPrint machines);

}  // namespace muster::capacity
