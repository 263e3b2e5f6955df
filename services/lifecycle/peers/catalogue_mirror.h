#pragma once

#include <grpcpp/channel.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"
#include "services/lifecycle/core/snapshot.h"
#include "services/rpc/client/watch.h"

namespace muster::lifecycle {

// A copy of capacity's catalogue, zones and instance types, kept up to date by a watch. After a
// lost connection it takes a new snapshot. Thread-safe.
class CatalogueMirror {
 public:
  // Whether a change matters to the pools of this type in this zone: their Facts have changed.
  using Concerns = std::function<bool(absl::string_view instance_type, absl::string_view zone)>;

  explicit CatalogueMirror(std::shared_ptr<grpc::Channel> capacity,
                           const SteadyClock* steady = TheSteadyClock());
  ~CatalogueMirror();

  // `changed` is called from the mirror's thread after every change.
  void Start(std::function<void(const Concerns& concerns)> changed);
  // Ends the watch and the thread. Idempotent.
  void Stop();

  // What matters to a pool of this type in this zone. `known` is false until the first snapshot is
  // complete, and again once capacity has been out of reach for longer than kGrace.
  CatalogueFacts Facts(absl::string_view instance_type, absl::string_view zone) const;
  // nullopt: unknown type, or the catalogue is not known.
  std::optional<TypeFacts> Type(absl::string_view instance_type) const;

  // While reconnecting takes no longer than this, the catalogue stays known.
  static constexpr absl::Duration kGrace = absl::Seconds(3);

 private:
  struct Zone {
    bool general_access = false;
    std::set<std::string> instance_types = {};
    bool operator==(const Zone&) const = default;
  };
  struct Catalogue {
    absl::flat_hash_map<std::string, TypeFacts> types = {};
    absl::flat_hash_map<std::string, Zone> zones = {};
    bool operator==(const Catalogue&) const = default;

    CatalogueFacts Facts(absl::string_view instance_type, absl::string_view zone) const;
  };

  rpc::Watch::Options WatchOptions();
  static void Take(const capacity::v1::WatchCapacityResponse& message, Catalogue& catalogue);
  void Install(const Catalogue& catalogue);
  void NoteLost();

  const std::shared_ptr<grpc::Channel> channel_;
  const SteadyClock& steady_;
  std::function<void(const Concerns&)> changed_;
  mutable Mutex mutex_;
  Catalogue catalogue_ MUSTER_GUARDED_BY(mutex_);
  bool known_ MUSTER_GUARDED_BY(mutex_) = false;
  absl::Duration lost_since_ MUSTER_GUARDED_BY(mutex_) = absl::InfiniteDuration();
  // Only for the watch's thread: what its stream has shown, and whether the snapshot is complete.
  Catalogue shown_;
  bool complete_ = false;
  rpc::Watch watch_;
};

}  // namespace muster::lifecycle
