#pragma once

#include <grpcpp/support/sync_stream.h>
#include <muster/type/v1/watch.pb.h>

#include <string>
#include <vector>

namespace muster::testing {

// The keys that a watch tells of until its snapshot is complete, in that order.
template <class Response>
std::vector<std::string> SnapshotKeys(grpc::ClientReader<Response>& stream) {
  std::vector<std::string> keys;
  Response message;
  while (stream.Read(&message) && message.type() == type::v1::WATCH_EVENT_TYPE_SNAPSHOT)
    keys.push_back(message.key());
  return keys;
}

// The next change or deletion that a watch tells of; PROGRESS is passed over. An empty message: it
// ended.
template <class Response>
Response NextChange(grpc::ClientReader<Response>& stream) {
  Response message;
  do {
    if (!stream.Read(&message)) return {};
  } while (message.type() == type::v1::WATCH_EVENT_TYPE_PROGRESS);
  return message;
}

}  // namespace muster::testing
