#pragma once

#include <memory>
#include <utility>

#include "services/common/status_macros.h"
#include "services/configuration/configuration_service.h"
#include "services/rpc/unary.h"

namespace muster::configuration {

// Hands a decision to the lane and answers the caller. `decide(overlay, now)` gives a StatusOr and
// may run again; `render(answer)` fills the response and says what the caller gets, after the
// commit. With `validate_only` nothing of it is written.
template <class Decision, class Render>
void Submit(Lane& lane, rpc::Responder responder, bool validate_only, Decision decide,
            Render render) {
  using Answer =
      typename decltype(decide(std::declval<Overlay<State>&>(), absl::Time()))::value_type;
  auto answer = std::make_shared<Answer>();
  const absl::Time deadline = responder.deadline();
  lane.Submit(
      [decide = std::move(decide), validate_only, answer](Overlay<State>& overlay,
                                                          absl::Time now) -> absl::Status {
        const size_t mark = overlay.Mark();
        ASSIGN_OR_RETURN(*answer, decide(overlay, now));
        if (validate_only) overlay.RollBack(mark);
        return absl::OkStatus();
      },
      [answer, render = std::move(render), responder = std::move(responder)](
          const absl::Status& status, int64_t) mutable {
        responder.Reply([&] { return status.ok() ? render(*answer) : status; });
      },
      deadline);
}

}  // namespace muster::configuration
