#include "services/client/asked_service.h"

#include <google/protobuf/descriptor.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "muster/capacity/v1/capacity_service.pb.h"
#include "muster/configuration/v1/configuration_service.pb.h"
#include "muster/lifecycle/v1/lifecycle_service.pb.h"
#include "muster/quota/v1/quota_service.pb.h"
#include "services/common/collections.h"

namespace muster::client {
namespace {

struct ServiceFile {
  absl::string_view name;
  const google::protobuf::FileDescriptor* file;
};

}  // namespace

absl::string_view AskedService(const history::v1::ListChangesRequest& request) {
  return ServiceOfCollection(CollectionOf(request.name()));
}
absl::string_view AskedService(const history::v1::GetPastRequest& request) {
  return ServiceOfCollection(CollectionOf(request.name()));
}
absl::string_view AskedService(const history::v1::ListPastRequest& request) {
  return ServiceOfCollection(request.collection());
}

absl::string_view AskedService(const access::v1::CheckAccessRequest& request) {
  const ServiceFile services[] = {
      {"capacity", capacity::v1::ListZonesRequest::descriptor()->file()},
      {"configuration", configuration::v1::ListReleasesRequest::descriptor()->file()},
      {"lifecycle", lifecycle::v1::ListNodePoolsRequest::descriptor()->file()},
      {"quota", quota::v1::ListQuotasRequest::descriptor()->file()}};
  const std::string& asked = request.method();
  for (const ServiceFile& candidate : services) {
    const google::protobuf::ServiceDescriptor& service = *candidate.file->service(0);
    for (int i = 0; i < service.method_count(); ++i) {
      const std::string& method = service.method(i)->name();
      if (asked == method || asked == absl::StrCat(service.full_name(), "/", method))
        return candidate.name;
    }
  }
  return "";
}

}  // namespace muster::client
