#pragma once

#include <string>

#include "muster/lifecycle/v1/lifecycle.pb.h"

namespace muster::musterctl {

// What a change of a NodePool would do, for people: an indented line each for quota, capacity,
// victims, configuration and reboots, where there is something to say.
std::string RenderPreview(const lifecycle::v1::NodePoolPreview& preview);

// What an order to a Node would begin at once, and what it would wait for: an indented line each.
std::string RenderPreview(const lifecycle::v1::Node& node);

}  // namespace muster::musterctl
