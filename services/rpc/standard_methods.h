#pragma once

#include "absl/strings/string_view.h"
#include "services/rpc/server_metrics.h"

namespace muster::rpc {

// A method of gRPC's own services. These cannot have the option muster.type.v1.access, so who may
// call them is said here. A server answers them beside its own services; any other method is
// UNIMPLEMENTED, whoever calls it.
struct StandardMethod {
  absl::string_view name;
  MethodMetrics::Type type;
  // False: its caller must have a role, whichever, and it counts as a watch of its caller.
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
