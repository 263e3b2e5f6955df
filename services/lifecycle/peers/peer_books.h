#pragma once

#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <muster/configuration/v1/configuration_service.grpc.pb.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/common/mutex.h"
#include "services/lifecycle/core/books.h"
#include "services/lifecycle/peers/peers.h"
#include "services/lifecycle/store/lane.h"
#include "services/rpc/client/calls.h"

namespace muster::lifecycle {

// Reads the books of all four services as they are now: those of the other three by their lists,
// page by page, then lifecycle's own. Blocks, for at most 20 s for each page, request and read of
// lifecycle's state. Thread-safe.
class PeerBooks {
 public:
  // `lane` must outlive it.
  PeerBooks(const Peers& peers, Lane* lane);

  // Lifecycle's pools are read last, linearizably: what the other three know of a pool came after
  // the pool, so a pool that is being created is in the snapshot. Errors: whatever kept a service
  // from answering, in words for callers (services/common/from_peer.h).
  absl::StatusOr<Books> Read();
  // Whether lifecycle has a pool of this uid; linearizable.
  absl::StatusOr<bool> HasPool(absl::string_view uid);

  // Gives back what belongs to no pool, under the generation after the one that was seen: if it was
  // asked for anew since, that is refused, and it stays. A claim's machines are given back as not
  // broken.
  absl::Status Release(const HoldingEntry& holding);
  absl::Status Release(const ClaimEntry& claim);
  absl::Status Release(const ConfigurationEntry& configuration);

  // Ends calls to the other services and reads of lifecycle's state that are under way, and all
  // later ones: CANCELLED.
  void Cancel();

 private:
  template <class Stub, class Request, class Response, class Take>
  absl::Status Pages(absl::string_view peer, Stub& stub,
                     grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                     Request request, Take take);
  // Reads lifecycle's state linearizably: returns `take(state)`. The wait is bounded, and `take`
  // may run after it.
  template <class T, class Take>
  absl::StatusOr<T> ReadNow(Take take);
  absl::Status Sync(const ClaimEntry& claim, int64_t generation, size_t from, size_t count,
                    bool release);

  Lane& lane_;
  const std::unique_ptr<quota::v1::QuotaService::Stub> quota_;
  const std::unique_ptr<capacity::v1::CapacityService::Stub> capacity_;
  const std::unique_ptr<configuration::v1::ConfigurationService::Stub> configuration_;
  rpc::Calls calls_;
  Mutex mutex_;
  bool cancelled_ MUSTER_GUARDED_BY(mutex_) = false;
  // What ends each read that is under way.
  std::list<std::function<void()>> reads_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::lifecycle
