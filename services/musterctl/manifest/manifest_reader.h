#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "services/musterctl/manifest/fields.h"
#include "services/musterctl/manifest/resources.h"

// For manifest.cc and the readers that have files of their own: what the reader of one kind works
// with.
namespace muster::musterctl {

// What all documents of one text share.
struct Context {
  Scope scope = {};
  absl::flat_hash_set<std::string> machine_ids = {};
  int64_t machines = 0;
};

// What the reader of one kind gets (a resource's metadata and spec), and what it returns beside the
// resource.
struct ManifestReader {
  Fields& metadata;
  Fields& spec;
  const Value* status = nullptr;  // from the output of `get`; null: there is none
  Context& context;
  Problems& problems;
  std::string label = {};
  std::vector<std::string> notes = {};
  bool says_overrides = false;

  // metadata.name; `-` stands in for one that is missing, which is a problem by itself.
  std::string Name() { return metadata.Id("name", Need::kRequired).value_or("-"); }
  // For kinds whose name follows from the spec: accepts metadata.name, which output of `get -o
  // yaml` has.
  void SkipName() { metadata.Skip("name"); }
  std::string Organization() {
    return metadata.Id("organization").value_or(context.scope.organization);
  }
};

// What a NodePool manifest says (the reference's fields, and Muster's own).
Resource ReadNodePool(ManifestReader& in);

}  // namespace muster::musterctl
