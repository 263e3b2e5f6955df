#pragma once

#include <grpcpp/grpcpp.h>

#include <initializer_list>
#include <memory>

#include "absl/strings/str_cat.h"
#include "services/kubernetes/muster_client.h"

namespace muster::kubernetes {

// Muster as a test plays it: a server with the test's services, and a client of it for the cluster
// c1 of acme.
class FakeMuster {
 public:
  // The services must outlive it, or its Stop.
  explicit FakeMuster(std::initializer_list<grpc::Service*> services) {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    for (grpc::Service* service : services) builder.RegisterService(service);
    server_ = builder.BuildAndStart();
    client_ = std::make_unique<MusterClient>(
        MusterClient::Options{absl::StrCat("127.0.0.1:", port), "acme", "c1"});
  }
  ~FakeMuster() { Stop(); }

  // Waits for the calls that are under way. Idempotent.
  void Stop() {
    client_->Stop();
    server_->Shutdown();
  }

  MusterClient& client() { return *client_; }

 private:
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<MusterClient> client_;
};

}  // namespace muster::kubernetes
