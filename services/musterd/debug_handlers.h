#pragma once

#include <muster/debug/v1/debug_service.grpc.pb.h>

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "services/common/mutex.h"
#include "services/musterd/service_part.h"

namespace muster::lifecycle {
class LifecycleService;
}

namespace muster::musterd {

// muster.debug.v1.DebugService over all services of the process. Comparisons run one after another
// on a thread of its own, because they block.
class DebugHandlers final : public debug::v1::DebugService::CallbackService {
 public:
  // Both must outlive it. `lifecycle` is null where this process does not serve it.
  DebugHandlers(const std::vector<ServicePart>* parts, lifecycle::LifecycleService* lifecycle);
  ~DebugHandlers() override;

  grpc::ServerUnaryReactor* CompareState(grpc::CallbackServerContext* context,
                                         const debug::v1::CompareStateRequest* request,
                                         debug::v1::CompareStateResponse* response) override;
  grpc::ServerUnaryReactor* AuditBooks(grpc::CallbackServerContext* context,
                                       const debug::v1::AuditBooksRequest* request,
                                       debug::v1::AuditBooksResponse* response) override;
  grpc::ServerUnaryReactor* Ping(grpc::CallbackServerContext* context,
                                 const debug::v1::PingRequest* request,
                                 debug::v1::PingResponse* response) override;

 private:
  void Run();

  const std::vector<ServicePart>& parts_;
  lifecycle::LifecycleService* const lifecycle_;
  Mutex mutex_;
  CondVar wakes_;
  std::deque<std::function<void()>> jobs_ MUSTER_GUARDED_BY(mutex_);
  bool stopping_ MUSTER_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace muster::musterd
