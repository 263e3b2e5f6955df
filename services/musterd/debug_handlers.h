#pragma once

#include <muster/debug/v1/debug_service.grpc.pb.h>

#include <atomic>
#include <memory>
#include <vector>

#include "services/common/job_queue.h"
#include "services/musterd/service_part.h"
#include "services/rpc/unary.h"

namespace muster::lifecycle {
class LifecycleService;
}

namespace muster::musterd {

// muster.debug.v1.DebugService over all services of the process. One comparison runs at a time, on
// a thread of its own, because they block; one that nobody waits for any more ends with the service
// it is at.
class DebugHandlers final : public debug::v1::DebugService::CallbackService {
 public:
  // Both must outlive it. `lifecycle` is null where this process does not serve it.
  DebugHandlers(const std::vector<ServicePart>* parts, lifecycle::LifecycleService* lifecycle);

  grpc::ServerUnaryReactor* CompareState(grpc::CallbackServerContext* context,
                                         const debug::v1::CompareStateRequest* request,
                                         debug::v1::CompareStateResponse* response) override;
  grpc::ServerUnaryReactor* AuditBooks(grpc::CallbackServerContext* context,
                                       const debug::v1::AuditBooksRequest* request,
                                       debug::v1::AuditBooksResponse* response) override;
  grpc::ServerUnaryReactor* GetLogLevel(grpc::CallbackServerContext* context,
                                        const debug::v1::GetLogLevelRequest* request,
                                        debug::v1::GetLogLevelResponse* response) override;
  grpc::ServerUnaryReactor* SetLogLevel(grpc::CallbackServerContext* context,
                                        const debug::v1::SetLogLevelRequest* request,
                                        debug::v1::SetLogLevelResponse* response) override;
  grpc::ServerUnaryReactor* Ping(grpc::CallbackServerContext* context,
                                 const debug::v1::PingRequest* request,
                                 debug::v1::PingResponse* response) override;

 private:
  // A caller, and where its answer goes.
  struct Job {
    std::shared_ptr<rpc::Responder> responder = {};
    debug::v1::CompareStateResponse* response = nullptr;
  };

  void Compare(const Job& job);

  const std::vector<ServicePart>& parts_;
  lifecycle::LifecycleService* const lifecycle_;
  std::atomic<bool> busy_ = false;  // a comparison waits or runs
  JobQueue<Job> jobs_;              // one that waits at the end is answered by its Responder
};

}  // namespace muster::musterd
