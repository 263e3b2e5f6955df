#include <muster/access/v1/access_service.grpc.pb.h>
#include <muster/capacity/v1/capacity_service.pb.h>
#include <muster/configuration/v1/configuration_service.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.pb.h>
#include <muster/quota/v1/quota_service.pb.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/musterd/access_handlers.h"
#include "tests/fuzz/harness.h"

namespace muster::testing {

FuzzedService MakeFuzzedService() {
  // By a message of each, so that the linker keeps their descriptors.
  std::vector<rpc::NamedService> services;
  for (const google::protobuf::Descriptor* message :
       {access::v1::GetCallerRequest::descriptor(), capacity::v1::GetZoneRequest::descriptor(),
        configuration::v1::GetReleaseRequest::descriptor(),
        lifecycle::v1::GetNodeRequest::descriptor(), quota::v1::GetQuotaRequest::descriptor()})
    services.push_back({.name = message->file()->service(0)->full_name()});
  const auto handlers = std::make_shared<musterd::AccessHandlers>(std::move(services), nullptr);
  return FuzzedAlone(access::v1::AccessService::service_full_name(), handlers.get(), "access",
                     handlers);
}

}  // namespace muster::testing
