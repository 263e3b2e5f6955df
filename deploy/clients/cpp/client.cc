// client ADDRESS: a NodePool from its spec to its end.
#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

#include "muster/lifecycle/v1/lifecycle_service.grpc.pb.h"
#include "muster/service_config.h"

namespace {

namespace v1 = muster::lifecycle::v1;
using Stub = v1::LifecycleService::Stub;

constexpr char kName[] = "organizations/acme/clusters/example/nodePools/cpp";

// Makes a request safe to repeat: under one id it is carried out once.
std::string RequestId() {
  std::random_device random;
  return std::to_string(random()) + "-" + std::to_string(random()) + "-" + std::to_string(random());
}

void Check(const grpc::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.error_message());
}

// One stream; OK: `done` held of the pool (null: it is gone).
grpc::Status FollowOnce(Stub& stub, const std::function<bool(const v1::NodePool*)>& done) {
  grpc::ClientContext context;
  v1::WatchLifecycleRequest request;
  request.set_name_prefix(kName);
  request.add_kinds(v1::WatchLifecycleRequest::KIND_NODE_POOL);
  const auto stream = stub.WatchLifecycle(&context, request);
  std::unique_ptr<v1::NodePool> pool;
  for (v1::WatchLifecycleResponse message; stream->Read(&message);) {
    if (message.key() == kName) {
      pool =
          message.has_node_pool() ? std::make_unique<v1::NodePool>(message.node_pool()) : nullptr;
    }
    // Before the snapshot's end the pool may yet come.
    if (pool == nullptr && message.type() == muster::type::v1::WATCH_EVENT_TYPE_SNAPSHOT) continue;
    if (done(pool.get())) {
      context.TryCancel();
      stream->Finish();
      return grpc::Status::OK;
    }
  }
  return stream->Finish();
}

// A watch begins with what the pool is now, so a stream that broke is simply opened again.
void Follow(Stub& stub, const std::function<bool(const v1::NodePool*)>& done) {
  for (;;) {
    const grpc::Status status = FollowOnce(stub, done);
    if (status.error_code() != grpc::StatusCode::UNAVAILABLE) return Check(status);
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

bool IsReady(const v1::NodePool* pool) {
  if (pool == nullptr) return false;
  for (const auto& condition : pool->status().conditions()) {
    if (condition.type() == "Ready" && condition.status() == "True") {
      std::cout << "ready: " << pool->status().current_nodes() << " Nodes\n";
      return true;
    }
  }
  return false;
}

// Is refused where the quota is not enough.
grpc::Status Scale(Stub& stub, int64_t nodes) {
  v1::ResizeNodePoolRequest request;
  request.set_name(kName);
  request.set_target_nodes(nodes);
  request.set_must_fit(true);
  request.set_request_id(RequestId());
  grpc::ClientContext context;
  v1::NodePool pool;
  return stub.ResizeNodePool(&context, request, &pool);
}

// Prints what an error says beside its message.
void Explain(const grpc::Status& error) {
  google::rpc::Status status;
  status.ParseFromString(error.error_details());
  for (const auto& detail : status.details()) {
    google::rpc::ErrorInfo info;
    google::rpc::QuotaFailure quota;
    google::rpc::BadRequest request;
    if (detail.UnpackTo(&info)) std::cout << "refused: " << info.reason() << "\n";
    if (detail.UnpackTo(&quota)) {
      for (const auto& violation : quota.violations())
        std::cout << "  " << violation.subject() << " " << violation.description() << "\n";
    }
    if (detail.UnpackTo(&request)) {
      for (const auto& violation : request.field_violations())
        std::cout << "  " << violation.field() << " " << violation.description() << "\n";
    }
  }
}

void Run(Stub& stub) {
  v1::ApplyNodePoolRequest apply;
  apply.mutable_node_pool()->set_name(kName);
  apply.mutable_node_pool()->mutable_spec()->set_instance_type("gd-8xa100-i128");
  apply.mutable_node_pool()->mutable_spec()->set_target_nodes(2);
  v1::NodePool pool;
  grpc::ClientContext applying;
  Check(stub.ApplyNodePool(&applying, apply, &pool));
  Follow(stub, IsReady);
  for (const int64_t nodes : {5000, 200000, 3}) {
    if (const grpc::Status status = Scale(stub, nodes); !status.ok()) Explain(status);
  }
  Follow(stub, IsReady);
  v1::DeleteNodePoolRequest remove;
  remove.set_name(kName);
  remove.set_request_id(RequestId());
  grpc::ClientContext removing;
  Check(stub.DeleteNodePool(&removing, remove, &pool));
  Follow(stub, [](const v1::NodePool* left) { return left == nullptr; });
  std::cout << "deleted\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: client ADDRESS\n";
    return 2;
  }
  grpc::ChannelArguments arguments;
  arguments.SetServiceConfigJSON(kServiceConfig);
  const auto channel =
      grpc::CreateCustomChannel(argv[1], grpc::InsecureChannelCredentials(), arguments);
  const auto stub = v1::LifecycleService::NewStub(channel);
  try {
    Run(*stub);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
