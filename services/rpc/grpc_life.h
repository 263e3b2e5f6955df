#pragma once

namespace muster::rpc {

// Keeps gRPC initialized until the process ends. To be called by code that makes channels or
// servers. Otherwise gRPC cleans up in a thread of its own once the last channel is gone, and may
// use what the end of the process has destroyed: musterctl died of SIGSEGV after its last line.
void KeepGrpcUp();

}  // namespace muster::rpc
