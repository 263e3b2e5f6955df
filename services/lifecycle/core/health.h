#pragma once

#include <string>

#include "services/lifecycle/core/types.h"

// How reports of a Node's health are judged: a Node that is unhealthy on and off is no better than
// one that stays unhealthy.
//  * Within a window (kHealthWindow, from the first unhealthy report on) its unhealthy times add
//    up, as if there were no healthy ones between them. The window goes on until the Node stays
//    healthy for as long as it was unhealthy in it, or for kHealthWindow: where the grace is longer
//    than the window, unhealthy times would else never add up to it.
//  * The first time it is back in service as soon as it recovers; after a relapse only once it has
//    been healthy for as long as it may be unhealthy (Policy::triage_grace).
namespace muster::lifecycle {

// Notes what was seen; `why`: for people, read while it is unhealthy.
void SeeHealth(Observed& seen, bool unhealthy, const std::string& why, absl::Time now);

// Takes the Node for healthy and forgets its earlier unhealthy times.
void ForgetHealth(Observed& seen);

// True when the Node became unhealthy again within the window.
bool HasRelapsed(const Node& node);

// When an unhealthy Node became so, moved on by its healthy times within the window.
absl::Time UnhealthySince(const Node& node);

}  // namespace muster::lifecycle
