#pragma once

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/kubernetes/controller.h"
#include "services/kubernetes/history.h"
#include "services/kubernetes/identity.h"

// What becomes of a key whose object would go, but for what is not known; nullopt: the object may
// go. What is kept is counted by `kind`, for the metrics.
namespace muster::kubernetes {

// By that verdict on the object. `kept`: the outcome where it is kept.
inline std::optional<Outcome> Withheld(History::Verdict verdict, History& history,
                                       absl::string_view kind, Outcome kept = {}) {
  switch (verdict) {
    case History::Verdict::kWait:
      return Later(kWatchIsLate);
    case History::Verdict::kKeep:
      history.CountKept(kind);
      return kept;
    case History::Verdict::kObey:
      break;
  }
  return std::nullopt;
}

// As Muster may not show the object only because it does not show its cluster. Then it is asked
// again in `again`.
inline std::optional<Outcome> WithheldWithoutCluster(Identity& identity, History& history,
                                                     absl::string_view kind, absl::Duration again) {
  absl::Status shown = identity.ConfirmCluster();
  if (shown.ok()) return std::nullopt;
  if (!absl::IsNotFound(shown)) return Outcome(std::move(shown));
  history.CountKept(kind);
  return Later(again);
}

}  // namespace muster::kubernetes
