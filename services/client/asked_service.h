#pragma once

#include "absl/strings/string_view.h"
#include "muster/access/v1/access_service.pb.h"
#include "muster/history/v1/history_service.pb.h"

namespace muster::client {

// Names the service whose process is to answer a call that every process serves: the service that
// keeps the resources whose history is asked for, or that has the method whose access is. A proxy
// in front of processes with one service each goes by it (deploy/nginx).
inline constexpr char kServiceHeader[] = "x-muster-service";

// The header's value for a request: `capacity`, `configuration`, `lifecycle` or `quota`; empty: any
// process may answer.
absl::string_view AskedService(const history::v1::ListChangesRequest& request);
absl::string_view AskedService(const history::v1::GetPastRequest& request);
absl::string_view AskedService(const history::v1::ListPastRequest& request);
absl::string_view AskedService(const access::v1::CheckAccessRequest& request);
template <class Request>
absl::string_view AskedService(const Request&) {
  return "";
}

}  // namespace muster::client
