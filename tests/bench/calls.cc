#include "tests/bench/calls.h"

namespace muster::bench {

Connections::Connections(const std::string& target, int count) {
  for (int i = 0; i < count; ++i) {
    grpc::ChannelArguments arguments;
    // Channels with equal arguments would share a connection.
    arguments.SetInt("muster.bench.connection", i);
    channels_.push_back(
        grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments));
  }
}

}  // namespace muster::bench
