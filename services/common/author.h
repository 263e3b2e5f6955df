#pragma once

#include <string>

namespace muster {

// Who makes a change, as it is committed with the change (muster.type.v1.ChangeAuthors). All empty:
// the process itself, of its own accord.
struct Author {
  std::string principal = {};  // see rpc::PrincipalOf
  // Full name of the method that was called, e.g. `muster.quota.v1.QuotaService/UpdateQuota`.
  std::string method = {};
  std::string request_id = {};  // of the call: the header `x-request-id`
  std::string reason = {};      // the caller's own words: the header `x-muster-reason`
  // 32 hex digits; set where it is read, committed by that of its command.
  std::string trace_id = {};

  friend bool operator==(const Author&, const Author&) = default;
};

}  // namespace muster
