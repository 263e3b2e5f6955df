#pragma once

#include <future>
#include <memory>
#include <vector>

#include "services/quota/store/testing/lane_test_base.h"
#include "tests/testing/lane_trap.h"

// For tests of what reads and watches are told: the lane is held up between its steps.
namespace muster::storage {

class QuotaLaneWatchTest : public QuotaLaneTest {
 protected:
  // The next `n` changes; marks between them must not be ahead of what comes after them.
  static std::vector<int64_t> Changes(Watcher& watcher, size_t n) {
    std::vector<int64_t> revisions;
    int64_t mark = 0;
    while (revisions.size() < n) {
      const auto item = NextOf(watcher, revisions);
      if (!item.has_value()) break;
      if (item->type == WatchItem::Type::kSnapshotEnd || item->type == WatchItem::Type::kProgress) {
        mark = item->revision;
      } else if (item->type != WatchItem::Type::kSnapshot) {
        EXPECT_GT(item->revision, mark) << "a mark said that it had been sent";
        revisions.push_back(item->revision);
      }
    }
    return revisions;
  }
  // What a read answers, later.
  static std::future<int64_t> ReadLater(Lane& lane) {
    auto promise = std::make_shared<std::promise<int64_t>>();
    lane.Read([promise](const absl::Status& status, const quota::State* state, int64_t) {
      promise->set_value(status.ok() ? state->Held(QuotaName(kKey)) : -1);
    });
    return promise->get_future();
  }
  LaneOptions Trapped() const {
    LaneOptions options;
    options.yield = trap_.Hook();
    return options;
  }
  testing::LaneTrap trap_;
};

}  // namespace muster::storage
