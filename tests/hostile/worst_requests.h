#pragma once

#include <google/protobuf/descriptor.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

// The worst requests of a given size: for each list, map and text that a client can send, the
// request that has as much of it as possible; for each two of one message, and for all of a
// request, that which has as much of them together. Made from descriptors, so that a new field is
// covered at once.
namespace muster::testing {

struct WorstRequest {
  std::string method = {};  // `/muster.quota.v1.QuotaService/CreateQuota`
  std::string field = {};   // `quota.overrides`
  // `over`: beyond every bound; `within`: as much as the bounds allow; `pair`, `all`: the same of
  // several fields.
  std::string how = {};
  std::function<std::string()> make = {};  // its bytes; all requests at once are gigabytes
  bool stream = false;
};

// All that a musterd serves of its own.
std::vector<const google::protobuf::ServiceDescriptor*> MusterServices();
// Whether a method (`/package.Service/Method`) is of a service that only the operators' listener
// has.
bool IsForOperators(absl::string_view method);

// Of all methods of these services, each of at most `most_bytes`.
std::vector<WorstRequest> WorstRequests(
    const std::vector<const google::protobuf::ServiceDescriptor*>& services, size_t most_bytes);

}  // namespace muster::testing
