#pragma once

#include <muster/access/v1/access_service.grpc.pb.h>

#include <memory>
#include <utility>
#include <vector>

#include "services/common/cpu_share.h"
#include "services/rpc/server.h"
#include "services/rpc/slow_calls.h"
#include "services/rpc/unary.h"

namespace muster::musterd {

// muster.access.v1.AccessService.
class AccessHandlers final : public access::v1::AccessService::CallbackService {
 public:
  // `services`: whose methods may be asked about. `cpu`: of all slow work of the process.
  AccessHandlers(std::vector<rpc::NamedService> services, std::shared_ptr<CpuShare> cpu)
      : services_(std::move(services)), calls_({.threads = 1, .cpu = std::move(cpu)}) {}

  grpc::ServerUnaryReactor* GetCaller(grpc::CallbackServerContext* context,
                                      const access::v1::GetCallerRequest* request,
                                      access::v1::GetCallerResponse* response) override;
  grpc::ServerUnaryReactor* CheckAccess(grpc::CallbackServerContext* context,
                                        const access::v1::CheckAccessRequest* request,
                                        access::v1::CheckAccessResponse* response) override;

 private:
  const std::vector<rpc::NamedService> services_;
  rpc::SlowCalls calls_;
};

}  // namespace muster::musterd
