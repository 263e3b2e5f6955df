#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "services/musterctl/client/api_types.h"
#include "services/musterctl/commands/commands.h"

namespace muster::musterctl {

// Says which of a line's resources were not tried, because of an error of one before them.
void TellLeft(Session& session, std::vector<std::string> left);

// The same of those behind `failed`, which is one of `all`. `label`: what one is called.
template <class All, class T, class Label>
void TellLeftBehind(Session& session, const All& all, const T& failed, Label label) {
  std::vector<std::string> left;
  for (const T* each = &failed + 1; each != all.data() + all.size(); ++each)
    left.push_back(label(*each));
  TellLeft(session, std::move(left));
}

// Calls `what` for each resource, each as an order of its own (Session::order, Api::BeginOrder).
// Goes on after an error unless no server answers, the caller is not authenticated (those that are
// left are named then), or it is wrong use. All errors but the last are printed, the last is
// returned.
absl::Status ForEach(Session& session, absl::Span<const ResourceId> all,
                     absl::FunctionRef<absl::Status(const ResourceId&)> what);

}  // namespace muster::musterctl
