#pragma once

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/rpc/server.h"
#include "services/rpc/write.h"

namespace muster::rpc {

// A service whose resources are rows of its lane; PlaceOf(state, name) of the state's domain says
// where they are. `service` must outlive the Server.
template <class Service>
NamedService LaneService(const char* full_name, Service& service) {
  auto& lane = service.lane();
  return {
      .name = full_name,
      .service = service.grpc_service(),
      .place_of =
          [&lane](absl::string_view resource) {
            return lane.Peek([&](const auto& state, int64_t) { return PlaceOf(state, resource); });
          },
      .catch_up =
          [&lane](std::function<void(const absl::Status&)> done, absl::Time deadline) {
            lane.Read([done = std::move(done)](const absl::Status& status, const auto*,
                                               int64_t) { done(status); },
                      deadline);
          },
      .answered =
          [&lane](const access::Caller& caller, const google::protobuf::Message& request) {
            return IsAnswered(lane, caller, request);
          }};
}

}  // namespace muster::rpc
