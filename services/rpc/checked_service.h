#pragma once

#include <google/protobuf/descriptor.h>
#include <grpcpp/impl/service_type.h>

#include <deque>
#include <set>
#include <string>

#include "services/access/method_access.h"
#include "services/rpc/guard.h"

namespace muster::rpc::internal {

// Wraps a service, and checks each request before the service gets it: its bytes against
// CheckBounds (request_bounds.h) before they are parsed, its caller against the policy (`guard`). A
// request that is out of bounds, or cannot be parsed, is answered INVALID_ARGUMENT (gRPC's callback
// API would answer the latter UNIMPLEMENTED, which clients take for an old server), one for which
// there is no memory RESOURCE_EXHAUSTED, and a caller that is not let in as `guard` says. All are
// counted and logged as any other call.
//
// With CheckedHandler and InnerHandler the one place that knows gRPC's handlers from within: it
// stands between gRPC and those of the generated code, which it finds by their order.
class CheckedService final : public grpc::Service {
 public:
  // `service`: of the callback API, each method unary or a stream of answers; `type`: its own. It
  // and `guard` must outlive this. `closed`: methods, `/package.Service/Method`, that are refused.
  // `place_of`: where the service's resources are. `catch_up`: a call that is refused by state that
  // may be old is judged once more when that has caught up; null: it is never old. `answered`: a
  // call that repeats one that was answered before reaches the service although it would now be
  // refused, as its resource is gone (Caller::unless_repeated); null: none does.
  CheckedService(const google::protobuf::ServiceDescriptor& type, grpc::Service& service,
                 const std::set<std::string>& closed, const Guard* guard, access::PlaceOf place_of,
                 access::CatchUp catch_up, access::Answered answered);

 private:
  const access::PlaceOf place_of_;
  const access::CatchUp catch_up_;
  const access::Answered answered_;
  std::deque<std::string> names_;  // of the methods, which gRPC keeps by their address
};

}  // namespace muster::rpc::internal
