#pragma once

namespace muster::rpc {

// proto/muster/service_config.json as it was when this was built: how any client of Muster is to call it. MakeChannel uses it.
// Replicas are asked for their health, and passed over while they are not serving, where the target is `dns:...`: where there may be
// several. A target of any other form is asked in any case.
const char* ServiceConfig();

}  // namespace muster::rpc
