#pragma once

#include <cstdint>

namespace muster::rpc {

// Of the answer to every read and mutation, whether its message has a field for it or not (Responder::ShowRevision).
inline constexpr char kRevisionHeader[] = "x-muster-revision";

// Says which revision an answer shows (muster.type.v1.WatchStart), where its message has a field for it.
template <class Response>
void SetRevision(Response& response, int64_t revision) {
  if constexpr (requires { response.set_revision(revision); }) response.set_revision(revision);
}

// The revision that an answer says it shows; `otherwise` of one whose message has no field for it.
template <class Response>
int64_t RevisionOf(const Response& response, int64_t otherwise) {
  if constexpr (requires { response.revision(); }) {
    return response.revision();
  } else {
    return otherwise;
  }
}

}  // namespace muster::rpc
