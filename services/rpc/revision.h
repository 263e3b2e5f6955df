#pragma once

#include <cstdint>

namespace muster::rpc {

// Metadata with the revision that an answer shows: of every read and mutation, also if its message
// has a field for it (Responder::ShowRevision).
inline constexpr char kRevisionHeader[] = "x-muster-revision";

// Sets the revision that an answer shows (muster.type.v1.WatchStart), if its message has a field
// for it.
template <class Response>
void SetRevision(Response& response, int64_t revision) {
  if constexpr (requires { response.set_revision(revision); }) response.set_revision(revision);
}

// The revision that an answer shows; `otherwise` if its message has no field for it.
template <class Response>
int64_t RevisionOf(const Response& response, int64_t otherwise) {
  if constexpr (requires { response.revision(); }) {
    return response.revision();
  } else {
    return otherwise;
  }
}

}  // namespace muster::rpc
