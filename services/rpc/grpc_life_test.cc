#include "services/rpc/grpc_life.h"

#include <grpc/grpc.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

namespace muster::rpc {
namespace {

TEST(GrpcLife, NothingIsCleanedUpWithTheLastChannel) {
  KeepGrpcUp();
  { const auto channel = grpc::CreateChannel("unix:/nosuch", grpc::InsecureChannelCredentials()); }
  EXPECT_NE(grpc_is_initialized(), 0);
}

}  // namespace
}  // namespace muster::rpc
