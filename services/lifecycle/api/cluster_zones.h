#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "services/common/mutex.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/store/lane.h"

namespace muster::lifecycle {

// Knows the zone in which each cluster is and was, for callers that must not wait for the state:
// watches ask while the state is being changed. A deleted cluster stays known, also if a cluster of
// its name came later in another zone: what is still told of it goes to those who could see it.
// Only the last deleted clusters are remembered; of those that were gone before the state was
// loaded the zones are not known, nor are the zones of the events that they left. Thread-safe.
class ClusterZones {
 public:
  explicit ClusterZones(size_t most_gone = kMostGone) : most_gone_(most_gone) {}

  // Follows the lane; to be called before its first Submit.
  static std::shared_ptr<const ClusterZones> Of(Lane* lane) {
    auto zones = std::make_shared<ClusterZones>();
    lane->Subscribe([lane, zones](absl::Span<const Revised<State::Change>> changes) {
      if (changes.empty()) return zones->LearnAll(*lane);
      lane->Peek([&](const State& state, int64_t) { zones->Learn(changes, state); });
    });
    zones->LearnAll(*lane);
    return zones;
  }

  // Takes in changes, after which the state is `state`; calls come in the order of their revisions.
  void Learn(absl::Span<const Revised<State::Change>> changes, const State& state) {
    MutexLock lock(mutex_);
    if (!changes.empty()) learnt_until_ = changes.back().revision;
    for (const Revised<State::Change>& change : changes) {
      const auto* cluster = std::get_if<std::shared_ptr<const Cluster>>(&change.change.row);
      if (cluster == nullptr) continue;
      if (*cluster == nullptr) {
        Leave(change.change.key, change.revision);
      } else {
        Come(**cluster, change.revision, state);
      }
    }
  }

  // For changes up to this revision the zone may be unknown if the cluster itself is gone.
  int64_t known_since() const {
    MutexLock lock(mutex_);
    return known_since_;
  }

  // The zone of the cluster that the resource `name` was in when it changed at `revision`; empty:
  // not known.
  std::string ZoneOf(absl::string_view name, int64_t revision) const {
    MutexLock lock(mutex_);
    return Find(name, revision);
  }
  // Likewise, for readers of the state, which may show a change before it is taken in here;
  // nullopt: it is not yet.
  std::optional<std::string> LearntZoneOf(absl::string_view name, int64_t revision) const {
    MutexLock lock(mutex_);
    return revision > learnt_until_ ? std::nullopt : std::optional(Find(name, revision));
  }

  // How many cluster names are remembered.
  size_t size() const {
    MutexLock lock(mutex_);
    return zones_.size();
  }

 private:
  // Stays that are remembered for one name.
  static constexpr size_t kMostStays = 8;
  // Deleted clusters' names that are remembered.
  static constexpr size_t kMostGone = 10'000;

  // Where the cluster of a name is from a change on, until the next.
  struct Stay {
    int64_t from = 0;
    std::string zone = {};
  };
  struct Stays {
    std::vector<Stay> stays = {};
    int64_t gone_at = 0;  // the revision of its deletion; 0: it is there
    // Events that earlier clusters of the name left, also deleted ones, and the zones of these
    // clusters; empty: not known.
    absl::flat_hash_map<std::string, std::string> left = {};
  };

  std::string Find(absl::string_view name, int64_t revision) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto found = zones_.find(ClusterNameOf(name));
    if (found == zones_.end()) return "";
    const auto& [stays, gone_at, left] = found->second;
    const auto event = left.find(name);
    return event == left.end() ? FindStay(stays, revision) : event->second;
  }
  static std::string FindStay(const std::vector<Stay>& stays, int64_t revision) {
    if (stays.empty()) return "";
    auto stay = stays.rbegin();
    while (stay->from > revision && stay + 1 != stays.rend()) ++stay;
    return stay->zone;
  }
  // `known` is what is known of the clusters of that name before this one. Events that are older
  // than this one are theirs.
  static void NoteLeft(const State& state, const Cluster& cluster, Stays& known) {
    for (const State::EventsByTime* events : state.EventsUnder(absl::StrCat(cluster.name, "/"))) {
      for (const State::Seen& event : *events) {
        if (event.time() >= cluster.create_time) break;
        const int64_t revision = state.table<Event>().FindVersioned(event.name())->revision;
        known.left.try_emplace(event.name(), FindStay(known.stays, revision));
      }
    }
  }
  void LearnAll(const Lane& lane) {
    lane.Peek([this](const State& state, int64_t at) {
      MutexLock lock(mutex_);
      learnt_until_ = at;
      // What was learnt before may be of another history.
      zones_.clear();
      gone_.clear();
      for (const auto& [name, cluster] : state.table<Cluster>().rows()) {
        Stays& known = zones_[cluster.row->name];
        NoteLeft(state, *cluster.row, known);
        known.stays = {{.zone = cluster.row->zone}};
      }
      known_since_ = at;
    });
  }
  void Come(const Cluster& cluster, int64_t revision, const State& state)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Stays& known = zones_[cluster.name];
    auto& [stays, gone_at, left] = known;
    gone_.erase(std::exchange(gone_at, 0));
    if (!stays.empty() && stays.back().zone == cluster.zone) return;
    NoteLeft(state, cluster, known);
    stays.push_back({revision, cluster.zone});
    if (stays.size() <= kMostStays) return;
    stays.erase(stays.begin());
    known_since_ = std::max(known_since_, stays.front().from);
    absl::erase_if(
        left, [&](const auto& event) { return state.table<Event>().Find(event.first) == nullptr; });
  }
  void Leave(const std::string& name, int64_t revision) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto found = zones_.find(name);
    if (found == zones_.end() || found->second.gone_at != 0) return;
    found->second.gone_at = revision;
    gone_.emplace(revision, name);
    if (gone_.size() <= most_gone_) return;
    const auto oldest = gone_.begin();
    known_since_ = std::max(known_since_, oldest->first);
    zones_.erase(oldest->second);
    gone_.erase(oldest);
  }

  const size_t most_gone_;
  mutable Mutex mutex_;
  std::map<std::string, Stays, std::less<>> zones_ MUSTER_GUARDED_BY(mutex_);
  std::map<int64_t, std::string> gone_ MUSTER_GUARDED_BY(mutex_);  // their names, by `gone_at`
  int64_t known_since_ MUSTER_GUARDED_BY(mutex_) = 0;
  int64_t learnt_until_ MUSTER_GUARDED_BY(mutex_) = 0;
};

}  // namespace muster::lifecycle
