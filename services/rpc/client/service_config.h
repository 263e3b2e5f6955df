#pragma once

namespace muster::rpc {

// proto/muster/service_config.json as it was when this was built: how any client of Muster is to call it. MakeChannel uses it.
const char* ServiceConfig();

}  // namespace muster::rpc
