#include "services/rpc/client/grpc_life.h"

#include <grpc/grpc.h>

namespace muster::rpc {

void KeepGrpcUp() { grpc_init(); }

}  // namespace muster::rpc
