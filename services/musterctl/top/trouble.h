#pragma once

#include <muster/lifecycle/v1/lifecycle.pb.h>

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/musterctl/top/fleet.h"

namespace muster::musterctl::top {

// What is shown of the fleet; empty: all of it.
struct Filter {
  std::string zone = {};
  // Of quotas, claims and pools, and of machines that are taken back from or for one of its pools;
  // other machines have none.
  std::string organization = {};
};

bool Shows(const Filter& filter, const lifecycle::v1::NodePool& pool);

// A pool that is not where it should be.
struct Trouble {
  const lifecycle::v1::NodePool* pool = nullptr;
  std::string condition = {};  // `Quota: Over`
  std::string message = {};
  absl::Time since = absl::InfinitePast();  // InfinitePast: not told
  bool stalls = false;                      // does not pass with time
};

// The pools in trouble: first those whose trouble does not pass with time, then the oldest.
std::vector<Trouble> TroublesOf(const Fleet& fleet, const Filter& filter);

}  // namespace muster::musterctl::top
