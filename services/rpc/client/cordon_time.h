#pragma once

#include <muster/lifecycle/v1/lifecycle.pb.h>

#include <algorithm>

#include "absl/time/time.h"
#include "services/common/timestamp.h"

namespace muster::rpc {

// Which cordon the Node's agent is to carry out, and names when it reports that it has
// (NodeReport.desired_time): NodeDesired.cordon_time, which a server of the release before does not
// set, or hands on as it was for a cordon before. The rule itself is the server's
// (services/lifecycle/core/node_machine.h); once no such server can be met, the field is enough.
inline absl::Time CordonTimeOf(const lifecycle::v1::Node& node) {
  return std::max({FromTimestamp(node.desired().cordon_time()), FromTimestamp(node.state_time()),
                   FromTimestamp(node.reconfigure_time()),
                   FromTimestamp(node.orders().cordon_time())});
}

}  // namespace muster::rpc
