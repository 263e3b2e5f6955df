#pragma once

#include "absl/strings/string_view.h"
#include "services/rpc/server_metrics.h"

namespace muster::rpc {

// A method of gRPC's own services, beside which no option muster.type.v1.access can stand: who may call it is said here. It is all
// that a server answers beside its own services; whatever else is asked for is UNIMPLEMENTED, whoever asks.
struct StandardMethod {
  absl::string_view name;
  MethodMetrics::Type type;
  // False: it takes a role, whichever, and counts as a watch of its caller.
  bool open_to_all;
};

inline constexpr StandardMethod kHealthMethods[] = {
    {"/grpc.health.v1.Health/Check", MethodMetrics::Type::kUnary, true},
    {"/grpc.health.v1.Health/Watch", MethodMetrics::Type::kServerStream, true},
};
// Of servers with ServerOptions::reflection.
inline constexpr StandardMethod kReflectionMethods[] = {
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
     MethodMetrics::Type::kBidiStream, false},
};

}  // namespace muster::rpc
