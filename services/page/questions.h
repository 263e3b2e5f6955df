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

// Questions that the page asks the services when somebody looks at one pool or claim, or at the
// past. The answers are the services' own messages, as protobuf's JSON. Thread-safe; the calls
// block.
//
// The past comes from muster.history.v1: the services read in their journals what has changed
// since, on a thread or two for all callers. That a service does not answer is logged now and then
// only, however often people ask.
class Questions {
 public:
  struct Answer {
    int status = 200;  // of HTTP
    std::string json = {};
  };

  explicit Questions(const Channels& channels);
  ~Questions();

  // From now on all questions, also those under way, are answered 503 at once.
  void Stop() { calls_.Stop(); }

  // `{"explained": ExplainNodePoolResponse, "events": [Event, ...]}`, the youngest events first.
  Answer Pool(const std::string& name) const;
  // ExplainClaimResponse of the pool's claim.
  Answer Claim(absl::string_view pool_uid) const;
  // `{"at": MILLISECONDS, "frame": {...}}`: pools, Nodes and quotas as they were at that time, in
  // one frame of Board. `places`: Board::PlacesAlone of now. 410: the journals do not reach back so
  // far; the error says how far they do, `"oldest": MILLISECONDS` too. 503: it takes too long, or a
  // service is away.
  Answer Past(absl::Time then, Board places) const;

 private:
  // The answer to a question that `service` (e.g. "Capacity") failed, or refused, with `status`.
  Answer Refusal(absl::string_view service, const absl::Status& status) const;

  const Channels channels_;
  mutable rpc::Calls calls_;
  mutable error::SilenceLog silence_;
};

}  // namespace muster::page
