#pragma once

namespace muster::rpc {

// Calls `take` with the message and with each of its bundle, in order.
template <class Response, class Take>
void ForEachMessage(const Response& response, Take take) {
  take(response);
  for (const Response& next : response.bundle()) take(next);
}

}  // namespace muster::rpc
