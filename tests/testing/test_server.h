#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/rpc/guard.h"
#include "services/rpc/metrics.h"
#include "services/rpc/server.h"

namespace muster::testing {

// The real server on port 0 with real stubs, for one or more services. Header only: link `rpc`.
class TestServer {
 public:
  // `guard`, unless null, must outlive it; null: everybody may call everything.
  explicit TestServer(std::vector<rpc::NamedService> services, const rpc::Guard* guard = nullptr) {
    rpc::ServerOptions options;
    options.addresses = {"127.0.0.1:0"};
    options.services = std::move(services);
    options.metrics = &metrics_;
    options.guard = guard;
    options.drain_delay = absl::ZeroDuration();
    auto server = rpc::Server::Create(std::move(options));
    if (!server.ok()) throw std::runtime_error(server.status().ToString());
    server_ = *std::move(server);
    if (const absl::Status status = server_->Start(); !status.ok())
      throw std::runtime_error(status.ToString());
    server_->SetAllServing(true);
  }

  rpc::Server& server() { return *server_; }
  std::shared_ptr<grpc::Channel> channel() { return server_->InProcessChannel(); }
  // For calls by TCP, whose caller a guard takes for `local`.
  std::string address() const { return absl::StrCat("127.0.0.1:", server_->port()); }

 private:
  rpc::Metrics metrics_;
  std::unique_ptr<rpc::Server> server_;
};

}  // namespace muster::testing
