#pragma once

#include <cstdint>

namespace muster::rpc {

// Says which revision an answer shows (muster.type.v1.WatchStart), where its message has a field for it.
template <class Response>
void SetRevision(Response& response, int64_t revision) {
  if constexpr (requires { response.set_revision(revision); }) response.set_revision(revision);
}

}  // namespace muster::rpc
