#pragma once

#include <string>

#include "services/lifecycle/core/types.h"

// What changes with what a resource's owner writes, and with nothing else: the same content has the same etag, in every process and in
// every history.
namespace muster::lifecycle {

// Of the spec and the deletion.
std::string EtagOf(const Pool& pool);
// Of what UpdateNode, CordonNode, DrainNode and UncordonNode write.
std::string EtagOf(const Node& node);

}  // namespace muster::lifecycle
