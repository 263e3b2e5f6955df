#pragma once

#include <muster/access/v1/access_service.grpc.pb.h>

#include <vector>

#include "services/musterd/service_part.h"
#include "services/rpc/unary.h"

namespace muster::musterd {

// muster.access.v1.AccessService over all services of the process.
class AccessHandlers final : public access::v1::AccessService::CallbackService {
 public:
  // Must outlive it.
  explicit AccessHandlers(const std::vector<ServicePart>* parts) : parts_(*parts) {}

  grpc::ServerUnaryReactor* GetCaller(grpc::CallbackServerContext* context,
                                      const access::v1::GetCallerRequest* request,
                                      access::v1::GetCallerResponse* response) override;
  grpc::ServerUnaryReactor* CheckAccess(grpc::CallbackServerContext* context,
                                        const access::v1::CheckAccessRequest* request,
                                        access::v1::CheckAccessResponse* response) override;

 private:
  const std::vector<ServicePart>& parts_;
};

}  // namespace muster::musterd
