#include "services/rpc/grpc_life.h"

#include <grpc/grpc.h>

namespace muster::rpc {

void KeepGrpcUp() {
  [[maybe_unused]] static const bool up = [] {
    grpc_init();
    return true;
  }();
}

}  // namespace muster::rpc
