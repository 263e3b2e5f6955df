#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

// The worst requests of a given size: for each list and each text that a client can send, the request
// that has as much of it as possible. Made from descriptors, so that a new field is covered at once.
namespace muster::testing {

struct WorstRequest {
  std::string method = {};  // `/muster.quota.v1.QuotaService/CreateQuota`
  std::string field = {};   // `quota.overrides`
  std::string how = {};     // `over`: beyond every bound; `within`: as much as the bounds allow
  std::string bytes = {};
  bool stream = false;
};

// Capacity, configuration, lifecycle, quota.
std::vector<const google::protobuf::ServiceDescriptor*> MusterServices();

// Of all methods of these services, each of at most `most_bytes`.
std::vector<WorstRequest> WorstRequests(
    const std::vector<const google::protobuf::ServiceDescriptor*>& services, size_t most_bytes);

}  // namespace muster::testing
