#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "services/common/mutex.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/store/lane.h"

namespace muster::lifecycle {

// In which zone each cluster is, for those who may not wait for the state: watches ask while it is being changed. One that is gone is
// known until there is another of its name: what is still told of it is told to those who saw it. Thread-safe.
class ClusterZones {
 public:
  // Before the lane's first Submit.
  static std::shared_ptr<const ClusterZones> Of(Lane* lane) {
    auto zones = std::make_shared<ClusterZones>();
    lane->Subscribe([lane, zones](absl::Span<const Revised<State::Change>> changes) {
      if (changes.empty()) zones->LearnAll(*lane);
      for (const Revised<State::Change>& change : changes) {
        const auto* cluster = std::get_if<std::shared_ptr<const Cluster>>(&change.change.row);
        if (cluster != nullptr && *cluster != nullptr) zones->Learn(**cluster);
      }
    });
    zones->LearnAll(*lane);
    return zones;
  }

  // Of what was deleted up to this revision it is not known where it was, if its cluster is gone, too.
  int64_t known_since() const {
    MutexLock lock(mutex_);
    return known_since_;
  }

  // Of the cluster that the name is in; empty: not known.
  std::string ZoneOf(absl::string_view name) const {
    MutexLock lock(mutex_);
    const auto found = zones_.find(ClusterNameOf(name));
    return found == zones_.end() ? "" : found->second;
  }

 private:
  void LearnAll(const Lane& lane) {
    const int64_t revision = lane.Peek([this](const State& state, int64_t at) {
      for (const auto& [name, cluster] : state.table<Cluster>().rows()) Learn(*cluster.row);
      return at;
    });
    MutexLock lock(mutex_);
    known_since_ = revision;
  }
  void Learn(const Cluster& cluster) {
    MutexLock lock(mutex_);
    zones_.insert_or_assign(cluster.name, cluster.zone);
  }

  mutable Mutex mutex_;
  std::map<std::string, std::string, std::less<>> zones_ MUSTER_GUARDED_BY(mutex_);
  int64_t known_since_ MUSTER_GUARDED_BY(mutex_) = 0;
};

}  // namespace muster::lifecycle
