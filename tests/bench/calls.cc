#include "tests/bench/calls.h"

#include <stdexcept>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "services/tls/flags.h"

namespace muster::bench {

int64_t FirstGeneration() {
  static const absl::Time start = absl::Now();
  return 1 + (absl::Now() - start) / absl::Microseconds(100);
}

std::shared_ptr<grpc::ChannelCredentials> Credentials() {
  const auto files = tls::FilesFromFlags(tls::Use::kClient);
  if (!files.ok()) throw std::runtime_error(std::string(files.status().message()));
  if (!*files) return grpc::InsecureChannelCredentials();
  const auto credentials = tls::ClientCredentials(**files);
  if (!credentials.ok()) throw std::runtime_error(std::string(credentials.status().message()));
  return *credentials;
}

Connection::Connection(const std::string& target, int number) {
  grpc::ChannelArguments arguments;
  // Channels with equal arguments would share a connection.
  arguments.SetInt("muster.bench.connection", number);
  // The client shares the cores with what it measures: it does without what it has no use for.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_MINIMAL_STACK, 1);
  channel_ = grpc::CreateCustomChannel(target, Credentials(), arguments);
  thread_ = std::thread([this] {
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) static_cast<Completion*>(tag)->Complete();
  });
}

Connection::~Connection() {
  queue_.Shutdown();
  thread_.join();
}

Connections::Connections(const std::string& target, int count) {
  for (int i = 0; i < count; ++i) connections_.push_back(std::make_unique<Connection>(target, i));
}

}  // namespace muster::bench
