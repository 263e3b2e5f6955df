#pragma once

namespace muster::rpc {

// proto/muster/service_config.json as it was when this was built: how any client of Muster is to
// call it. MakeChannel uses it. With a target `dns:...`, which may have several replicas, they are
// asked for their health, and passed over while they are not serving. A target of any other form is
// called in any case.
const char* ServiceConfig();

}  // namespace muster::rpc
