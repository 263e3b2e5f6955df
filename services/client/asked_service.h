#pragma once

#include "absl/strings/string_view.h"
#include "muster/access/v1/access_service.pb.h"
#include "muster/history/v1/history_service.pb.h"

namespace muster::client {

// Which service's process is to answer what every process serves: of whose resources the history is, to whose method access is
// asked about. A proxy before processes of one service each goes by it (deploy/nginx).
inline constexpr char kServiceHeader[] = "x-muster-service";

// What to send there: `capacity`, `configuration`, `lifecycle` or `quota`; empty: whoever answers.
absl::string_view AskedService(const history::v1::ListChangesRequest& request);
absl::string_view AskedService(const history::v1::GetPastRequest& request);
absl::string_view AskedService(const history::v1::ListPastRequest& request);
absl::string_view AskedService(const access::v1::CheckAccessRequest& request);
template <class Request>
absl::string_view AskedService(const Request&) {
  return "";
}

}  // namespace muster::client
