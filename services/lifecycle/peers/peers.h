#pragma once

#include <grpcpp/channel.h>

#include <memory>

namespace muster::lifecycle {

// The services that lifecycle asks.
struct Peers {
  std::shared_ptr<grpc::Channel> quota = {};
  std::shared_ptr<grpc::Channel> capacity = {};
  std::shared_ptr<grpc::Channel> configuration = {};
};

}  // namespace muster::lifecycle
