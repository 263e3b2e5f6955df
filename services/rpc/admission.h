#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <grpcpp/server_context.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/access/method_access.h"
#include "services/rpc/caller_limits.h"
#include "services/rpc/guard.h"

namespace muster::rpc::internal {

// Decides who may make a call of one method, and when its turn is. Thread-safe.
class Admission {
 public:
  // `guard` and what the functions refer to must outlive this. `place_of`, `catch_up`, `answered`:
  // see CheckedService.
  Admission(const google::protobuf::MethodDescriptor& method, const Guard& guard,
            const access::PlaceOf& place_of, const access::CatchUp& catch_up,
            const access::Answered& answered);

  // Checks the limits of the caller, then the policy. `bytes`: of the request, before it was
  // parsed. `unsure`: the call is refused by a state that may be old.
  absl::Status LetIn(access::Caller& caller, const google::protobuf::Message& request,
                     int64_t bytes, CallerLimits::Place& place, bool& unsure) const;
  // Checks the policy once more for a call that waited: its caller's rights may have changed.
  // `before`: the caller as it was when it was let in; null: it was not. Returns the caller as it
  // is now; null: as it was.
  absl::StatusOr<std::shared_ptr<access::Caller>> LetInAnew(
      const grpc::ServerContextBase& context, const google::protobuf::Message& request,
      const access::Caller* before) const;
  // Whether a call that is let in may begin now; else it is to wait in line.
  bool Begins(CallerLimits::Place& place) const {
    return stream_ || is_debug_ || guard_.limits().Begin(place);
  }

  const access::CatchUp& catch_up() const { return catch_up_; }

 private:
  // Whether a call that is refused repeats one that was answered before, and may get that answer
  // again: the resource may be gone by now, or elsewhere, by the caller's own order.
  bool IsRepeated(const access::Caller& caller, const google::protobuf::Message& request,
                  const absl::Status& refusal) const;

  const bool stream_;
  const absl::StatusOr<access::MethodAccess> access_;
  const bool is_debug_;  // never waits in line: it is called when nothing else moves
  const Guard& guard_;
  const access::PlaceOf& place_of_;
  const access::CatchUp& catch_up_;
  const access::Answered& answered_;
};

}  // namespace muster::rpc::internal
