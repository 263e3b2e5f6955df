#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/from_peer.h"
#include "services/page/core/board.h"
#include "services/page/page_watches.h"
#include "services/rpc/client/calls.h"

namespace muster::page {

// What the page asks the services when somebody looks closer, beside what the watches tell. The
// answers are the services' own, as JSON (google.protobuf's). Thread-safe; blocks.
//
// How things were it asks muster.history.v1: what has changed since, the services read in their
// journals, on a thread or two for all who ask. A service that does not answer is logged now and then,
// however often people ask.
class Questions {
 public:
  struct Answer {
    int status = 200;  // of HTTP
    std::string json = {};
  };

  explicit Questions(const Channels& channels);
  ~Questions();

  // Whoever asks, and will ask, is answered 503 at once.
  void Stop() { calls_.Stop(); }

  // `{"explained": ExplainNodePoolResponse, "events": [Event, ...]}`, the youngest events first.
  Answer Pool(const std::string& name) const;
  // ExplainClaimResponse of the pool's claim.
  Answer Claim(absl::string_view pool_uid) const;
  // `{"at": MILLISECONDS, "frame": {...}}`: pools, Nodes and quotas as they were at that time, as a
  // frame of Board with all there is; `places`: Board::PlacesAlone of now. 410: it is further back
  // than is told, the error says how far that is; 503: it takes too long, or a service is away.
  Answer Past(absl::Time then, Board places) const;

 private:
  // What `service` ("Capacity") answered instead.
  Answer Refusal(absl::string_view service, const absl::Status& status) const;

  const Channels channels_;
  mutable rpc::Calls calls_;
  mutable error::SilenceLog silence_;
};

}  // namespace muster::page
