#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster {

// Takes a resource name apart by a pattern such as `organizations/*/clusters/*`: the parts at the
// stars, or nullopt when the name has another shape or an empty part. What a part may be is for the
// domain to say (`core/names.h` of each).
std::optional<std::vector<std::string>> MatchName(absl::string_view pattern,
                                                  absl::string_view name);

// `POOL/nodes/g1`: `POOL`. Ids may be any of the words between them.
inline absl::string_view ParentOf(absl::string_view name) {
  const absl::string_view collection = name.substr(0, name.rfind('/'));
  return collection.substr(0, collection.rfind('/'));
}
// `POOL/nodes/g1`: `g1`.
inline absl::string_view LastIdOf(absl::string_view name) {
  return name.substr(name.rfind('/') + 1);
}

// A DNS label as Kubernetes has it: 1 to 63 of lower-case letters, digits and `-`, first and last
// no `-`.
bool IsDnsLabel(absl::string_view text);
// A DNS subdomain: labels joined by dots, at most `max_size` bytes in all.
bool IsDnsSubdomain(absl::string_view text, size_t max_size = 253);
// 1 to 63 letters, digits, `-`, `_`, `.`, first and last a letter or digit.
bool IsLabelWord(absl::string_view text);
// A label's value in Kubernetes: such a word, or empty.
bool IsLabelValue(absl::string_view text);
// A key of labels, annotations and taints in Kubernetes: such a word, before which a prefix and `/`
// may stand. The prefix is like a DNS subdomain of at most 253 bytes, but any of its parts may be
// that long.
bool IsLabelKey(absl::string_view text);
// A zone id such as `US-EAST-04A`: upper-case letters, digits and `-`, 2 to 32 bytes, ends with a
// letter.
bool IsZoneId(absl::string_view text);
// The region of a zone: its id without the last letter, and without a `-` before that. Always a
// valid label value.
std::string RegionOf(absl::string_view zone_id);
// An instance type id such as `gd-8xh100ib-i128` or `H100_NVLINK_80GB.8.xeon.128`: 1 to 63 letters,
// digits, `-`, `_`, `.`. New ones must also be label values (IsLabelWord); there may be older ones
// that are not.
bool IsInstanceTypeId(absl::string_view text);
// 1 to `max_digits` digits.
bool IsDigits(absl::string_view text, size_t max_digits);
// A minor version of Kubernetes such as `1.33`: two numbers of at most nine digits.
bool IsMinorVersion(absl::string_view text);
// A pool uid: 1 to 64 of lower-case letters, digits and `-`.
bool IsPoolUid(absl::string_view text);

// Whether `key` is the resource `prefix` or one below it; if `prefix` ends with `/`, only below it.
// Empty `prefix`: always.
bool IsUnder(absl::string_view key, absl::string_view prefix);

}  // namespace muster
