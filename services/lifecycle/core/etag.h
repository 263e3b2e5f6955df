#pragma once

#include <string>

#include "services/lifecycle/core/types.h"

// Etags, which change with what a resource's owner writes and with nothing else: the same content
// has the same etag in every process and every history.
namespace muster::lifecycle {

// Changes with the spec and the deletion.
std::string EtagOf(const Pool& pool);
// Changes with what UpdateNode, CordonNode, DrainNode and UncordonNode write.
std::string EtagOf(const Node& node);
// Changes with every field.
std::string EtagOf(const Cluster& cluster);

}  // namespace muster::lifecycle
