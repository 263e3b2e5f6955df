#pragma once

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/rpc/unary.h"

namespace muster::rpc {

// Answers a call from a linearizable read of `lane` (storage::CommitLane): `fill(state, revision)`
// writes the response and returns OK, or says what is wrong.
template <class Lane, class Fill>
void AnswerFrom(Lane& lane, Responder responder, Fill fill) {
  const absl::Time deadline = responder.deadline();
  lane.Read(
      [fill = std::move(fill), responder = std::move(responder)](
          const absl::Status& status, const auto* state, int64_t revision) mutable {
        responder.Reply(
            [&]() -> absl::Status { return status.ok() ? fill(*state, revision) : status; });
      },
      deadline);
}

}  // namespace muster::rpc
