// Where the clients of deploy/clients go on when a watch breaks, against a service of a few lines.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/mutex.h"
#include "tests/clients/stubs.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {
namespace {

namespace v1 = lifecycle::v1;
using ::testing::ElementsAre;

// One pool, which is ready as soon as a watch tells of it. The first watch ends after two messages.
class BreakingLifecycle final : public v1::LifecycleService::Service {
 public:
  BreakingLifecycle() {
    server_ = grpc::ServerBuilder()
                  .AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_)
                  .RegisterService(this)
                  .BuildAndStart();
  }
  ~BreakingLifecycle() override { server_->Shutdown(); }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }
  // Of each watch: `REVISION INCARNATION`; `-`: it began with a snapshot.
  std::vector<std::string> starts() const {
    MutexLock lock(mutex_);
    return starts_;
  }

  grpc::Status ApplyNodePool(grpc::ServerContext*, const v1::ApplyNodePoolRequest* request,
                             v1::NodePool* pool) override {
    return Put(request->node_pool().name(), 2, 5, *pool);
  }
  grpc::Status ResizeNodePool(grpc::ServerContext*, const v1::ResizeNodePoolRequest* request,
                              v1::NodePool* pool) override {
    if (request->target_nodes() > 3) return {grpc::StatusCode::RESOURCE_EXHAUSTED, "too many"};
    return Put(request->name(), request->target_nodes(), 20, *pool);
  }
  grpc::Status DeleteNodePool(grpc::ServerContext*, const v1::DeleteNodePoolRequest* request,
                              v1::NodePool* pool) override {
    return Put(request->name(), 0, 30, *pool);
  }
  grpc::Status WatchLifecycle(grpc::ServerContext*, const v1::WatchLifecycleRequest* request,
                              grpc::ServerWriter<v1::WatchLifecycleResponse>* writer) override {
    MutexLock lock(mutex_);
    const auto& start = request->start();
    starts_.push_back(start.has_after_revision()
                          ? absl::StrCat(start.after_revision(), " ", start.incarnation())
                          : "-");
    v1::WatchLifecycleResponse message;
    message.set_key(pool_.name());
    message.set_revision(pool_.revision() + 4);
    message.set_incarnation("one");
    *message.mutable_node_pool() = pool_;
    if (starts_.size() == 1) {
      writer->Write(message);
      message.Clear();
      message.set_type(type::v1::WATCH_EVENT_TYPE_PROGRESS);
      message.set_revision(pool_.revision() + 7);
      writer->Write(message);
      return {grpc::StatusCode::UNAVAILABLE, "the server stops"};
    }
    auto* condition = message.mutable_node_pool()->mutable_status()->add_conditions();
    condition->set_type("Ready");
    condition->set_status("True");
    if (pool_.status().current_nodes() == 0) message.clear_node_pool();  // it was deleted
    writer->Write(message);
    return grpc::Status::OK;
  }

 private:
  grpc::Status Put(const std::string& name, int64_t nodes, int64_t revision, v1::NodePool& pool) {
    MutexLock lock(mutex_);
    pool_.set_name(name);
    pool_.set_revision(revision);
    pool_.mutable_status()->set_current_nodes(nodes);
    pool = pool_;
    return grpc::Status::OK;
  }

  mutable Mutex mutex_;
  v1::NodePool pool_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::string> starts_ MUSTER_GUARDED_BY(mutex_);
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

void ExpectGoesOn(const BreakingLifecycle& service, const Finished& run) {
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(service.starts(), ElementsAre("5 ", "12 one", "20 ", "30 ")) << run.output;
}

TEST(BrokenStream, PythonGoesOnAfterTheLastRevision) {
  const BreakingLifecycle service;
  ExpectGoesOn(service, RunAlone({"PYTHONPATH=" + Wheel(), "PYTHONDONTWRITEBYTECODE=1"},
                                 {"/usr/bin/python3", MUSTER_CLIENTS "/python/client.py",
                                  service.address()}));
}

TEST(BrokenStream, GoGoesOnAfterTheLastRevision) {
  const BreakingLifecycle service;
  const TempFolder folder;
  const Finished built =
      RunGo({"build", "-o", folder.Path("client"), MUSTER_CLIENTS "/go/main.go"});
  ASSERT_EQ(built.exit_code, 0) << built.output;
  ExpectGoesOn(service, RunAlone({"GRPC_GO_RETRY=on"}, {folder.Path("client"), service.address()}));
}

}  // namespace
}  // namespace muster::testing
