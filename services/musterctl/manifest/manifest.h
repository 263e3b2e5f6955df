#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/musterctl/manifest/resources.h"

// From YAML to typed resources, pure. Everything that can be known without the server is checked
// here: kinds, unknown and missing fields, types, ranges of the fields' types. What a value may be
// beyond that is for the server to say.
namespace muster::musterctl {

struct Manifest {
  Resource resource = {};
  std::string label = {};               // e.g. `nodepool/example-nodepool`
  std::string place = {};               // e.g. `pool.yaml: document 2, line 14`
  std::vector<std::string> notes = {};  // for the user: what is in the manifest and has no effect
  bool says_overrides = false;          // a Quota's: has `overrides`, be it an empty list
};

// Reads every document of a text. INVALID_ARGUMENT whose message has one line a fault:
// `pool.yaml: document 1, line 7: spec.targetNodes: must be an integer, is the string "x"`.
absl::StatusOr<std::vector<Manifest>> ParseManifests(absl::string_view file, absl::string_view text,
                                                     const Scope& scope);

// INVALID_ARGUMENT: two of the manifests are about the same resource.
absl::Status CheckEachOnce(const std::vector<Manifest>& manifests);

// Sorts by the order of Resource's alternatives, otherwise as they were written.
void SortForSending(std::vector<Manifest>& manifests);

}  // namespace muster::musterctl
