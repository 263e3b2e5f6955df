#include "services/musterctl/commands/for_each.h"

#include <utility>

#include "services/musterctl/client/errors.h"
#include "services/musterctl/commands/wrong_use.h"

namespace muster::musterctl {

absl::Status ForEach(Session& session, absl::Span<const ResourceId> all,
                     absl::FunctionRef<absl::Status(const ResourceId&)> what) {
  absl::Status last;
  session.order = 0;
  for (const ResourceId& id : all) {
    session.api.BeginOrder(++session.order);
    absl::Status status = what(id);
    if (status.ok()) continue;
    if (!last.ok()) session.env.err << RenderError(last);
    last = std::move(status);
    // DEADLINE_EXCEEDED of a wait of ours is none of these: the others may still be done.
    if (NoneAnswers(last) || absl::IsUnauthenticated(last) || IsWrongUse(last)) break;
  }
  return last;
}

}  // namespace muster::musterctl
