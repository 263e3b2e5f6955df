#pragma once

#include <map>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "services/configuration/core/state.h"
#include "services/configuration/core/types.h"
#include "services/configuration/core/wants.h"

namespace muster::configuration {

// What a pool's wants resolve to, with the releases in force.
struct Resolution {
  NodeProfile profile = {};  // read only when there is no problem
  std::string problem = {};  // one sentence for each component that nothing fits; empty: resolved
  bool of_spec = false;      // the problem is about what the spec names, not what it leaves open

  bool operator==(const Resolution&) const = default;
};

// The newest release of each component that fits; an image and a kernel that are named, by that
// name. A problem names what there is instead. Pure; O(log releases).
Resolution Resolve(const State& state, const Wants& wants);

// True when a part of the profile is withdrawn, whether the release is still known or was deleted
// since.
bool IsWithdrawn(const State& state, absl::string_view node_profile);

// The withdrawn profiles among the pool's revisions. O(revisions).
std::set<std::string> WithdrawnOf(const State& state, const PoolConfiguration& pool);

// Resolves the wants of many pools. Equal wants are resolved once, with the releases of that
// moment.
class Resolutions {
 public:
  const Resolution& Of(const State& state, const PoolConfiguration& pool);

 private:
  std::map<Wants, Resolution> resolved_;
};

}  // namespace muster::configuration
