#pragma once

#include <string>

namespace muster {

// Who makes a change, as it is committed with the change (muster.type.v1.ChangeAuthors). All empty: the process itself, of its own
// accord.
struct Author {
  std::string principal = {};  // see rpc::PrincipalOf
  std::string method =
      {};  // full name of the method that was called, e.g. `muster.quota.v1.QuotaService/UpdateQuota`
  std::string request_id = {};  // of the call: the header `x-request-id`
  std::string reason = {};      // the caller's own words: the header `x-muster-reason`
  std::string trace_id =
      {};  // 32 hex digits; set where it is read, committed by that of its command

  friend bool operator==(const Author&, const Author&) = default;
};

}  // namespace muster
