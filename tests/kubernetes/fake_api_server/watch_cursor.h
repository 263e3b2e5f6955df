#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/random/bit_gen_ref.h"
#include "tests/kubernetes/fake_api_server/misbehaviour.h"
#include "tests/kubernetes/fake_api_server/selectors.h"
#include "tests/kubernetes/fake_api_server/store.h"

namespace muster::testing {

// Where one watch stands in the history of its resource. Not thread-safe.
class WatchCursor {
 public:
  // Begins after the version `position`; 0: with every object that is there, as ADDED.
  WatchCursor(const Resource& resource, Selection selection, std::string space, int64_t position);

  // Appends the events since the last call, a line each. False: the watch has ended, and its last
  // line says why (410).
  bool Take(const Store& store, const Misbehaviour& misbehaviour, absl::BitGenRef random,
            std::string& lines);
  // A line that tells how far the watch has come.
  std::string Bookmark() const;

  int64_t position() const { return position_; }

 private:
  struct Line {
    std::string key = {};
    std::string text = {};
    bool is_deletion = false;
  };
  void AddAll(const Store& store, std::vector<Line>& lines);
  void AddChange(const Change& change, std::vector<Line>& lines);
  // Keeps the event, so that it may be sent again; a deletion drops the object's earlier ones.
  void Remember(const Line& line);

  const Resource& resource_;
  const Selection selection_;
  const std::string space_;
  int64_t position_;
  std::deque<Line> recent_;
};

}  // namespace muster::testing
