#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/musterctl/top/trouble.h"
#include "services/page/core/source.h"

namespace muster::musterctl::top {

// What lifecycle explained of a pool.
struct Verdict {
  std::string actor = {};    // who must act
  std::string message = {};  // what is in the way, for people
};

// The replica of lifecycle that reconciles.
struct Reconciler {
  std::string cell = {};  // whose; empty: there is one server
  std::string holder = {};
  int64_t epoch = 0;
  absl::Time since = absl::InfinitePast();  // when it took over; InfinitePast: not told
};

// How the watches of a cell are.
struct CellWatches {
  std::string cell = {};  // by its context's name; empty: there is one server
  std::vector<page::WatchHealth> watches = {};

  bool are_live() const {
    return std::all_of(watches.begin(), watches.end(),
                       [](const page::WatchHealth& watch) { return watch.live; });
  }
};

// What the page needs beside the fleet.
struct View {
  size_t width = 120;
  size_t height = 0;  // 0: no end
  absl::Time now = {};
  std::string server = {};
  std::vector<CellWatches> cells = {};
  std::vector<Reconciler> reconcilers = {};
  Filter filter = {};
  size_t first_trouble = 0;                      // how far the pools are scrolled
  std::map<std::string, Verdict> verdicts = {};  // by the pool's resource name
};

}  // namespace muster::musterctl::top
