#pragma once

#include <muster/debug/v1/debug_service.grpc.pb.h>

#include <memory>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "services/common/cpu_share.h"
#include "services/common/shared_runs.h"
#include "services/musterd/service_part.h"
#include "services/rpc/unary.h"

namespace muster::lifecycle {
class LifecycleService;
}

namespace muster::musterd {

// muster.debug.v1.DebugService over all services of the process. Comparisons block, so they run one
// at a time on a thread of their own, each for all who had asked for one; one that nobody waits for
// any more ends after the service that it is comparing.
class DebugHandlers final : public debug::v1::DebugService::CallbackService {
 public:
  // The first two must outlive it. `lifecycle` is null where this process does not serve it. `cpu`:
  // of all slow work of the process.
  DebugHandlers(const std::vector<ServicePart>* parts, lifecycle::LifecycleService* lifecycle,
                std::shared_ptr<CpuShare> cpu);

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
  using Comparisons = absl::StatusOr<debug::v1::CompareStateResponse>;

  Comparisons Compare(absl::FunctionRef<bool()> abandoned) const;

  const std::vector<ServicePart>& parts_;
  lifecycle::LifecycleService* const lifecycle_;
  SharedRuns<std::monostate, Comparisons> comparisons_;
};

}  // namespace muster::musterd
