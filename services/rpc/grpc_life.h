#pragma once

namespace muster::rpc {

// gRPC stays up until the process ends. For whoever makes channels or servers. Without it gRPC cleans up in a thread of its
// own once the last channel is gone, and what that thread uses goes with the end of the process: musterctl died of SIGSEGV after its
// last line.
void KeepGrpcUp();

}  // namespace muster::rpc
