#include "services/lifecycle/core/summary.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/condition_names.h"
#include "services/common/count_text.h"
#include "services/lifecycle/core/conditions.h"

namespace muster::lifecycle {
namespace {

enum class Way { kThere, kReconciling, kStalled };

void Set(const Pool& pool, Status& status, Condition ready, Way way, absl::Time now) {
  std::vector<Condition> wanted;
  ready.type = condition::kReady;
  if (way != Way::kThere) {
    wanted.push_back(ready);
    wanted.back().type = way == Way::kStalled ? condition::kStalled : condition::kReconciling;
    wanted.back().status = condition_status::kTrue;
  }
  wanted.insert(wanted.begin(), std::move(ready));
  SetConditions(status.summary, std::move(wanted), pool.generation, now);
}

void SetWaiting(const Pool& pool, Status& status, absl::string_view why, absl::string_view message,
                absl::Time now) {
  Set(pool, status,
      {.status = condition_status::kFalse,
       .reason = std::string(why),
       .message = std::string(message)},
      Way::kReconciling, now);
}

void SetDeleting(const Pool& pool, Status& status, absl::Time now) {
  SetWaiting(pool, status, reason::kPendingDelete, "NodePool is being deleted.", now);
}

}  // namespace

void Summarize(const Pool& pool, Status& status, int64_t in_production, absl::Time now) {
  if (pool.deleting()) return SetDeleting(pool, status, now);
  // What does not mend by itself is told before what does.
  for (const HealthyCondition& wish : kHealthyConditions) {
    const Condition* is = FindCondition(status.conditions, wish.type);
    const bool known = is != nullptr && is->status != condition_status::kUnknown;
    if (wish.stalls && known && is->reason != wish.reason)
      return Set(pool, status,
                 {.status = condition_status::kFalse, .reason = is->reason, .message = is->message},
                 Way::kStalled, now);
  }
  for (const HealthyCondition& wish : kHealthyConditions) {
    const Condition* is = FindCondition(status.conditions, wish.type);
    if (is == nullptr)
      return SetWaiting(pool, status, reason::kNotObserved,
                        absl::StrCat(wish.type, " is not known yet."), now);
    if (is->reason == wish.reason) continue;
    return Set(pool, status,
               {.status = is->status == condition_status::kUnknown ? condition_status::kUnknown
                                                                   : condition_status::kFalse,
                .reason = is->reason,
                .message = is->message},
               Way::kReconciling, now);
  }
  // Without numbers: not every Node that comes is a change of its pool.
  if (in_production < pool.target_nodes())
    return SetWaiting(pool, status, reason::kNodesNotInService, "Not all Nodes take work yet.",
                      now);
  Set(pool, status,
      {.status = condition_status::kTrue,
       .reason = reason::kReady,
       .message = absl::StrCat("All of ", CountText(pool.target_nodes(), "Node"), " in service.")},
      Way::kThere, now);
}

void SummarizeUnobserved(Pool& pool, absl::Time now) {
  if (pool.deleting()) return SetDeleting(pool, pool.status, now);
  SetWaiting(pool, pool.status, reason::kNotObserved,
             "The spec has changed and was not looked at yet.", now);
}

}  // namespace muster::lifecycle
