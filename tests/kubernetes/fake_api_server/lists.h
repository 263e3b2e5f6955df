#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/kubernetes/fake_api_server/resources.h"
#include "tests/kubernetes/fake_api_server/store.h"

namespace muster::testing {

struct ListPage {
  std::vector<Object> objects = {};
  int64_t version = 0;
  std::string next = {};  // token of the next page; empty: this is the last
  size_t remaining = 0;
};
std::string Render(const Resource& resource, const ListPage& page);

// Serves lists in pages, all of them from the moment of the first. Not thread-safe.
class Lists {
 public:
  // One page. `stale`: a new list shows the state of so many changes ago. Throws Refusal (410) for
  // a continue token that is no longer known.
  ListPage Take(const Store& store, const Call& call, const Target& target, int64_t stale);
  void Forget() { snapshots_.clear(); }

 private:
  struct Snapshot {
    std::vector<Object> objects = {};
    int64_t version = 0;
  };
  std::map<int64_t, std::shared_ptr<const Snapshot>> snapshots_;
  int64_t next_id_ = 1;
};

}  // namespace muster::testing
