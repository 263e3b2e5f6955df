#pragma once

#include <string>

#include "services/lifecycle/core/types.h"

// How the health of a Node is taken: a Node that goes to and fro is no healthier than one that is
// plainly ill.
//  * Within a window (kHealthWindow, from the first time on) its unhealthy times add up, as if
//  there
//    were no healthy ones between them.
//  * The first time it is back in service as soon as it recovers; after a relapse only once it has
//    been healthy for as long as it may be unhealthy (Policy::triage_grace).
namespace muster::lifecycle {

// Notes what was seen; `why`: for people, read while it is unhealthy.
void SeeHealth(Observed& seen, bool unhealthy, const std::string& why, absl::Time now);

// It is taken for healthy until somebody says otherwise, and nothing of before counts.
void ForgetHealth(Observed& seen);

// It became unhealthy again within the window.
bool HasRelapsed(const Node& node);

// Since when an unhealthy Node is so, its healthy times left out.
absl::Time UnhealthySince(const Node& node);

}  // namespace muster::lifecycle
